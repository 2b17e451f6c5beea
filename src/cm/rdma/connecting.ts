/**
 * The connection of an id, or its request for a UD queue pair (SIDR): from calls of the program to those of the communication manager, and
 * from its events to those of the RDMA CM.
 *
 *     connect ── REQ ──>                 ── request ── ConnectRequest
 *                <── REP ──  accept (the queue pair is in RTS before the REP leaves)
 *     RTR, RTS ── RTU ──>                ── Established
 */
import { type MadAddress, madAddress } from '../../gsi/index.ts'
import { nowNs } from '../../memory/index.ts'
import { Access, type AhAttr, QpState, QpType } from '../../verbs/index.ts'
import { nameConnection } from '../../verbs/provider/index.ts'
import { CmaHdr, type CmRej, CmRejReason, emitCma, rdmaServiceId } from '../../wire/index.ts'
import {
  AprStatus,
  acceptedMtu,
  type CmConnection,
  type CommunicationManager,
  type CmEvent as IbEvent,
  mtuCode,
  SidrStatus,
  timeoutNs,
} from '../ib/index.ts'
import type { Agent, ConnectionOwner } from './agent.ts'
import { CmEventType, errno, type PortSpace, udpQkey } from './constants.ts'
import type { Path } from './devices.ts'
import { RdmaCmError } from './errors.ts'
import type { CmEventParam } from './event.ts'
import type { IdQp } from './id-qp.ts'
import type { FullParam, IdOptionValues, IdQpType } from './params.ts'
import type { SegmentConnection } from './segment-peers.ts'

/** Interface of an id to its connection. */
export interface ConnectionHost {
  readonly portSpace: PortSpace
  readonly qpType: IdQpType
  readonly options: Readonly<IdOptionValues>
  readonly idQp: IdQp | undefined
  emit(type: CmEventType, status: number, param: Partial<CmEventParam>): void
  /** Takes back a ConnectRequest that the program has not seen yet, and closes the id. */
  withdraw(): boolean
}

/** `asking` and `replying` wait for the peer, `asked` and `answered` for the program. */
type Phase = 'none' | 'asking' | 'answered' | 'asked' | 'replying' | 'connected' | 'over'

type Ib = CmConnection<MadAddress>
type Manager = CommunicationManager<MadAddress>

/** Code of the time from one end to the other; Linux's for RoCE: 268 ms. */
const packetLifeTime = 16
const noLid = 0xffff

export class Connecting implements ConnectionOwner, SegmentConnection {
  readonly #host: ConnectionHost
  readonly #agent: Agent
  #ib: Ib | undefined
  #sgidIndex = 0
  #ahAttr: AhAttr | undefined
  #phase: Phase = 'none'
  /** The peer knows the id's own queue pair. */
  #managed = false
  /** Disconnected was reported; that happens once. */
  #ended = false
  /** An event has reported a failure. */
  #failed = false
  get failed(): boolean {
    return this.#failed
  }

  #unwatch: (() => void) | undefined
  /** Sends the REQ, with this code of a path MTU. */
  #ask: ((pathMtu: number) => Ib) | undefined

  constructor(host: ConnectionHost, agent: Agent) {
    this.#host = host
    this.#agent = agent
  }

  /** The address vector of the peer, once there is one. */
  get peer(): AhAttr | undefined {
    return this.#ahAttr
  }

  get phase(): Phase {
    return this.#phase
  }

  // --- the active side ---------------------------------------------------------------------------------------------

