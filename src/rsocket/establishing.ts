/**
 * How stream sockets come to be connected, and who gives them time then.
 *
 *     idle ─ bind ─ bound ─ listen ─ listening ─ accept ─┐
 *       └────────── connect ─ connecting ────────────────┴─ connected ─ close ─ closing ─ closed
 *                                └─ failed
 */
import { isIPv4, isIPv6 } from 'node:net'
import { type CmEvent, CmEventType, type CmId, PortSpace } from '../cm/index.ts'
import type { Adapter } from './adapter.ts'
import { decodeConnData } from './conn-data.ts'
import type { StreamConnection } from './connection.ts'
import { AF_INET6, Errno, POLLERR, POLLHUP, POLLIN, POLLOUT, SOCK_STREAM } from './constants.ts'
import { countProtocolError } from './counters.ts'
import { errnoOf } from './errors.ts'
import { type CmOwner, Hub } from './hub.ts'
import { heat, type Member } from './loop.ts'
import type { Mappings } from './mappings.ts'
import { SocketOptions } from './socket-options.ts'
import { connectionParam, Stream } from './stream.ts'
import type { RSocketCounters, RSocketOptions, SocketAddress, Watch } from './types.ts'
import { Patience } from './waiting.ts'
import { Watches } from './watches.ts'

type State = 'idle' | 'bound' | 'listening' | 'connecting' | 'connected' | 'failed' | 'closing' | 'closed'

/** Of `listen` without a number. */
const defaultBacklog = 511
/** So much room makes a stream writable to `poll`, as in librdmacm. */
const lowWater = 2048

export abstract class Establishing implements Member, CmOwner {
  readonly family: number
  readonly type: number = SOCK_STREAM
  protected readonly device: RSocketOptions['device']
  protected options: SocketOptions = new SocketOptions()
  protected state: State = 'idle'
  protected nonBlocking = false
  protected descriptorFlags = 0
  protected hub: Hub | undefined
  protected id: CmId | undefined
  protected pendingError = 0
  protected why = ''
  protected backlog: number = defaultBacklog
  /** Connections that wait for `accept`, and for those under way the one who asked. */
  protected readonly accepted: Establishing[] = []
  protected readonly arriving: Set<Establishing> = new Set()
  protected listener: Establishing | undefined
  protected requestData: Uint8Array = new Uint8Array(0)
  protected readonly watches: Watches = new Watches(() => this.hold())
  protected heldBy: Hub | Adapter | null = null
  protected heldRef = false
  protected deadline: NodeJS.Timeout | undefined
  protected keepAlive: NodeJS.Timeout | undefined
  protected mappings: Mappings | undefined
  protected lastCounters: RSocketCounters | undefined
  // Plain fields: these are read with every byte.
  protected stream: Stream | null = null
  protected connection: StreamConnection | null = null
  protected patience: Patience | null = null

  /** Use `rsocket`. */
  constructor(family: number, options: RSocketOptions = {}) {
    this.family = family
    this.device = options.device
  }

  /** A socket of the same kind for a connection that arrives. */
  protected abstract another(): Establishing
  /** Says that this end closes; true when that and all before it has arrived, or never will. */
  protected abstract goodbye(): boolean
  /** Ends the socket for good. */
  protected abstract finish(): void
  protected abstract startKeepAlive(): void
  abstract close(): number

  get closed(): boolean {
    return this.state === 'closed' || this.state === 'closing'
  }

  get reason(): string {
    return this.why !== '' ? this.why : (this.connection?.reason ?? '')
  }

  get adapter(): Adapter | null {
    return this.stream?.adapter ?? null
  }

  /** Whether both ends are Verbena's and use more than version 1. */
  get extended(): boolean {
    return this.connection !== null && !this.connection.foreign
  }

  protected failWith(errno: number, reason: string): number {
    this.why = reason
    return -errno
  }

  protected caught(error: unknown): number {
    const { errno, message } = errnoOf(error)
    return this.failWith(errno, message)
  }

