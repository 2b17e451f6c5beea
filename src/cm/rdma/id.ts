/**
 * Communication ids: `rdma_cm_id`, the sockets of RDMA, and the channels on which their events arrive.
 *
 *     active    resolveAddr ─ AddrResolved ─ resolveRoute ─ RouteResolved ─ createQp ─ connect ─ Established
 *     passive   bindAddr ─ listen ─ ConnectRequest (with a new id) ─ createQp ─ accept ─ Established
 *     both      Disconnected ─ disconnect ─ close
 *
 * The id moves its queue pair through its states by itself. A program learns in one of three ways what became of a call:
 *
 *     id.connect()               by an event on the id's channel
 *     id.connect()               of an id without a channel: the call blocks, and throws if it fails
 *     await id.connectAsync()    the event loop goes on; rejects if it fails. The event is not seen on the channel.
 */
import type { MadAddress } from '../../gsi/index.ts'
import {
  Access,
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  type ProtectionDomain,
  type QpAttr,
  QpState,
  QpType,
  type QueuePair,
} from '../../verbs/index.ts'
import { describe } from '../../verbs/provider/index.ts'
import { CmaHdr, CmRejReason, isMalformed, parseCma } from '../../wire/index.ts'
import type { CmEvent as IbEvent } from '../ib/index.ts'
import {
  type CmAddress,
  type CmSocketAddress,
  isLinkLocal,
  isMulticast,
  parseAddress,
  socketAddress,
} from './address.ts'
import type { Agent, ListenerOwner } from './agent.ts'
import { Connecting, type ConnectionHost } from './connecting.ts'
import { CmEventType, errnoOf, PortSpace, privateDataBytes, qpTypeOf, udpQkey } from './constants.ts'
import { zoneOf } from './devices.ts'
import { RdmaCmError } from './errors.ts'
import { type CmEventParam, IdEvent } from './event.ts'
import { type EventChannelOptions, EventQueue } from './event-queue.ts'
import { EventHandles } from './handles.ts'
import { IdAddress } from './id-address.ts'
import { IdQp } from './id-qp.ts'
import { Listening } from './listening.ts'
import { Groups } from './multicast.ts'
import {
  type ConnParam,
  checkOption,
  checkPrivateData,
  defaultOptions,
  fullParam,
  type IdOptionValues,
  type IdQpInit,
  type IdQpType,
} from './params.ts'
import { endsCall, failures, outcome } from './waiting.ts'

export interface IdOptions {
  /** Default: RC for the port spaces TCP and IB, UD for UDP and IPOIB. UC gives unreliable connections. */
  qpType?: QpType
  /** Anything of the program's: `id.context`. */
  context?: unknown
}

/** `rdma_cm_event`. */
export class CmEvent extends IdEvent<CmId> {}

export interface CmRoute {
  readonly sgid: Uint8Array
  readonly sgidIndex: number
  readonly dgid: Uint8Array
  readonly dlid: number
}

export type CmIdState = 'idle' | 'bound' | 'addrResolved' | 'routeResolved' | 'connecting' | 'listening' | 'closed'

export class CmId implements ConnectionHost, ListenerOwner {
  readonly portSpace: PortSpace
  readonly qpType: IdQpType
  /** Anything of the program's. */
  context: unknown
  /** The event that the last call waited for, of an id without a channel or in an `Async` form. */
  event: CmEvent | undefined
  readonly options: IdOptionValues = { ...defaultOptions }
  readonly #address: IdAddress
  #channel: EventChannel
  #sync: boolean
  #state: CmIdState = 'idle'
  #idQp: IdQp | undefined
  #connecting: Connecting | undefined
  #listening: Listening | undefined
  readonly #handles: EventHandles = new EventHandles((attr) => this.pd!.createAh(attr))
  readonly #groups: Groups = new Groups()

  /** Use `channel.createId` or `createId`. */
  constructor(channel: EventChannel, portSpace: PortSpace, options: IdOptions, sync: boolean) {
    if (!Object.values(PortSpace).includes(portSpace))
      throw new RdmaCmError('EINVAL', 'createId', 'portSpace must be one of PortSpace: Tcp, Udp, IpOIb, Ib')
    const qpType = options.qpType ?? qpTypeOf(portSpace)
    if (qpType !== QpType.RC && qpType !== QpType.UC && qpType !== QpType.UD)
      throw new RdmaCmError('EINVAL', 'createId', 'qpType must be QpType.RC, UC or UD')
    this.portSpace = portSpace
    this.qpType = qpType
    this.#address = new IdAddress(portSpace, this.options)
    this.context = options.context
    this.#channel = channel
    this.#sync = sync
    channel.adopt(this)
  }

