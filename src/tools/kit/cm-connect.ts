/**
 * `-R` of perf and traffic: the queue pairs of both ends, of one type, are connected by the RDMA CM. The ends still exchange settings over
 * TCP; the server sends there the address and port on which it listens. A request has in its private data the index of its queue pair, and
 * with UD the number of the client's queue pair:  index u32 | number u32, big-endian.
 *
 * It blocks the data thread, which has nothing else to do then.
 */
import {
  type AhAttr,
  type CmEvent,
  CmEventType,
  type CmId,
  type Context,
  createEventChannel,
  defaultQkey,
  type EventChannel,
  type PathMtu,
  PortSpace,
  type QpModify,
  QpState,
  QpType,
  type QueuePair,
} from '../../index.ts'
import { gidText } from './address.ts'
import { EndError } from './wire.ts'

export interface CmAddressOfServer {
  address: string
  port: number
}

/** Attributes that a tool requests for a queue pair. */
export interface CmWishes {
  mtu: PathMtu
  /** Maximum number of outstanding READs and atomics. */
  outs: number
  accessFlags: number
  /** Code of the local ACK timeout. */
  qpTimeout: number
  /** Number of retries of a packet that is not acknowledged. */
  retryCnt: number
  /** Number of retries after an RNR NAK; default: that of the RDMA CM. */
  rnrRetry?: number
  /** Attributes of the path; default: those of the RDMA CM. */
  path?: { serviceLevel: number; trafficClass: number }
}

/** Destination of the datagrams of a UD queue pair. */
export interface CmPeer {
  ahAttr: AhAttr
  qpNum: number
}

const privateBytes = 8
/** Time limit that suffices for a peer that is still creating its objects. */
const patienceMs = 20_000

export class CmEnd {
  readonly #channel: EventChannel
  readonly #context: Context
  readonly #type: QpType
  readonly #ids: CmId[] = []
  readonly #kept: CmEvent[] = []

  constructor(context: Context, type: QpType) {
    this.#channel = createEventChannel({ device: context })
    this.#context = context
    this.#type = type
  }

