/**
 * Communication ids: `rdma_cm_id`, the sockets of RDMA.
 *
 *     active    resolveAddr ─ AddrResolved ─ resolveRoute ─ RouteResolved ─ createQp ─ connect ─ Established
 *     passive   bindAddr ─ listen ─ ConnectRequest (with a new id) ─ createQp ─ accept ─ Established
 *     both      Disconnected ─ disconnect ─ close
 *
 * The id moves its queue pair through its states by itself. An id without a channel works synchronously: its calls wait
 * for the event that belongs to them, and throw if it is not the good one.
 */
import {
  type AddressHandle,
  type AhAttr,
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  type ProtectionDomain,
  type QpAttr,
  type QpState,
  QpType,
  type QueuePair,
} from '../../verbs/index.ts'
import { CmaHdr, isMalformed, parseCma } from '../../wire/index.ts'
import type { CmEvent as IbEvent } from '../ib/index.ts'
import {
  type CmAddress,
  type CmSocketAddress,
  isAny,
  isMulticast,
  parseAddress,
  sameBytes,
  socketAddress,
} from './address.ts'
import type { Agent, ListenerOwner } from './agent.ts'
import { Connecting, type ConnectionHost } from './connecting.ts'
import { CmEventType, errno, PortSpace, privateDataBytes, qpTypeOf, udpQkey } from './constants.ts'
import type { Local, Path } from './devices.ts'
import { RdmaCmError } from './errors.ts'
import { CmEvent, type CmEventParam } from './event.ts'
import type { EventChannel, IdOptions } from './event-channel.ts'
import type { MadAddress } from './gsi-port.ts'
import { IdQp } from './id-qp.ts'
import { BoundPort, Listening } from './listening.ts'
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
import { failureOf, failures } from './waiting.ts'

export type CmIdState = 'idle' | 'bound' | 'addrResolved' | 'routeResolved' | 'connecting' | 'listening' | 'closed'