  connect(path: Path, port: number, remotePort: number, param: FullParam): void {
    const { host, qpNum, srq } = this.#queuePair('connect', param)
    const { portSpace, qpType, options } = host
    const { context } = this.#agent
    const privateData = new Uint8Array(CmaHdr.length + param.privateData.length)
    emitCma({ port, source: path.ip, destination: path.remoteIp }, privateData, 0)
    privateData.set(param.privateData, CmaHdr.length)
    const serviceId = rdmaServiceId(portSpace, remotePort)
    const to = madAddress(path.dgid, path.dlid, path.sgidIndex)
    const cm = this.#agent.cm
    const now = nowNs()
    this.#sgidIndex = path.sgidIndex
    this.#ahAttr = addressVector(path.dgid, path.dlid, path.sgidIndex, options.tos)
    this.#phase = 'asking'
    const retries = { maxCmRetries: options.maxRetries, privateData, context: this }
    if (qpType === QpType.UD) {
      const responseNs = timeoutNs(options.responseTimeout)
      this.#ib = cm.sendSidrReq({ serviceId, to, responseNs, ...retries }, now)
      return
    }
    const { lid, activeMtu } = context.queryPort(1)
    const ask = (pathMtu: number): Ib =>
      cm.sendReq(
        {
          serviceId,
          to,
          qpNum,
          qpType,
          primary: {
            localGid: path.gid,
            remoteGid: path.dgid,
            localLid: this.#agent.ethernet ? noLid : lid,
            remoteLid: this.#agent.ethernet ? noLid : path.dlid,
            hopLimit: 64,
            trafficClass: options.tos,
            flowLabel: qpNum & 0xfffff,
            ...(options.ackTimeout > 0 ? { localAckTimeout: options.ackTimeout } : {}),
          },
          packetLifeTime,
          pathMtu,
          responderResources: param.responderResources,
          initiatorDepth: param.initiatorDepth,
          flowControl: param.flowControl,
          srq,
          retryCount: param.retryCount,
          rnrRetryCount: param.rnrRetryCount,
          remoteCmResponseTimeout: options.responseTimeout,
          localCmResponseTimeout: options.responseTimeout,
          ...retries,
        },
        nowNs(),
      )
    this.#ask = ask
    this.#ib = ask(mtuCode(activeMtu))
  }