  /** The error that is to be told, once. */
  protected takeError(): number {
    const error = this.pendingError
    this.pendingError = 0
    return error === 0 ? 0 : -error
  }

  // --- addresses and listening -------------------------------------------------------------------------------------

  protected checkAddress(addr: SocketAddress): number {
    if (typeof addr !== 'object' || addr === null || typeof addr.address !== 'string')
      throw new TypeError('addr must be { address, port }')
    const { address } = addr
    const plain = address.split('%', 1)[0]!
    if (this.family === AF_INET6 ? isIPv6(plain) : isIPv4(plain)) return 0
    if (isIPv4(plain) || isIPv6(plain)) return -Errno.EAFNOSUPPORT
    return this.failWith(Errno.EINVAL, `'${address}' is no address: look names up with dns.lookup first`)
  }

  protected makeId(): CmId {
    this.hub ??= Hub.acquire(this.device)
    if (this.id === undefined) {
      this.id = this.hub.channel.createId(PortSpace.Tcp, { context: this })
      if (this.options.reuseAddr) this.id.setOption('reuseAddr', true)
      if (this.options.v6Only) this.id.setOption('afOnly', true)
      if (this.options.tos !== 0) this.id.setOption('tos', this.options.tos)
    }
    return this.id
  }

  bind(addr: SocketAddress): number {
    if (this.state !== 'idle') return this.state === 'closed' ? -Errno.EBADF : -Errno.EINVAL
    const wrong = this.checkAddress(addr)
    if (wrong < 0) return wrong
    try {
      this.makeId().bindAddr(addr)
    } catch (error) {
      this.dropId()
      return this.caught(error)
    }
    this.state = 'bound'
    return 0
  }

  listen(backlog: number = defaultBacklog): number {
    if (this.state === 'listening') return 0
    if (this.state === 'idle') {
      const bound = this.bind({ address: this.family === AF_INET6 ? '::' : '0.0.0.0', port: 0 })
      if (bound < 0) return bound
    }
    if (this.state !== 'bound') return -Errno.EINVAL
    try {
      this.backlog = Math.max(1, backlog)
      this.id!.listen(this.backlog)
    } catch (error) {
      return this.caught(error)
    }
    this.state = 'listening'
    this.hold()
    return 0
  }

  /** The next connection, waited for if the socket blocks. */
  protected nextAccepted(): Establishing | number {
    const socket = this.tryAccept()
    if (socket !== -Errno.EAGAIN || this.nonBlocking) return socket
    while (this.accepted.length === 0) this.hub!.sleep(Number.POSITIVE_INFINITY)
    return this.accepted.shift()!
  }

  protected tryAccept(): Establishing | number {
    if (this.state !== 'listening') return this.closed ? -Errno.EBADF : -Errno.EINVAL
    if (this.accepted.length === 0) this.hub!.pump()
    return this.accepted.shift() ?? -Errno.EAGAIN
  }