  #createId(): CmId {
    const id = this.#channel.createId(this.#type === QpType.UD ? PortSpace.Udp : PortSpace.Tcp, { qpType: this.#type })
    this.#ids.push(id)
    return id
  }

  /** Listens on a free port, at the server. */
  listen(gidIndex: number): CmAddressOfServer {
    const id = this.#createId()
    id.bindAddr({})
    id.listen(0)
    return { address: ipText(gidText(this.#context.queryGid(1, Math.max(0, gidIndex)))), port: id.localAddress.port }
  }

  /** Connects all queue pairs, at the client; returns for UD their peers, by queue pair. */
  connectAll(qps: readonly QueuePair[], server: CmAddressOfServer, wishesOf: (i: number) => CmWishes): CmPeer[] {
    const connecting = new Map<CmId, number>()
    for (const [i, qp] of qps.entries()) {
      const id = this.#createId()
      connecting.set(id, i)
      id.resolveAddr(undefined, server)
      this.#event(id, CmEventType.AddrResolved)
      id.resolveRoute()
      this.#event(id, CmEventType.RouteResolved)
      const privateData = new Uint8Array(privateBytes)
      const view = new DataView(privateData.buffer)
      view.setUint32(0, i)
      view.setUint32(4, qp.qpNum)
      id.connect({ privateData, ...this.#param(qp, wishesOf(i)) })
    }
    const peers: CmPeer[] = []
    while (connecting.size > 0) {
      const event = this.#next()
      const i = connecting.get(event.id)
      if (i === undefined) continue
      const established = event.type === CmEventType.Established
      if (!established && event.type !== CmEventType.ConnectResponse) throw failure(event)
      if (this.#type === QpType.UD)
        peers[i] = { ahAttr: shaped(event.param.ahAttr!, wishesOf(i)), qpNum: event.param.qpNum! }
      else if (!established) {
        this.#ready(event.id, qps[i]!, wishesOf(i))
        event.id.establish()
      }
      connecting.delete(event.id)
    }
    return peers
  }

  /**
   * Accepts as many connections, at the server. It does not wait until they are established: its queue pairs are ready, and
   * the client reports over TCP when its own are.
   */
  acceptAll(qps: readonly QueuePair[], wishesOf: (i: number) => CmWishes): CmPeer[] {
    const peers: CmPeer[] = []
    const asked = new Set<number>()
    while (asked.size < qps.length) {
      const event = this.#next()
      if (event.type === CmEventType.Established) continue
      if (event.type !== CmEventType.ConnectRequest) throw failure(event)
      const { id, param } = event
      this.#ids.push(id)
      const { privateData } = param
      const view = new DataView(privateData.buffer, privateData.byteOffset, privateData.byteLength)
      const i = privateData.length >= privateBytes ? view.getUint32(0) : -1
      const qp = qps[i]
      if (qp === undefined || asked.has(i)) {
        // The request is of another program, or a duplicate.
        id.reject()
        continue
      }
      asked.add(i)
      if (this.#type === QpType.UD) {
        peers[i] = { ahAttr: shaped(param.ahAttr!, wishesOf(i)), qpNum: view.getUint32(4) & 0xffffff }
        id.accept({ qpNum: qp.qpNum, qkey: defaultQkey })
      } else {
        const wishes = wishesOf(i)
        this.#ready(id, qp, wishes)
        id.accept(this.#param(qp, wishes))
      }
    }
    return peers
  }

  #param(qp: QueuePair, { outs }: CmWishes): { qpNum: number; responderResources?: number; initiatorDepth?: number } {
    return this.#type === QpType.RC
      ? { qpNum: qp.qpNum, responderResources: outs, initiatorDepth: outs }
      : { qpNum: qp.qpNum }
  }

  /** Moves a queue pair to RTS with the attributes of the RDMA CM, except those that the tool requests. */
  #ready(id: CmId, qp: QueuePair, wishes: CmWishes): void {
    const { mtu, outs, accessFlags, qpTimeout, retryCnt, rnrRetry } = wishes
    const reliable = this.#type === QpType.RC
    const rtr = id.initQpAttr(QpState.Rtr)
    const modify = (attr: object): void => qp.modify(attr as QpModify<QpType>)
    modify({ ...id.initQpAttr(QpState.Init), accessFlags })
    modify({
      ...rtr,
      ...(rtr.ah ? { ah: shaped(rtr.ah, wishes) } : {}),
      pathMtu: Math.min(mtu, rtr.pathMtu ?? mtu),
      ...(reliable ? { maxDestRdAtomic: outs } : {}),
    })
    const retries = { maxRdAtomic: outs, timeout: qpTimeout, retryCnt, ...(rnrRetry === undefined ? {} : { rnrRetry }) }
    modify({ ...id.initQpAttr(QpState.Rts), ...(reliable ? retries : {}) })
  }

  /** Waits for an event of one id; events of other ids are kept. */
  #event(id: CmId, type: CmEventType): void {
    const others: CmEvent[] = []
    for (;;) {
      const event = this.#next()
      if (event.id !== id) others.push(event)
      else if (event.type === type) break
      else throw failure(event)
    }
    this.#kept.push(...others)
  }

  #next(): CmEvent {
    const event = this.#kept.shift() ?? this.#channel.getEvent(patienceMs)
    if (event === undefined)
      throw new EndError('PEER_SILENT', `waited ${patienceMs / 1000} s for the other end's RDMA CM, and nothing came`)
    return event
  }

  close(): void {
    for (const id of this.#ids) if (!id.closed) id.close()
    this.#channel.close()
  }
}

/** Returns an address vector of the RDMA CM with the requested service level and traffic class. */
function shaped(ah: AhAttr, { path }: CmWishes): AhAttr {
  if (path === undefined) return ah
  const { serviceLevel: sl, trafficClass } = path
  return { ...ah, sl, ...(ah.grh === undefined ? {} : { grh: { ...ah.grh, trafficClass } }) }
}

function failure(event: CmEvent): EndError {
  return new EndError('CM', `-R: ${event.name}, error ${event.status}: the RDMA CM made no connection`)
}

/** Returns an IPv4-mapped GID as an IPv4 address. */
function ipText(gid: string): string {
  return gid.replace(/^::ffff:(?=\d+\.)/, '')
}