  /** Undefined for an id without one. */
  get channel(): EventChannel | undefined {
    return this.#sync ? undefined : this.#channel
  }

  get state(): CmIdState {
    return this.#state
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  /** The context of the device; undefined until an address has chosen one. */
  get verbs(): Context | undefined {
    return this.#address.agent?.context
  }

  /** Protection domain of `createQp`; before it, the one that all ids of the device share. */
  get pd(): ProtectionDomain | undefined {
    return this.#idQp?.qp.pd ?? this.#address.agent?.pd
  }

  get qp(): QueuePair | undefined {
    return this.#idQp?.qp
  }

  get idQp(): IdQp | undefined {
    return this.#idQp
  }

  get sendCq(): CompletionQueue | undefined {
    return this.#idQp?.qp.sendCq
  }

  get recvCq(): CompletionQueue | undefined {
    return this.#idQp?.qp.recvCq
  }

  /** Channels of completion queues that `createQp` made. */
  get sendCqChannel(): CompletionChannel | undefined {
    return this.#idQp?.sendCqChannel
  }

  get recvCqChannel(): CompletionChannel | undefined {
    return this.#idQp?.recvCqChannel
  }

  get portNum(): number {
    return this.#address.agent === undefined ? 0 : 1
  }

  /** `rdma_get_local_addr`. */
  get localAddress(): CmSocketAddress {
    return this.#address.own
  }

  /** `rdma_get_peer_addr`; undefined until it is known. */
  get peerAddress(): CmSocketAddress | undefined {
    return this.#address.peer
  }

  /** Text for a rejection because of a missing listener, with a hint if an address may mean another adapter than expected. */
  get nobodyListens(): string {
    return this.#address.nobodyListens
  }

  /** `rdma_cm_id.route`: GIDs, and LIDs if there are any, of source and destination; undefined until they are known. */
  get route(): CmRoute | undefined {
    const { agent, path } = this.#address
    const peer = this.#connecting?.peer
    const dgid = path?.dgid ?? peer?.grh?.dgid
    if (agent === undefined || dgid === undefined) return undefined
    const { sgidIndex } = this
    return { sgid: agent.context.queryGid(1, sgidIndex), sgidIndex, dgid, dlid: path?.dlid ?? peer?.dlid ?? 0 }
  }

  /** Index of the source GID in the device's table. */
  get sgidIndex(): number {
    return this.#connecting?.peer?.grh?.sgidIndex ?? this.#address.sgidIndex
  }

  // --- addresses ---------------------------------------------------------------------------------------------------

  /** `rdma_bind_addr`: an address of this host and a port; 0 takes a free one. EADDRINUSE, EADDRNOTAVAIL. */
  bindAddr(address: CmAddress): void {
    this.#expect('bindAddr', 'idle')
    this.#address.bind('bindAddr', this.#channel.devices, address)
    this.#state = 'bound'
  }

  /**
   * `rdma_resolve_addr`: finds the device that leads to `destination`, and binds the id, to `source` if that is given and the id
   * is not bound; else to the address that the host's routes give. AddrResolved or AddrError follows, at once.
   */
  resolveAddr(source: CmAddress | undefined | null, destination: CmAddress, timeoutMs = 2000): void {
    this.#resolveAddr(source, destination, timeoutMs)
    this.#finish('resolveAddr', CmEventType.AddrResolved)
  }

  async resolveAddrAsync(
    source: CmAddress | undefined | null,
    destination: CmAddress,
    timeoutMs = 2000,
  ): Promise<void> {
    this.#resolveAddr(source, destination, timeoutMs)
    await this.#finished('resolveAddr', CmEventType.AddrResolved)
  }

  #resolveAddr(source: CmAddress | undefined | null, destination: CmAddress, timeoutMs: number): void {
    this.#expect('resolveAddr', 'idle', 'bound')
    checkTimeout('resolveAddr', timeoutMs)
    const to = parseAddress('resolveAddr', 'destination', destination)
    // That of an id that is bound stays, as in Linux: so the call can be repeated after AddrError.
    if (source !== undefined && source !== null && this.#state === 'idle') this.bindAddr(source)
    const failure = this.#address.resolve(this.#channel.devices, to)
    if (failure === undefined) {
      this.#state = 'addrResolved'
      this.emit(CmEventType.AddrResolved, 0, {})
    } else this.emit(CmEventType.AddrError, -errnoOf(failure), {})
  }

  /** `rdma_resolve_route`: RouteResolved follows. */
  resolveRoute(timeoutMs = 2000): void {
    this.#resolveRoute(timeoutMs)
    this.#finish('resolveRoute', CmEventType.RouteResolved)
  }

  async resolveRouteAsync(timeoutMs = 2000): Promise<void> {
    this.#resolveRoute(timeoutMs)
    await this.#finished('resolveRoute', CmEventType.RouteResolved)
  }

  #resolveRoute(timeoutMs: number): void {
    this.#expect('resolveRoute', 'addrResolved')
    checkTimeout('resolveRoute', timeoutMs)
    this.#state = 'routeResolved'
    this.emit(CmEventType.RouteResolved, 0, {})
  }