  /** A connection that this socket's peer asks for. */
  protected arrive(event: CmEvent): void {
    const { id, param } = event
    const data = decodeConnData(param.privateData)
    if (typeof data === 'string' || this.accepted.length + this.arriving.size >= this.backlog) {
      if (typeof data === 'string') countProtocolError('badConnData')
      id.reject()
      id.close()
      return
    }
    const socket = this.another()
    socket.options = this.options.inherit()
    socket.hub = Hub.acquire(this.device)
    socket.id = id
    socket.listener = this
    socket.state = 'connecting'
    socket.requestData = param.privateData
    id.context = socket
    this.arriving.add(socket)
    try {
      socket.make(id)
      id.accept({ ...connectionParam, privateData: socket.stream!.privateData })
    } catch (error) {
      // Nothing is left for one more: the peer is refused, and those that are there go on.
      socket.caught(error)
      try {
        id.reject()
      } catch {
        // It was accepted already.
      }
      socket.abandon()
    }
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  connect(addr: SocketAddress): number {
    const result = this.startConnect(addr)
    if (result !== -Errno.EINPROGRESS || this.nonBlocking) return result
    while (this.state === 'connecting') this.hub!.sleep(Number.POSITIVE_INFINITY)
    return this.takeError()
  }

  protected startConnect(addr: SocketAddress): number {
    if (this.state === 'connected') return -Errno.EISCONN
    if (this.state === 'connecting') return -Errno.EALREADY
    if (this.closed) return -Errno.EBADF
    if (this.state !== 'idle' && this.state !== 'bound') return -Errno.EINVAL
    const wrong = this.checkAddress(addr)
    if (wrong < 0) return wrong
    try {
      const id = this.makeId()
      this.state = 'connecting'
      id.resolveAddr(undefined, addr)
    } catch (error) {
      this.state = 'failed'
      this.dropId()
      return this.caught(error)
    }
    this.hold()
    this.hub!.pump()
    // What could not even be tried fails at once.
    return (this.state as State) === 'failed' ? this.takeError() : -Errno.EINPROGRESS
  }

  protected make(id: CmId): void {
    this.stream = new Stream(id, this.options, this)
    this.connection = this.stream.connection
    this.patience = new Patience(this.stream, this.hub!, this.options)
  }

  cmEvent(event: CmEvent): void {
    try {
      this.handleCm(event)
    } catch (error) {
      const { errno, message } = errnoOf(error)
      this.connectFailed(errno, message)
    }
    if (this.watches.size > 0) heat(this)
  }

  private handleCm({ type, id, status, param }: CmEvent): void {
    const where = this.peerText()
    switch (type) {
      case CmEventType.ConnectRequest:
        this.arrive({ type, id, status, param } as CmEvent)
        break
      case CmEventType.AddrResolved:
        id.resolveRoute()
        break
      case CmEventType.RouteResolved:
        this.make(id)
        id.connect({ ...connectionParam, privateData: this.stream!.privateData })
        break
      case CmEventType.Established:
        this.established(param.privateData)
        break
      case CmEventType.AddrError:
      case CmEventType.RouteError:
        this.connectFailed(Errno.EHOSTUNREACH, `no RDMA device leads to ${where}`)
        break
      case CmEventType.Unreachable:
        this.connectFailed(Errno.ETIMEDOUT, `${where} does not answer`)
        break
      case CmEventType.Rejected:
        this.connectFailed(Errno.ECONNREFUSED, `${where} refused the connection (reason ${status})`)
        break
      case CmEventType.ConnectError:
        this.connectFailed(Errno.ECONNREFUSED, `the connection to ${where} could not be made (status ${status})`)
        break
      case CmEventType.Disconnected:
        this.disconnected()
        break
      default:
    }
  }

  protected peerText(): string {
    const peer = this.id?.peerAddress
    return peer === undefined ? 'the peer' : `${peer.address} port ${peer.port}`
  }

  protected established(privateData: Uint8Array): void {
    const listener = this.listener
    if (this.state !== 'connecting') return
    if (!this.stream!.start(listener === undefined ? privateData : this.requestData)) {
      countProtocolError('badConnData')
      this.connectFailed(Errno.EPROTO, `${this.peerText()} does not speak version 1 of rsockets`)
      return
    }
    this.state = 'connected'
    this.hold()
    if (this.options.keepAlive) this.startKeepAlive()
    if (listener === undefined) return
    listener.arriving.delete(this)
    listener.accepted.push(this)
    if (listener.watches.size > 0) heat(listener)
  }

  protected connectFailed(errno: number, reason: string): void {
    if (this.state === 'connected') {
      this.connection!.end(errno, reason)
      return
    }
    if (this.state !== 'connecting') return
    this.why = reason
    this.pendingError = errno
    if (this.listener !== undefined) this.abandon()
    else {
      this.state = 'failed'
      this.release()
      this.hold()
    }
  }

  /** The one who listens expects this connection no more. */
  protected left(): void {
    const listener = this.listener
    if (listener !== undefined) listener.arriving.delete(this)
  }

  /** Of an arriving connection that comes to nothing. */
  protected abandon(): void {
    this.left()
    this.state = 'closed'
    this.release()
  }

  /** The peer's connection manager says that it is over: by now all that the peer sent has come. */
  protected disconnected(): void {
    const { connection } = this
    if (this.state === 'connecting') this.connectFailed(Errno.ECONNRESET, 'the peer ended the connection')
    if (connection === null || (this.state !== 'connected' && this.state !== 'closing')) return
    connection.process()
    connection.peerLeft = true
    if (this.state === 'closing') heat(this)
    connection.end(Errno.ECONNRESET, 'the peer is gone without a goodbye')
  }

  protected dropId(): void {
    this.id?.close()
    this.id = undefined
    this.hub?.release()
    this.hub = undefined
  }

  /** Gives everything of the device back. */
  protected release(): void {
    this.heldDrop()
    this.lastCounters = this.connection?.counters
    this.mappings?.close()
    this.id?.close()
    this.id = undefined
    this.stream?.close()
    this.stream = null
    this.connection = null
    this.patience = null
    this.hub?.release()
    this.hub = undefined
  }

  // --- readiness ---------------------------------------------------------------------------------------------------

  poll(events: number): number {
    if (this.connection !== null) {
      this.connection.process()
      this.connection.reap()
    } else if (this.state === 'connecting' || this.state === 'listening') this.hub!.pump()
    return this.ready() & (events | POLLERR | POLLHUP)
  }

  protected ready(): number {
    switch (this.state) {
      case 'listening':
        return this.accepted.length > 0 ? POLLIN : 0
      case 'failed':
        return POLLIN | POLLOUT | POLLHUP | (this.pendingError !== 0 ? POLLERR : 0)
      case 'connected': {
        const connection = this.connection!
        let ready = 0
        if (connection.readableBytes > 0 || !connection.readable) ready |= POLLIN
        if (!connection.writable || connection.writableBytes >= Math.min(lowWater, connection.memory.sendBytes >> 1))
          ready |= POLLOUT
        if (!connection.open) ready |= POLLHUP
        if (connection.error !== 0) ready |= POLLERR
        return ready
      }
      default:
        return 0
    }
  }

  watch(events: number, callback: (revents: number) => void): Watch {
    const watch = this.watches.add(events, callback)
    heat(this)
    return watch
  }

  turn(): boolean {
    const { connection } = this
    if (connection === null) {
      return this.watches.size > 0 && this.watches.call(this.ready())
    }
    const messages = connection.process()
    connection.reap()
    if (this.state === 'closing') {
      if (this.goodbye()) this.finish()
      return false
    }
    const called = this.watches.size > 0 && this.watches.call(this.ready())
    return called || messages > 0
  }

  arm(): boolean {
    const { connection } = this
    if (connection === null) return false
    connection.arm()
    return connection.process() > 0 || (this.state === 'closing' && this.goodbye())
  }

  /** For `rpoll`: from now on the one that is returned wakes up for this socket; null if nobody does. */
  prepareSleep(): { sleep(ms: number): void } | null {
    if (this.connection !== null && this.state === 'connected') {
      this.connection.arm()
      return this.stream!.adapter
    }
    return this.hub ?? null
  }

  /** Sees to it that the right one gives this socket time in the event loop: the device, or connection management. */
  protected hold(): void {
    const wanted = this.watches.size > 0 || this.state === 'closing'
    const by = !wanted
      ? null
      : this.stream !== null && this.state !== 'connecting'
        ? this.stream.adapter
        : this.heldHub()
    const ref = this.state === 'closing' || this.watches.held
    if (by === this.heldBy && ref === this.heldRef) return
    this.heldDrop()
    this.heldBy = by
    this.heldRef = ref
    if (by instanceof Hub) by.follow(ref)
    else if (by !== null) {
      by.addMember(ref)
      // It may have been hot, and then no event tells of what comes.
      heat(this)
    }
  }

  protected heldHub(): Hub | null {
    return this.state === 'connecting' || this.state === 'listening' ? this.hub! : null
  }

  protected heldDrop(): void {
    const by = this.heldBy
    this.heldBy = null
    if (by instanceof Hub) by.unfollow(this.heldRef)
    else by?.dropMember(this, this.heldRef)
  }
}