export class CmId implements ConnectionHost, ListenerOwner {
  readonly portSpace: PortSpace
  readonly qpType: IdQpType
  /** Anything of the program's. */
  context: unknown
  /** Of an id without a channel: the event that its last call waited for. */
  event: CmEvent | undefined
  readonly options: IdOptionValues = { ...defaultOptions }
  #channel: EventChannel
  #sync: boolean
  #state: CmIdState = 'idle'
  #agent: Agent | undefined
  #idQp: IdQp | undefined
  #connecting: Connecting | undefined
  /** The own address; its `ip` is all zeros for a wildcard. */
  #ip: Uint8Array = new Uint8Array(4)
  #local: Local | undefined
  #port: BoundPort | undefined
  #portNumber = 0
  #path: Path | undefined
  #peer: CmSocketAddress | undefined
  #listening: Listening | undefined
  readonly #handles: AddressHandle[] = []
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
    return this.#agent?.context
  }

  /** That of `createQp`, before it one that all ids of the device share. */
  get pd(): ProtectionDomain | undefined {
    return this.#idQp?.qp.pd ?? this.#agent?.pd
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
    return this.#agent === undefined ? 0 : 1
  }

  /** `rdma_get_local_addr`. */
  get localAddress(): CmSocketAddress {
    return socketAddress(this.#ip, this.#port?.number ?? this.#portNumber)
  }

  /** `rdma_get_peer_addr`; undefined until it is known. */
  get peerAddress(): CmSocketAddress | undefined {
    return this.#peer
  }

  /** What a rejection by a missing listener means, with a hint where an address may mean another adapter than expected. */
  get nobodyListens(): string {
    const path = this.#path
    if (path === undefined || path.agent.ethernet || !sameBytes(path.dgid, path.gid)) return 'nobody listens there'
    const { name } = path.agent
    const own = `nobody listens on this adapter, ${name}, to which all addresses of the host lead`
    return `${own}; another one of the segment is reached by its GID, written as an IPv6 address`
  }

  // --- addresses ---------------------------------------------------------------------------------------------------

  /** `rdma_bind_addr`: an address of this host and a port; 0 takes a free one. EADDRINUSE, EADDRNOTAVAIL. */
  bindAddr(address: CmAddress): void {
    this.#expect('bindAddr', 'idle')
    const parsed = parseAddress('bindAddr', 'address', address)
    this.#bind('bindAddr', parsed)
    this.#state = 'bound'
  }

  #bind(call: string, parsed: ReturnType<typeof parseAddress>): void {
    const { devices } = this.#channel
    const any = isAny(parsed.bytes)
    const local = any ? undefined : devices.local(call, parsed)
    const agent = local?.agent ?? devices.only
    this.#takePort(call, agent ?? devices.all()[0]!, parsed.bytes, parsed.port)
    this.#local = local
    this.#ip = parsed.bytes
    this.#agent = agent
  }

  #takePort(call: string, agent: Agent, ip: Uint8Array, port: number): void {
    this.#port = new BoundPort(call, agent, this.portSpace, ip, port, this.options)
  }

  /**
   * `rdma_resolve_addr`: finds the device that leads to `destination`, and binds the id, to `source` if that is given.
   * AddrResolved or AddrError follows.
   */
  resolveAddr(source: CmAddress | undefined | null, destination: CmAddress, timeoutMs = 2000): void {
    this.#expect('resolveAddr', 'idle', 'bound')
    checkTimeout('resolveAddr', timeoutMs)
    const to = parseAddress('resolveAddr', 'destination', destination)
    if (source !== undefined && source !== null) {
      if (this.#state === 'bound') throw new RdmaCmError('EINVAL', 'resolveAddr', 'this id is bound: give no source')
      this.bindAddr(source)
    }
    // As with sockets, all zeros as a destination is this host.
    const bytes = isAny(to.bytes) ? (to.bytes.length === 4 ? Uint8Array.of(127, 0, 0, 1) : loopback6) : to.bytes
    const from = this.#local
    const path = this.#channel.devices.path({ ...to, bytes }, from)
    this.#peer = socketAddress(bytes, to.port, to.zone)
    if (path === undefined) this.emit(CmEventType.AddrError, -errno.ENODEV, {})
    else {
      if (this.#port === undefined) this.#takePort('resolveAddr', path.agent, path.ip, 0)
      this.#path = path
      this.#agent = path.agent
      this.#ip = path.ip
      this.#state = 'addrResolved'
      this.emit(CmEventType.AddrResolved, 0, {})
    }
    this.#finish('resolveAddr', CmEventType.AddrResolved)
  }

  /** `rdma_resolve_route`: RouteResolved follows. */
  resolveRoute(timeoutMs = 2000): void {
    this.#expect('resolveRoute', 'addrResolved')
    checkTimeout('resolveRoute', timeoutMs)
    this.#state = 'routeResolved'
    this.emit(CmEventType.RouteResolved, 0, {})
    this.#finish('resolveRoute', CmEventType.RouteResolved)
  }

  // --- the queue pair ----------------------------------------------------------------------------------------------

  /** `rdma_create_qp`: of the id's type, in INIT, where receives may be posted; a UD queue pair in RTS. */
  createQp(init: IdQpInit = {}): QueuePair {
    this.#assertOpen('createQp')
    if (this.#idQp !== undefined) throw new RdmaCmError('EINVAL', 'createQp', 'this id has a queue pair already')
    const agent = this.#agent
    if (agent === undefined)
      throw new RdmaCmError('EINVAL', 'createQp', 'no device is chosen yet: bind or resolve an address first')
    this.#idQp = new IdQp(agent.context, init?.pd ?? agent.pd, this.qpType, init, udpQkey)
    return this.#idQp.qp
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
    return this.#connection('initQpAttr').qpAttr(state)
  }

  // --- listening ---------------------------------------------------------------------------------------------------

  /** `rdma_listen`: ConnectRequests follow, at most `backlog` of them unanswered; 0 takes the default of 1024. */
  listen(backlog = 0): void {
    this.#expect('listen', 'idle', 'bound')
    if (!Number.isInteger(backlog) || backlog < 0)
      throw new RdmaCmError('EINVAL', 'listen', `backlog must be a whole number, not ${String(backlog)}`)
    if (this.#state === 'idle') this.bindAddr({})
    const { devices } = this.#channel
    const agents = this.#agent === undefined ? devices.all() : [this.#agent]
    const { portSpace, qpType, options } = this
    const port = this.#port!
    this.#listening = new Listening(this, agents, portSpace, qpType, this.#ip, port, backlog, options.afOnly)
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
    id.#agent = agent
    id.#ip = cma.destination
    id.#portNumber = this.#port!.number
    id.#peer = socketAddress(cma.source, cma.port)
    id.#state = 'connecting'
    id.#connecting = new Connecting(id, agent)
    id.#connecting.requested(event.connection, event.from)
    const param = id.#connecting.requestParam(privateData.slice(CmaHdr.length))
    this.#channel.push(new CmEvent(CmEventType.ConnectRequest, id, 0, id.#withAh(param), this))
  }

  /** `rdma_get_request`: an id without a channel waits for a ConnectRequest; the new id has no channel either. */
  getRequest(): CmId {
    this.#expect('getRequest', 'listening')
    if (!this.#sync)
      throw new RdmaCmError('EINVAL', 'getRequest', 'requests of an id with a channel are events of that channel')
    const event = this.#channel.waitFor((one) => one.listenId === this)
    this.event = event
    const { id } = event
    id.migrateId(undefined)
    id.event = event
    return id
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  /**
   * `rdma_connect`. Established, ConnectResponse (if the queue pair is not the id's), Rejected, Unreachable or ConnectError
   * follows.
   */
  connect(param: ConnParam = {}): void {
    this.#expect('connect', 'routeResolved')
    const path = this.#path!
    if (isMulticast(path.remoteIp)) throw new RdmaCmError('EINVAL', 'connect', 'a group is joined, not connected to')
    const ud = this.qpType === QpType.UD
    const full = fullParam(
      'connect',
      param,
      ud ? privateDataBytes.connectUd : privateDataBytes.connect,
      path.agent.context,
    )
    const connecting = new Connecting(this, path.agent)
    connecting.connect(path, this.#port!.number, this.#peer!.port, full)
    this.#connecting = connecting
    this.#state = 'connecting'
    this.#channel.makeRoom()
    this.#finish('connect', CmEventType.Established, CmEventType.ConnectResponse)
  }

  /**
   * `rdma_accept`: the answer to a ConnectRequest. Established follows, but not for UD; Rejected or Unreachable if the peer
   * gave up.
   */
  accept(param: ConnParam = {}): void {
    const connecting = this.#connection('accept')
    if (this.#sync && connecting.failed && ![...failures].some((type) => this.#channel.has(this, type)))
      throw new RdmaCmError('EINVAL', 'accept', 'nothing came of this connection, as an event or an error has told')
    const ud = this.qpType === QpType.UD
    const room = ud ? privateDataBytes.acceptUd : privateDataBytes.accept
    const full = fullParam('accept', param, room, this.#agent!.context, ud ? {} : connecting.limits)
    connecting.accept(full)
    this.#channel.makeRoom()
    if (!ud) this.#finish('accept', CmEventType.Established)
  }

  /** `rdma_reject`: the peer gets Rejected with status 28 and the private data; of UD Unreachable with status 2. */
  reject(privateData?: Uint8Array): void {
    const ud = this.qpType === QpType.UD
    const room = ud ? privateDataBytes.acceptUd : privateDataBytes.reject
    this.#connection('reject').reject(checkPrivateData('reject', privateData, room))
  }

  /** `rdma_establish`, after a ConnectResponse, when the program has moved its queue pair to RTS. */
  establish(): void {
    this.#connection('establish').establish()
  }

  /** `rdma_notify` with the event CommEst: data came before the peer's RTU. */
  notifyEstablished(): void {
    this.#connection('notifyEstablished').communicationEstablished()
  }

  /** `rdma_disconnect`: the queue pair goes to ERR, and the peer is told. Disconnected follows, if it has not come yet. */
  disconnect(): void {
    const connecting = this.#connection('disconnect')
    const over = connecting.phase === 'over' && !this.#channel.has(this, CmEventType.Disconnected)
    connecting.disconnect()
    this.#channel.makeRoom()
    if (!over) this.#finish('disconnect', CmEventType.Disconnected)
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
    this.#assertOpen('joinMulticast')
    const { bytes } = parseAddress('joinMulticast', 'address', address)
    if (this.qpType !== QpType.UD)
      throw new RdmaCmError('EINVAL', 'joinMulticast', 'groups are for UD ids: create it with PortSpace.Udp')
    const agent = this.#agent
    if (agent === undefined)
      throw new RdmaCmError('EINVAL', 'joinMulticast', 'no device is chosen yet: bind or resolve an address first')
    const sgidIndex = this.#path?.sgidIndex ?? this.#local?.sgidIndex ?? 0
    const join = this.#groups.join(bytes, this.#idQp?.qp, sgidIndex, this.options.tos)
    if (join.failure === undefined) this.emit(CmEventType.MulticastJoin, 0, { ...join.param, context })
    else this.emit(CmEventType.MulticastError, join.failure, { context })
    this.#finish('joinMulticast', CmEventType.MulticastJoin)
  }

  /** `rdma_leave_multicast`. */
  leaveMulticast(address: CmAddress): void {
    this.#assertOpen('leaveMulticast')
    this.#groups.leave(parseAddress('leaveMulticast', 'address', address).bytes)
  }

  // --- the rest ----------------------------------------------------------------------------------------------------

  /** `rdma_set_option`, before what it is about: `reuseAddr` before `bindAddr`, the others before `connect` or `accept`. */
  setOption<K extends keyof IdOptionValues>(name: K, value: IdOptionValues[K]): void {
    this.#assertOpen('setOption')
    checkOption(name, value)
    this.options[name] = value
  }

  /** `rdma_migrate_id`: from now on its events come to another channel, those that wait too; without one it is synchronous. */
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
    return this.#agent === undefined ? listening : [this.#agent, ...listening]
  }

  /** `rdma_destroy_id`: with its queue pair; whatever is under way ends as politely as it can. */
  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#listening?.close()
    for (const event of this.#channel.takeEventsOf(this)) if (event.id !== this) event.id.close()
    this.#groups.leaveAll()
    this.#connecting?.close()
    this.#idQp?.close()
    for (const handle of this.#handles) if (!handle.closed) handle.close()
    this.#port?.close()
    this.#channel.disown(this)
    if (this.#sync) this.#channel.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** For the connection: an event of this id. */
  emit(type: CmEventType, status: number, param: Partial<CmEventParam>): void {
    if (this.#state !== 'closed') this.#channel.push(new CmEvent(type, this, status, this.#withAh(param)))
  }

  /** For the connection: nothing comes of a request. */
  withdraw(): boolean {
    if (!this.#channel.has(this, CmEventType.ConnectRequest)) return false
    this.close()
    return true
  }

  /** With an address handle that is made when it is asked for. */
  #withAh(param: Partial<CmEventParam>): CmEventParam {
    const whole = { privateData: new Uint8Array(0), ...param }
    const { ahAttr } = param
    if (ahAttr === undefined) return whole
    let handle: AddressHandle | undefined
    const make = (): AddressHandle => (handle ??= this.#makeAh(ahAttr))
    return Object.defineProperty(whole, 'ah', { get: make, enumerable: false })
  }

  #makeAh(attr: AhAttr): AddressHandle {
    const handle = this.pd!.createAh(attr)
    this.#handles.push(handle)
    return handle
  }

  /** An id without a channel waits here for what it asked for. */
  #finish(call: string, ...wanted: CmEventType[]): void {
    if (!this.#sync) return
    const event = this.#channel.waitFor(({ id, type }) => id === this && (wanted.includes(type) || failures.has(type)))
    this.event = event
    if (wanted.includes(event.type)) return
    throw failureOf(call, event)
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

const loopback6 = new Uint8Array(16).fill(1, 15)

function checkTimeout(call: string, timeoutMs: number): void {
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))
    throw new RdmaCmError('EINVAL', call, `timeoutMs must be a number of milliseconds, not ${String(timeoutMs)}`)
}
