/**
 * The communication manager of one agent: connections over MADs on QP 1, without I/O. Messages and the time go in;
 * messages, events and the next deadline come out. Each call of `ib_cm` has its method here.
 */
import { type QpAttr, type QpState, QpType } from '../../verbs/provider/index.ts'
import { type CmConnection, type CmListener, Connection, type Listener } from './connection.ts'
import type { CmCounters } from './counters.ts'
import { Engine } from './engine.ts'
import { CmError } from './errors.ts'
import type { CmOptions } from './events.ts'
import {
  buildApr,
  buildDreq,
  buildIds,
  buildLap,
  buildMra,
  buildRej,
  buildRep,
  buildReq,
  buildSidrRep,
  buildSidrReq,
  pathOf,
} from './messages.ts'
import {
  type AprParams,
  AprStatus,
  type LapParams,
  type ListenOptions,
  type MraParams,
  type RejParams,
  type RepParams,
  type ReqParams,
  type SidrRepParams,
  type SidrReqParams,
  type WithPrivateData,
} from './parameters.ts'
import { type QpAttrPlace, qpAttrOf } from './qp-attr.ts'
import { receive } from './receive.ts'
import { type CmTrigger, statesFor, transitionsOf } from './states.ts'
import { ackTimeoutCode, timeoutNs } from './timeouts.ts'

const defaultTimeout = 20
const defaultLifeTime = 16
const defaultAckDelay = 15

/**
 * `now` is nanoseconds of any clock that does not go back. Calls that the state does not allow throw ERR_CM_STATE, and
 * parameters that do not fit their message ERR_CM_VALUE or ERR_CM_PRIVATE_DATA, before anything has changed.
 */
export class CommunicationManager<A> {
  readonly counters: CmCounters
  readonly #engine: Engine<A>
  readonly #ackDelay: number

  constructor(options: CmOptions<A>) {
    this.#engine = new Engine(options)
    this.counters = this.#engine.counters
    this.#ackDelay = options.caAckDelay ?? defaultAckDelay
  }

  /** Connections in all states. */
  get size(): number {
    return this.#engine.registry.size
  }

  /** Number of requests among these that are not yet a connection. */
  get halfOpen(): number {
    return this.#engine.halfOpen
  }

  connections(): IterableIterator<CmConnection<A>> {
    return this.#engine.registry.all
  }

  /** Listens: requests to this service become `reqReceived` or `sidrReqReceived`. ERR_CM_IN_USE if it is taken. */
  listen(serviceId: bigint, options: ListenOptions<A> = {}): CmListener<A> {
    return this.#engine.registry.listen(serviceId, options)
  }

  /** Ends the listening; requests that the program has received stay. */
  closeListener(listener: CmListener<A>): void {
    this.#engine.registry.closeListener(listener as Listener<A>)
  }