  // --- the queue pair ----------------------------------------------------------------------------------------------

  /** `rdma_create_qp`: of the id's type, in INIT, where receives may be posted; a UD queue pair in RTS. */
  createQp(init: IdQpInit = {}): QueuePair {
    const agent = this.#withoutQp('createQp')
    this.#idQp = IdQp.make(agent.context, init?.pd ?? agent.pd, this.qpType, init, udpQkey)
    return this.#idQp.qp
  }

  /** @internal Takes over a queue pair that a library made before it had this id, in INIT; `close` closes it. */
  adoptQp(qp: QueuePair): void {
    this.#withoutQp('adoptQp')
    this.#idQp = new IdQp(qp)
  }

  #withoutQp(call: string): Agent {
    this.#assertOpen(call)
    if (this.#idQp !== undefined) throw new RdmaCmError('EINVAL', call, 'this id has a queue pair already')
    const { agent } = this.#address
    if (agent === undefined)
      throw new RdmaCmError('EINVAL', call, 'no device is chosen yet: bind or resolve an address first')
    return agent
  }

  /** `rdma_destroy_qp`; `close` does it too. */
  destroyQp(): void {
    this.#assertOpen('destroyQp')
    if (this.#idQp === undefined) throw new RdmaCmError('EINVAL', 'destroyQp', 'this id has no queue pair')
    this.#groups.leaveAll()
    this.#idQp.close()
    this.#idQp = undefined
  }

  /** `rdma_init_qp_attr`: for a queue pair that is not the id's, what its `modify` takes. */
  initQpAttr(state: typeof QpState.Init | typeof QpState.Rtr | typeof QpState.Rts): Partial<QpAttr> {
    // As soon as there is a device: what INIT takes depends on it alone.
    const dependsOnDevice = state === QpState.Init && (this.#connecting === undefined || this.qpType === QpType.UD)
    if (dependsOnDevice && this.#address.agent !== undefined) {
      this.#assertOpen('initQpAttr')
      const accessFlags = Access.LocalWrite | Access.RemoteWrite
      const own = this.qpType === QpType.UD ? { qkey: udpQkey } : { accessFlags }
      return { state, pkeyIndex: 0, port: 1, ...own }
    }
    return this.#connection('initQpAttr').qpAttr(state)
  }

  // --- listening ---------------------------------------------------------------------------------------------------

  /** `rdma_listen`: ConnectRequests follow, at most `backlog` of them unanswered; 0 takes the default of 1024. */
  listen(backlog = 0): void {
    this.#expect('listen', 'idle', 'bound')
    if (!Number.isInteger(backlog) || backlog < 0)
      throw new RdmaCmError('EINVAL', 'listen', `backlog must be a whole number, not ${describe(backlog)}`)
    if (this.#state === 'idle') this.bindAddr({})
    const { devices } = this.#channel
    const { agent, port } = this.#address
    const agents = agent === undefined ? devices.all() : [agent]
    const { portSpace, qpType, options } = this
    this.#listening = new Listening(this, agents, portSpace, qpType, port!, backlog, options.afOnly)
    this.#state = 'listening'
  }

  /** For the agent: a request came to this listening id. */
  request(event: IbEvent<MadAddress>, agent: Agent): void {
    if (event.type !== 'reqReceived' && event.type !== 'sidrReqReceived') return
    const { privateData } = event.message
    const cma = parseCma(privateData, 0, privateData.length)
    if (isMalformed(cma)) return
    const id = new CmId(this.#channel, this.portSpace, { qpType: this.qpType }, false)
    Object.assign(id.options, this.options)
    const zone = isLinkLocal(cma.source) ? zoneOf(agent, event.from.sgidIndex) : ''
    const peer = socketAddress(cma.source, cma.port, zone)
    id.#address.requested(agent, cma.destination, this.#address.own.port, peer, zone)
    id.#state = 'connecting'
    id.#connecting = new Connecting(id, agent)
    id.#connecting.requested(event.connection, event.from)
    const param = id.#connecting.requestParam(privateData.slice(CmaHdr.length))
    this.#channel.push(new CmEvent(CmEventType.ConnectRequest, id, 0, id.#handles.complete(param), this))
  }

  /** `rdma_get_request`: an id without a channel waits for a ConnectRequest; the new id has no channel either. */
  getRequest(): CmId {
    this.#expect('getRequest', 'listening')
    if (!this.#sync)
      throw new RdmaCmError('EINVAL', 'getRequest', 'requests of an id with a channel are events of that channel')
    return this.#takeRequest(this.#channel.waitFor((one) => one.listenId === this))
  }

  /** The same in the event loop, also for an id with a channel, which the new id then has too. EBADF when this id closes. */
  async getRequestAsync(): Promise<CmId> {
    this.#expect('getRequest', 'listening')
    const event = await this.#channel.claim(this, (one) => one.listenId === this)
    return this.#takeRequest(outcome('getRequest', event, [CmEventType.ConnectRequest]))
  }

  #takeRequest(event: CmEvent): CmId {
    this.event = event
    const { id } = event
    if (this.#sync) id.migrateId(undefined)
    id.event = event
    return id
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  /**
   * `rdma_connect`. Established, ConnectResponse (if the queue pair is not the id's), Rejected, Unreachable or ConnectError
   * follows.
   */
  connect(param: ConnParam = {}): void {
    this.#connect(param)
    this.#finish('connect', CmEventType.Established, CmEventType.ConnectResponse)
  }

  /** ConnectResponse, which `establish` answers, if the queue pair is not the id's; else Established. */
  async connectAsync(param: ConnParam = {}): Promise<CmEvent> {
    this.#connect(param)
    return this.#finished('connect', CmEventType.Established, CmEventType.ConnectResponse)
  }

  #connect(param: ConnParam): void {
    if (this.#state === 'connecting' && this.#connecting?.phase === 'over')
      throw new RdmaCmError('EINVAL', 'connect', 'the connection of this id was rejected or is over: make another id')
    this.#expect('connect', 'routeResolved')
    const path = this.#address.path!
    if (isMulticast(path.remoteIp)) throw new RdmaCmError('EINVAL', 'connect', 'a group is joined, not connected to')
    const ud = this.qpType === QpType.UD
    const full = fullParam(
      'connect',
      param,
      ud ? privateDataBytes.connectUd : privateDataBytes.connect,
      path.agent.context,
    )
    const connecting = new Connecting(this, path.agent)
    connecting.connect(path, this.#address.own.port, this.#address.peer!.port, full)
    this.#connecting = connecting
    this.#state = 'connecting'
    this.#channel.makeRoom()
  }

  /**
   * `rdma_accept`: the answer to a ConnectRequest. Established follows, but not for UD; Rejected or Unreachable if the peer
   * gave up.
   */
  accept(param: ConnParam = {}): void {
    this.#accept(param, this.#sync)
    if (this.qpType !== QpType.UD) this.#finish('accept', CmEventType.Established)
  }

  async acceptAsync(param: ConnParam = {}): Promise<void> {
    this.#accept(param, true)
    if (this.qpType !== QpType.UD) await this.#finished('accept', CmEventType.Established)
  }

  #accept(param: ConnParam, waits: boolean): void {
    const connecting = this.#connection('accept')
    if (waits && connecting.failed && ![...failures].some((type) => this.#channel.has(this, type)))
      throw new RdmaCmError('EINVAL', 'accept', 'nothing came of this connection, as an event or an error has told')
    const ud = this.qpType === QpType.UD
    const room = ud ? privateDataBytes.acceptUd : privateDataBytes.accept
    connecting.accept(fullParam('accept', param, room, this.verbs!, ud ? {} : connecting.limits))
    this.#channel.makeRoom()
  }

  /**
   * `rdma_reject`: the peer gets Rejected with `reason` as status, 28 unless another one is given, and the private data; of UD
   * Unreachable with status 2.
   */
  reject(privateData?: Uint8Array, reason: number = CmRejReason.ConsumerReject): void {
    const ud = this.qpType === QpType.UD
    const room = ud ? privateDataBytes.acceptUd : privateDataBytes.reject
    this.#connection('reject').reject(checkPrivateData('reject', privateData, room), reason)
  }

  /** `rdma_establish`, after a ConnectResponse, when the program has moved its queue pair to RTS. */
  establish(): void {
    this.#connection('establish').establish()
  }

  /** `rdma_notify` with the event CommEst: data came before the peer's RTU. */
  notifyEstablished(): void {
    this.#connection('notifyEstablished').communicationEstablished()
  }

  /** `rdma_disconnect`: the queue pair goes to ERR, and the peer is notified. Disconnected follows, unless it has come. */
  disconnect(): void {
    if (this.#disconnect()) this.#finish('disconnect', CmEventType.Disconnected)
  }

  async disconnectAsync(): Promise<void> {
    if (this.#disconnect()) await this.#finished('disconnect', CmEventType.Disconnected)
  }

  /** Disconnects; true if the event Disconnected is still to be taken. */
  #disconnect(): boolean {
    const connecting = this.#connection('disconnect')
    const over = connecting.phase === 'over' && !this.#channel.has(this, CmEventType.Disconnected)
    connecting.disconnect()
    this.#channel.makeRoom()
    return !over
  }

  #connection(call: string): Connecting {
    this.#assertOpen(call)
    if (this.#connecting === undefined)
      throw new RdmaCmError('EINVAL', call, `this id is ${this.#state}: it has no connection`)
    return this.#connecting
  }

  // --- multicast ---------------------------------------------------------------------------------------------------

  /** `rdma_join_multicast`: a UD id that is bound or resolved; MulticastJoin follows, with what to send with. */
  joinMulticast(address: CmAddress, context?: unknown): void {
    this.#joinMulticast(address, context)
    this.#finish('joinMulticast', CmEventType.MulticastJoin)
  }

  /** The event of the group: `param` has what to send with. */
  async joinMulticastAsync(address: CmAddress, context?: unknown): Promise<CmEvent> {
    this.#joinMulticast(address, context)
    return this.#finished('joinMulticast', CmEventType.MulticastJoin)
  }

  #joinMulticast(address: CmAddress, context: unknown): void {
    this.#assertOpen('joinMulticast')
    const { bytes } = parseAddress('joinMulticast', 'address', address)
    if (this.qpType !== QpType.UD)
      throw new RdmaCmError('EINVAL', 'joinMulticast', 'groups are for UD ids: create it with PortSpace.Udp')
    if (this.verbs === undefined)
      throw new RdmaCmError('EINVAL', 'joinMulticast', 'no device is chosen yet: bind or resolve an address first')
    const join = this.#groups.join(bytes, this.#idQp?.qp, this.#address.sgidIndex, this.options.tos)
    if (join.failure === undefined) this.emit(CmEventType.MulticastJoin, 0, { ...join.param, context })
    else this.emit(CmEventType.MulticastError, join.failure, { context })
  }

  /** `rdma_leave_multicast`. */
  leaveMulticast(address: CmAddress): void {
    this.#assertOpen('leaveMulticast')
    this.#groups.leave(parseAddress('leaveMulticast', 'address', address).bytes)
  }

  // --- the rest ----------------------------------------------------------------------------------------------------

  /** `rdma_set_option`: `reuseAddr` and `reusePort` before `bindAddr`, the others before `connect` or `accept`. */
  setOption<K extends keyof IdOptionValues>(name: K, value: IdOptionValues[K]): void {
    this.#assertOpen('setOption')
    checkOption(name, value)
    this.options[name] = value
  }

  /** `rdma_migrate_id`: its events, waiting ones too, go to another channel; without one the id is synchronous. */
  migrateId(channel: EventChannel | undefined | null): void {
    this.#assertOpen('migrateId')
    const from = this.#channel
    const to = channel ?? from.another()
    const waiting = from.takeEventsOf(this)
    from.disown(this)
    to.adopt(this)
    // The devices that it uses stay open with it.
    for (const agent of this.#agents()) to.devices.use(agent)
    this.#channel = to
    if (this.#sync) from.close()
    this.#sync = channel === undefined || channel === null
    for (const event of waiting) to.push(event)
  }

  #agents(): Agent[] {
    const listening = this.#listening?.agents ?? []
    const { agent } = this.#address
    return agent === undefined ? listening : [agent, ...listening]
  }

  /**
   * `rdma_destroy_id`, with its queue pair. Connections and requests are disconnected or rejected. EBUSY while the program keeps
   * the queue pair, or a CQ that `createQp` made, from being closed: the id is open until `close` is called again.
   */
  close(): void {
    if (this.#state === 'closed') return
    this.#groups.leaveAll()
    this.#idQp?.close()
    this.#state = 'closed'
    this.#listening?.close()
    for (const event of this.#channel.takeEventsOf(this)) if (event.id !== this) event.id.close()
    this.#connecting?.close()
    this.#handles.close()
    this.#address.port?.close()
    this.#channel.disown(this)
    if (this.#sync) this.#channel.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** For the connection: an event of this id. */
  emit(type: CmEventType, status: number, param: Partial<CmEventParam>): void {
    if (this.#state !== 'closed') this.#channel.push(new CmEvent(type, this, status, this.#handles.complete(param)))
  }

  /** For the connection: the peer took back its request. */
  withdraw(): boolean {
    if (!this.#channel.has(this, CmEventType.ConnectRequest)) return false
    this.close()
    return true
  }

  /** An id without a channel waits here for what it asked for. */
  #finish(call: string, ...wanted: CmEventType[]): void {
    if (!this.#sync) return
    this.event = this.#channel.waitFor(endsCall<CmId, CmEvent>(this, wanted))
    outcome(call, this.event, wanted)
  }

  /** The same in the event loop, with a channel and without. */
  async #finished(call: string, ...wanted: CmEventType[]): Promise<CmEvent> {
    this.event = await this.#channel.claim(this, endsCall<CmId, CmEvent>(this, wanted))
    return outcome(call, this.event, wanted)
  }

  #assertOpen(call: string): void {
    if (this.#state === 'closed') throw new RdmaCmError('EBADF', call, 'this id is closed')
  }

  #expect(call: string, ...states: CmIdState[]): void {
    this.#assertOpen(call)
    if (!states.includes(this.#state))
      throw new RdmaCmError(
        'EINVAL',
        call,
        `this id is ${this.#state}; ${call} is for one that is ${states.join(' or ')}`,
      )
  }
}

function checkTimeout(call: string, timeoutMs: number): void {
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))
    throw new RdmaCmError('EINVAL', call, `timeoutMs must be a number of milliseconds, not ${describe(timeoutMs)}`)
}

/** `rdma_event_channel`: where events of ids arrive. Ways to take them: see event-queue.ts. */
export class EventChannel extends EventQueue<CmId, CmEvent> {
  /** Use `createEventChannel`. */
  constructor(options: EventChannelOptions = {}) {
    super(options)
  }

  /** `rdma_create_id`, and with `qpType` `rdma_create_id2`. */
  createId(portSpace: PortSpace, options: IdOptions = {}): CmId {
    this.assertOpen('createId')
    return new CmId(this, portSpace, options, false)
  }

  /** @internal For ids: another channel on the same devices. */
  another(): EventChannel {
    const { device, limits } = this.devices
    return new EventChannel({ device, ...(limits === undefined ? {} : { limits }) })
  }
}

/** `rdma_create_event_channel`. */
export function createEventChannel(options: EventChannelOptions = {}): EventChannel {
  return new EventChannel(options)
}

/**
 * Creates an id without a channel: `rdma_create_id` with channel NULL. Each call blocks the thread until its operation has completed, and
 * throws an RdmaCmError if it fails; the `Async` forms wait in the event loop.
 */
export function createId(portSpace: PortSpace, options: IdOptions & EventChannelOptions = {}): CmId {
  return new CmId(new EventChannel(options), portSpace, options, true)
}