  /** The queue pair whose number the peer gets: the id's, or one that the program moves by itself. */
  #queuePair(call: string, param: FullParam): { host: ConnectionHost; qpNum: number; srq: boolean } {
    const host = this.#host
    const qp = host.idQp?.qp
    this.#managed = qp !== undefined
    if (qp !== undefined) return { host, qpNum: qp.qpNum, srq: qp.srq !== null }
    if (param.qpNum === undefined && !(call === 'connect' && host.qpType === QpType.UD))
      throw new RdmaCmError('EINVAL', call, 'create a queue pair first (createQp), or give the number of one as qpNum')
    return { host, qpNum: param.qpNum ?? 0, srq: param.srq ?? false }
  }

  // --- the passive side --------------------------------------------------------------------------------------------

  /** A request came. */
  requested(ib: Ib, from: MadAddress): void {
    this.#ib = ib
    this.#sgidIndex = from.sgidIndex
    this.#ahAttr = addressVector(from.gid, from.lid, from.sgidIndex, this.#host.options.tos)
    this.#phase = 'asked'
    ib.context = this
  }

  /** The most that the peer allows this end. */
  get limits(): { responderResources: number; initiatorDepth: number } {
    const { responderResources, initiatorDepth } = this.#ib!
    return { responderResources, initiatorDepth }
  }

  /** No effect if the peer has given up meanwhile, which an event reports. */
  accept(param: FullParam): void {
    if (this.#failed) return
    this.#expect('accept', 'asked', 'accept answers a ConnectRequest, with the id that came with it')
    const { host, qpNum, srq } = this.#queuePair('accept', param)
    const [cm, ib] = [this.#agent.cm, this.#ib!]
    const { privateData } = param
    if (host.qpType === QpType.UD) {
      const qkey = param.qkey ?? udpQkey
      cm.sendSidrRep(ib, { status: SidrStatus.Success, qpNum, qkey, privateData }, nowNs())
      this.#phase = 'connected'
      return
    }
    if (this.#managed) this.#ready(param)
    const { responderResources, initiatorDepth, flowControl, rnrRetryCount } = param
    const answer = { qpNum, responderResources, initiatorDepth, flowControl, srq, rnrRetryCount }
    cm.sendRep(ib, { ...answer, privateData }, nowNs())
    this.#phase = 'replying'
  }

  reject(privateData: Uint8Array, reason: number): void {
    if (this.#failed) return
    this.#expect('reject', 'asked', 'reject answers a ConnectRequest, with the id that came with it')
    const [cm, ib] = [this.#agent.cm, this.#ib!]
    if (this.#host.qpType === QpType.UD) cm.sendSidrRep(ib, { status: SidrStatus.Reject, privateData }, nowNs())
    else cm.sendRej(ib, { reason, privateData }, nowNs())
    this.#phase = 'over'
    this.#ended = true
  }

  #expect(call: string, phase: Phase, what: string): void {
    if (this.#phase !== phase) throw new RdmaCmError('EINVAL', call, what)
  }

  // --- both --------------------------------------------------------------------------------------------------------

  /** For a queue pair that the program moves by itself: what `modify` takes to INIT, RTR, RTS. */
  qpAttr(state: typeof QpState.Init | typeof QpState.Rtr | typeof QpState.Rts): ReturnType<Manager['qpAttr']> {
    const attr = this.#agent.cm.qpAttr(this.#ib!, state, { sgidIndex: this.#sgidIndex })
    if (this.#host.qpType !== QpType.RC) return attr
    const { minRnrTimer, ackTimeout } = this.#host.options
    if (state === QpState.Rtr) return { ...attr, minRnrTimer }
    return state === QpState.Rts && ackTimeout > 0 ? { ...attr, timeout: ackTimeout } : attr
  }

  /** Takes the id's queue pair to RTS. */
  #ready(limits: { responderResources: number; initiatorDepth: number }): void {
    const { localCommId, remoteCommId } = this.#ib!
    const serves = limits.responderResources > 0 ? Access.RemoteRead | Access.RemoteAtomic : 0
    const reliable = this.#host.qpType === QpType.RC
    const accessFlags = Access.LocalWrite | Access.RemoteWrite | (reliable ? serves : 0)
    this.#host.idQp!.ready(
      { ...this.qpAttr(QpState.Init), accessFlags },
      { ...this.qpAttr(QpState.Rtr), ...(reliable ? { maxDestRdAtomic: limits.responderResources } : {}) },
      { ...this.qpAttr(QpState.Rts), ...(reliable ? { maxRdAtomic: limits.initiatorDepth } : {}) },
    )
    nameConnection(this.#host.idQp!.qp, localCommId, remoteCommId)
  }

  /** `rdma_establish`: the queue pair that the program moves by itself is ready. */
  establish(): void {
    if (this.#failed) return
    this.#expect(
      'establish',
      'answered',
      'establish follows a ConnectResponse, on an id without a queue pair of its own',
    )
    this.#agent.cm.sendRtu(this.#ib!, {}, nowNs())
    this.#phase = 'connected'
    this.#unwatch = this.#agent.watchPeer(this.#ib!.remoteCommId, this)
  }

  /** `rdma_notify` with IBV_EVENT_COMM_EST: data came, so the peer is connected whatever became of its RTU. */
  communicationEstablished(): void {
    if (this.#phase === 'replying') this.#agent.cm.established(this.#ib!, nowNs())
  }

  disconnect(): void {
    const ib = this.#ib
    if (ib === undefined || ib.kind === 'sidr' || this.#phase === 'asked')
      throw new RdmaCmError('EINVAL', 'disconnect', 'there is no connection')
    if (this.#managed) this.#host.idQp?.fail()
    const now = nowNs()
    switch (ib.state) {
      case 'DREQ_RCVD':
        this.#agent.cm.sendDrep(ib, {}, now)
        break
      case 'ESTABLISHED':
        this.#agent.cm.sendDreq(ib, {}, now)
        break
      case 'DREQ_SENT':
      case 'TIMEWAIT':
      case 'IDLE':
        break
      default:
        // It is not established yet: the handshake ends.
        this.#agent.cm.close(ib, now)
        this.#end(0, {})
    }
  }

  close(): void {
    this.#unwatch?.()
    if (this.#ib !== undefined && this.#ib.state !== 'IDLE') this.#agent.cm.close(this.#ib, nowNs())
    if (this.#ib !== undefined) this.#ib.context = undefined
    this.#ended = true
    this.#phase = 'over'
  }

  // --- events ------------------------------------------------------------------------------------------------------

  handle(event: IbEvent<MadAddress>): void {
    switch (event.type) {
      case 'repReceived':
        this.#reply(event.message.privateData)
        break
      case 'rtuReceived':
        this.#established({ privateData: event.message.privateData })
        break
      case 'userEstablished':
        this.#established({})
        break
      case 'rejReceived':
        if (this.#askedWithLess(event.message)) break
        if (this.#phase === 'connected') this.#end(0, { privateData: event.message.privateData })
        else this.#fail(CmEventType.Rejected, event.message.reason, { privateData: event.message.privateData })
        break
      case 'reqError':
      case 'repError':
      case 'reqDropped':
      case 'sidrReqError':
        this.#fail(CmEventType.Unreachable, -errno.ETIMEDOUT, {})
        break
      case 'sidrRepReceived': {
        const { status, qpn, qkey, privateData } = event.message
        if (status !== SidrStatus.Success) this.#fail(CmEventType.Unreachable, status, { privateData })
        else this.#established({ privateData, qpNum: qpn, qkey, ahAttr: this.#ahAttr! })
        break
      }
      case 'dreqReceived':
      case 'drepReceived':
        this.#end(0, { privateData: event.message.privateData })
        break
      case 'dreqError':
        this.#end(-errno.ETIMEDOUT, {})
        break
      case 'staleConnection':
        if (this.#phase === 'connected') this.#end(0, {})
        else this.#fail(CmEventType.ConnectError, CmRejReason.StaleConnection, {})
        break
      case 'timewaitExit':
        this.#host.emit(CmEventType.TimewaitExit, 0, {})
        break
      case 'lapReceived':
        this.#agent.cm.sendApr(event.connection, { status: AprStatus.Unsupported }, nowNs())
        break
      default:
    }
  }

  /** Returns the parameters of the ConnectRequest. */
  requestParam(privateData: Uint8Array): Partial<CmEventParam> {
    if (this.#host.qpType === QpType.UD) return { privateData, ahAttr: this.#ahAttr! }
    return { privateData, ...this.#told() }
  }

  #told(): Partial<CmEventParam> {
    const { responderResources, initiatorDepth, flowControl, retryCount, rnrRetryCount, remoteSrq, remoteQpn } =
      this.#ib!
    const numbers = { responderResources, initiatorDepth, retryCount, rnrRetryCount }
    return { ...numbers, flowControl, srq: remoteSrq, qpNum: remoteQpn }
  }

  #reply(privateData: Uint8Array): void {
    const param = { privateData, ...this.#told() }
    if (!this.#managed) {
      this.#phase = 'answered'
      this.#host.emit(CmEventType.ConnectResponse, 0, param)
      return
    }
    const [cm, ib] = [this.#agent.cm, this.#ib!]
    try {
      this.#ready(ib)
    } catch {
      // The program has closed or moved its queue pair, or the peer has asked for what this device cannot do.
      cm.sendRej(ib, { reason: CmRejReason.NoResources }, nowNs())
      this.#fail(CmEventType.ConnectError, -errno.EINVAL, {})
      return
    }
    cm.sendRtu(ib, {}, nowNs())
    this.#established(param)
  }

  #established(param: Partial<CmEventParam>): void {
    this.#phase = 'connected'
    const { kind, remoteCommId } = this.#ib!
    if (kind === 'connection') this.#unwatch = this.#agent.watchPeer(remoteCommId, this)
    this.#host.emit(CmEventType.Established, 0, param)
  }

  /** For the agent: as if the peer had disconnected. */
  peerGone(): void {
    if (this.#phase === 'connected') this.#end(0, {})
  }

  /** If the peer's MTU is smaller, repeats the request with the MTU that it accepts, or with the next smaller one; true if so. */
  #askedWithLess(rej: CmRej): boolean {
    const { pathMtu } = this.#ib!
    if (rej.reason !== CmRejReason.InvalidPathMtu || this.#phase !== 'asking' || pathMtu <= 1) return false
    this.#ib!.context = undefined
    this.#ib = this.#ask!(Math.min(pathMtu - 1, acceptedMtu(rej) ?? pathMtu - 1))
    return true
  }

  #fail(type: CmEventType, status: number, param: Partial<CmEventParam>): void {
    if (this.#managed && this.#host.qpType !== QpType.UD) this.#host.idQp?.fail()
    const unanswered = this.#phase === 'asked'
    this.#phase = 'over'
    this.#ended = true
    this.#failed = true
    if (!unanswered || !this.#host.withdraw()) this.#host.emit(type, status, param)
  }

  #end(status: number, param: Partial<CmEventParam>): void {
    this.#phase = 'over'
    if (this.#host.idQp !== undefined) nameConnection(this.#host.idQp.qp, 0, 0)
    this.#unwatch?.()
    if (this.#ended) return
    this.#ended = true
    this.#host.emit(CmEventType.Disconnected, status, param)
  }
}

function addressVector(dgid: Uint8Array, dlid: number, sgidIndex: number, trafficClass: number): AhAttr {
  return { dlid, portNum: 1, grh: { dgid, sgidIndex, hopLimit: 64, trafficClass } }
}