  /** Requests a connection: `repReceived`, `rejReceived` or `reqError` will follow; peer to peer perhaps `reqReceived`. */
  sendReq(params: ReqParams<A>, now: number): CmConnection<A> {
    const engine = this.#engine
    const c = this.#create('sendReq', 'connection', params.serviceId, params.to, now)
    const lifeTime = params.packetLifeTime ?? defaultLifeTime
    const localAckTimeout = ackTimeoutCode(this.#ackDelay, lifeTime)
    c.peerToPeer = params.peerToPeer ?? false
    c.context = params.context
    c.qpType = params.qpType ?? QpType.RC
    c.localQpn = params.qpNum
    c.rqPsn = params.startingPsn ?? engine.newPsn()
    c.pkey = params.pkey ?? 0xffff
    c.pathMtu = params.pathMtu
    c.primary = pathOf('sendReq', { localAckTimeout, ...params.primary })
    if (params.alternate !== undefined) c.alternate = pathOf('sendReq', { localAckTimeout, ...params.alternate })
    c.responderResources = params.responderResources ?? 0
    c.initiatorDepth = params.initiatorDepth ?? 0
    c.flowControl = params.flowControl ?? false
    c.retryCount = params.retryCount ?? 7
    c.rnrRetryCount = params.rnrRetryCount ?? 7
    c.ackTimeout = c.primary.localAckTimeout
    c.packetLifeTime = lifeTime
    c.maxRetries = params.maxCmRetries ?? 15
    c.responseNs = timeoutNs(params.remoteCmResponseTimeout ?? defaultTimeout) + 2 * timeoutNs(lifeTime)
    c.answerNs = c.responseNs * (c.maxRetries + 1)
    c.transactionId = engine.newTransactionId()
    const bytes = buildReq(c, params, engine.options.caGuid)
    engine.registry.add(c)
    engine.step(c, 'sendReq', now, { bytes })
    return c
  }

  /** Accepts a request; `rtuReceived`, `userEstablished`, `rejReceived` or `repError` will follow. The QP must be in RTR. */
  sendRep(connection: CmConnection<A>, params: RepParams, now: number): void {
    const c = this.#for('sendRep', connection)
    const depth = Math.min(c.initiatorDepth, params.initiatorDepth ?? c.initiatorDepth)
    const resources = Math.min(c.responderResources, params.responderResources ?? c.responderResources)
    const flowControl = c.flowControl && (params.flowControl ?? true)
    const rqPsn = params.startingPsn ?? c.rqPsn
    const granted = { initiatorDepth: depth, responderResources: resources, flowControl, rqPsn, localQpn: params.qpNum }
    const bytes = buildRep(c, granted, params, this.#engine.options.caGuid, this.#ackDelay)
    Object.assign(c, granted)
    this.#engine.step(c, 'sendRep', now, { bytes })
  }

  /** Sends the RTU: the connection is established for this side; the QP must be in RTS, or nearly. */
  sendRtu(connection: CmConnection<A>, params: WithPrivateData, now: number): void {
    const c = this.#for('sendRtu', connection)
    this.#engine.step(c, 'sendRtu', now, { bytes: buildIds('sendRtu', 'RTU', c, params) })
  }

  sendRej(connection: CmConnection<A>, params: RejParams, now: number): void {
    const c = this.#for('sendRej', connection)
    this.#engine.step(c, 'sendRej', now, { bytes: buildRej(c, params) })
  }

  /** Sends an MRA: the answer will take longer; see `MraParams.whenRepeated`. */
  sendMra(connection: CmConnection<A>, params: MraParams, now: number): void {
    const trigger = params.whenRepeated ? 'prepareMra' : 'sendMra'
    const c = this.#for(trigger, connection)
    const bytes = buildMra(c, params.serviceTimeout ?? 24, params)
    c.kept.set('MRA', bytes)
    this.#engine.step(c, trigger, now, { bytes })
  }

  /** Releases the connection: `drepReceived`, `dreqReceived` or `dreqError` will follow, then `timewaitExit`. */
  sendDreq(connection: CmConnection<A>, params: WithPrivateData, now: number): void {
    const c = this.#for('sendDreq', connection)
    const bytes = buildDreq(c, this.#engine.newTransactionId(), params)
    this.#engine.step(c, 'sendDreq', now, { bytes })
  }

  /** Answers `dreqReceived`; `timewaitExit` will follow. */
  sendDrep(connection: CmConnection<A>, params: WithPrivateData, now: number): void {
    const c = this.#for('sendDrep', connection)
    this.#engine.step(c, 'sendDrep', now, { bytes: buildIds('sendDrep', 'DREP', c, params) })
  }

  /** Proposes another alternate path: `aprReceived` or `lapError` will follow. */
  sendLap(connection: CmConnection<A>, params: LapParams, now: number): void {
    const c = this.#for('sendLap', connection)
    const path = pathOf('sendLap', { localAckTimeout: c.primary.localAckTimeout, ...params.alternate })
    const transactionId = this.#engine.newTransactionId()
    const bytes = buildLap(c, path, transactionId, params)
    c.lapTransactionId = transactionId
    c.proposed = path
    this.#engine.step(c, 'sendLap', now, { bytes })
  }

  /** Answers `lapReceived`. With status Loaded, `connection.alternate` is the path that was proposed. */
  sendApr(connection: CmConnection<A>, params: AprParams, now: number): void {
    const c = this.#for('sendApr', connection)
    const bytes = buildApr(c, params)
    if ((params.status ?? AprStatus.Loaded) === AprStatus.Loaded) c.alternate = c.proposed
    c.answeredLap = c.requestTransactionId
    this.#engine.step(c, 'sendApr', now, { bytes })
  }

  /** Requests the QP of a service: `sidrRepReceived` or `sidrReqError` will follow, and no other event. */
  sendSidrReq(params: SidrReqParams<A>, now: number): CmConnection<A> {
    const engine = this.#engine
    const c = this.#create('sendSidrReq', 'sidr', params.serviceId, params.to, now)
    c.qpType = QpType.UD
    c.pkey = params.pkey ?? 0xffff
    c.context = params.context
    c.maxRetries = params.maxCmRetries ?? 15
    c.responseNs = params.responseNs ?? timeoutNs(defaultTimeout) + 2 * timeoutNs(defaultLifeTime)
    c.transactionId = engine.newTransactionId()
    const bytes = buildSidrReq(c, params)
    engine.registry.add(c)
    engine.step(c, 'sendSidrReq', now, { bytes })
    return c
  }

  sendSidrRep(connection: CmConnection<A>, params: SidrRepParams, now: number): void {
    const c = this.#for('sendSidrRep', connection)
    const { remoteCommId: requestId, serviceId, transactionId } = c
    this.#engine.step(c, 'sendSidrRep', now, { bytes: buildSidrRep({ requestId, serviceId, transactionId }, params) })
  }

  /** Reports that the QP of a passive side got data, which is as good as an RTU. No effect in other states. */
  established(connection: CmConnection<A>, now: number): void {
    this.#engine.step(connection as Connection<A>, 'established', now)
  }

  /**
   * Ends a connection or a request as its state requires: with a REJ, a DREQ that is repeated until it is answered, or
   * nothing. The connection goes on by itself until it is IDLE, without further events.
   */
  close(connection: CmConnection<A>, now: number): void {
    const c = connection as Connection<A>
    c.closed = true
    this.#engine.step(c, 'close', now)
  }

  /** Returns attributes for `qp.modify`; see `qpAttrOf`. */
  qpAttr(
    connection: CmConnection<A>,
    state: typeof QpState.Init | typeof QpState.Rtr | typeof QpState.Rts,
    place?: QpAttrPlace,
  ): Partial<QpAttr> {
    return qpAttrOf(connection, state, place)
  }

  /** Handles a MAD that came to QP 1 from `from`. This never throws, whatever the MAD contains. The bytes are copied. */
  receive(mad: Uint8Array, from: A, now: number): void {
    receive(this.#engine, mad, from, now)
  }

  /** Time at which `expire` is next needed, nanoseconds; Infinity: not before another call. Every call can change it. */
  deadline(): number {
    return this.#engine.deadlines.first?.deadlineNs ?? Number.POSITIVE_INFINITY
  }

  /**
   * Repeats messages that were not answered, and gives up those that were repeated often enough; returns the number of deadlines, at most
   * `most`.
   */
  expire(now: number, most: number = Number.POSITIVE_INFINITY): number {
    const { deadlines } = this.#engine
    let served = 0
    for (let c = deadlines.first; c !== undefined && c.deadlineNs <= now && served < most; c = deadlines.first) {
      // Whatever happens next sets a deadline of its own, later than now.
      deadlines.remove(c)
      this.#engine.step(c, c.retriesLeft > 0 && now < c.giveUpNs ? 'timeout' : 'expired', now)
      served++
    }
    return served
  }

  #create(call: string, kind: 'connection' | 'sidr', serviceId: bigint, to: A, now: number): Connection<A> {
    const engine = this.#engine
    if (!engine.makeRoom(now)) {
      const { connections } = engine.limits
      throw new CmError(
        'ERR_CM_FULL',
        call,
        `there are ${connections} connections: close some, or raise limits.connections`,
      )
    }
    const id = engine.freeCommId()
    if (id === undefined)
      throw new CmError('ERR_CM_FULL', call, 'no free communication id: commIds gave used ones a thousand times')
    return new Connection(kind, 'IDLE', id, serviceId, to, engine.options.addressKey(to))
  }

  #for(call: CmTrigger, connection: CmConnection<A>): Connection<A> {
    const c = connection as Connection<A>
    if (transitionsOf(c.state, call).length === 0)
      throw new CmError('ERR_CM_STATE', call, `not in ${c.state}; it is possible in ${statesFor(call).join(', ')}`)
    return c
  }
}
