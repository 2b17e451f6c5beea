/**
 * A stream socket: `rsocket(AF_INET, SOCK_STREAM)`.
 *
 *     idle ─ bind ─ bound ─ listen ─ listening ─ accept ─┐
 *       └────────── connect ─ connecting ────────────────┴─ connected ─ close ─ closing ─ closed
 *
 * See types.ts for what each call does.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { type CmEvent, CmEventType, type CmId, type CmSocketAddress, PortSpace } from '../cm/index.ts'
import type { Adapter } from './adapter.ts'
import { decodeConnData } from './conn-data.ts'
import type { StreamConnection } from './connection.ts'
import {
  AF_INET6,
  Errno,
  F_GETFD,
  F_GETFL,
  F_SETFD,
  F_SETFL,
  MSG_DONTWAIT,
  MSG_PEEK,
  MSG_WAITALL,
  O_NONBLOCK,
  O_RDWR,
  POLLERR,
  POLLHUP,
  POLLIN,
  POLLOUT,
  PROT_WRITE,
  SHUT_RD,
  SHUT_RDWR,
  SHUT_WR,
  SO_ACCEPTCONN,
  SO_ERROR,
  SO_LINGER,
  SO_TYPE,
  SOCK_STREAM,
  SOL_SOCKET,
} from './constants.ts'
import { Counters, countProtocolError } from './counters.ts'
import { errnoOf, RSocketError } from './errors.ts'
import { type CmOwner, Hub } from './hub.ts'
import { heat, type Member } from './loop.ts'
import { Mappings } from './mappings.ts'
import { getOption, SocketOptions, setOption } from './socket-options.ts'
import { connectionParam, Stream } from './stream.ts'
import type { RSocketCounters, RSocketLike, RSocketOptions, SocketAddress, Watch } from './types.ts'
import { Patience, Wanted } from './waiting.ts'
import { Watches } from './watches.ts'

type State = 'idle' | 'bound' | 'listening' | 'connecting' | 'connected' | 'failed' | 'closing' | 'closed'

/** Of `listen` without a number. */
const defaultBacklog = 511
/** What was sent has so long to arrive after `close`, unless SO_LINGER says something else. */
const closeMs = 10_000
/** Below this copying is cheaper than looking whether the memory is registered. */
const directBytes = 4096
/** On devices that work in this thread a direct send waits for the peer's acknowledgement: worth it for large ones. */
const directBytesDriven = 1 << 18
/** So much room makes a stream writable to `poll`, as in librdmacm. */
const lowWater = 2048

export class RSocket implements RSocketLike, Member, CmOwner {
  readonly family: number
  readonly type: number = SOCK_STREAM
  readonly #device: RSocketOptions['device']
  #options = new SocketOptions()
  #state: State = 'idle'
  #nonBlocking = false
  #descriptorFlags = 0
  #hub: Hub | undefined
  #id: CmId | undefined
  #error = 0
  #reason = ''
  #backlog = defaultBacklog
  /** Connections that wait for `accept`, and for those under way the one who asked. */
  readonly #accepted: RSocket[] = []
  readonly #arriving = new Set<RSocket>()
  #listener: RSocket | undefined
  #requestData: Uint8Array = new Uint8Array(0)
  readonly #watches: Watches = new Watches(() => this.#hold())
  #heldBy: Hub | Adapter | null = null
  #heldRef = false
  #deadline: NodeJS.Timeout | undefined
  #keepAlive: NodeJS.Timeout | undefined
  #mappings: Mappings | undefined
  #lastCounters: RSocketCounters | undefined
  // Plain fields: these are read with every byte.
  private stream: Stream | null = null
  private connection: StreamConnection | null = null
  private patience: Patience | null = null

  /** Use `rsocket`. */
  constructor(family: number, options: RSocketOptions = {}) {
    this.family = family
    this.#device = options.device
  }

  get closed(): boolean {
    return this.#state === 'closed' || this.#state === 'closing'
  }

  get reason(): string {
    return this.#reason !== '' ? this.#reason : (this.connection?.reason ?? '')
  }

  get adapter(): Adapter | null {
    return this.stream?.adapter ?? null
  }

  /** Whether both ends are Verbena's and use more than version 1. */
  get extended(): boolean {
    return this.connection !== null && !this.connection.foreign
  }

  #fail(errno: number, reason: string): number {
    this.#reason = reason
    return -errno
  }

  #caught(error: unknown): number {
    const { errno, message } = errnoOf(error)
    return this.#fail(errno, message)
  }

  // --- addresses and listening -------------------------------------------------------------------------------------

  #checkAddress(addr: SocketAddress): number {
    if (typeof addr !== 'object' || addr === null || typeof addr.address !== 'string')
      throw new TypeError('addr must be { address, port }')
    const { address } = addr
    const plain = address.split('%', 1)[0]!
    if (this.family === AF_INET6 ? isIPv6(plain) : isIPv4(plain)) return 0
    if (isIPv4(plain) || isIPv6(plain)) return -Errno.EAFNOSUPPORT
    return this.#fail(Errno.EINVAL, `'${address}' is no address: look names up with dns.lookup first`)
  }

  #makeId(): CmId {
    this.#hub ??= Hub.acquire(this.#device)
    if (this.#id === undefined) {
      this.#id = this.#hub.channel.createId(PortSpace.Tcp, { context: this })
      if (this.#options.reuseAddr) this.#id.setOption('reuseAddr', true)
      if (this.#options.v6Only) this.#id.setOption('afOnly', true)
      if (this.#options.tos !== 0) this.#id.setOption('tos', this.#options.tos)
    }
    return this.#id
  }

  bind(addr: SocketAddress): number {
    if (this.#state !== 'idle') return this.#state === 'closed' ? -Errno.EBADF : -Errno.EINVAL
    const wrong = this.#checkAddress(addr)
    if (wrong < 0) return wrong
    try {
      this.#makeId().bindAddr(addr)
    } catch (error) {
      this.#dropId()
      return this.#caught(error)
    }
    this.#state = 'bound'
    return 0
  }

  listen(backlog: number = defaultBacklog): number {
    if (this.#state === 'listening') return 0
    if (this.#state === 'idle') {
      const bound = this.bind({ address: this.family === AF_INET6 ? '::' : '0.0.0.0', port: 0 })
      if (bound < 0) return bound
    }
    if (this.#state !== 'bound') return -Errno.EINVAL
    try {
      this.#backlog = Math.max(1, backlog)
      this.#id!.listen(this.#backlog)
    } catch (error) {
      return this.#caught(error)
    }
    this.#state = 'listening'
    this.#hold()
    return 0
  }

  accept(): RSocket | number {
    const socket = this.#tryAccept()
    if (socket !== -Errno.EAGAIN || this.#nonBlocking) return socket
    while (this.#accepted.length === 0) this.#hub!.sleep(Number.POSITIVE_INFINITY)
    return this.#accepted.shift()!
  }

  #tryAccept(): RSocket | number {
    if (this.#state !== 'listening') return this.closed ? -Errno.EBADF : -Errno.EINVAL
    if (this.#accepted.length === 0) this.#hub!.pump()
    return this.#accepted.shift() ?? -Errno.EAGAIN
  }

  /** A connection that this socket's peer asks for. */
  #arrive(event: CmEvent): void {
    const { id, param } = event
    const data = decodeConnData(param.privateData)
    if (typeof data === 'string' || this.#accepted.length + this.#arriving.size >= this.#backlog) {
      if (typeof data === 'string') countProtocolError('badConnData')
      id.reject()
      id.close()
      return
    }
    const socket = new RSocket(this.family, { device: this.#device! })
    socket.#options = this.#options.inherit()
    socket.#hub = Hub.acquire(this.#device)
    socket.#id = id
    socket.#listener = this
    socket.#state = 'connecting'
    socket.#requestData = param.privateData
    id.context = socket
    this.#arriving.add(socket)
    try {
      socket.#make(id)
      id.accept({ ...connectionParam, privateData: socket.stream!.privateData })
    } catch (error) {
      // Nothing is left for one more: the peer is refused, and those that are there go on.
      socket.#caught(error)
      try {
        id.reject()
      } catch {
        // It was accepted already.
      }
      socket.#abandon()
    }
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  connect(addr: SocketAddress): number {
    const result = this.#startConnect(addr)
    if (result !== -Errno.EINPROGRESS || this.#nonBlocking) return result
    while (this.#state === 'connecting') this.#hub!.sleep(Number.POSITIVE_INFINITY)
    return this.#takeError()
  }

  #startConnect(addr: SocketAddress): number {
    if (this.#state === 'connected') return -Errno.EISCONN
    if (this.#state === 'connecting') return -Errno.EALREADY
    if (this.closed) return -Errno.EBADF
    if (this.#state !== 'idle' && this.#state !== 'bound') return -Errno.EINVAL
    const wrong = this.#checkAddress(addr)
    if (wrong < 0) return wrong
    try {
      const id = this.#makeId()
      this.#state = 'connecting'
      id.resolveAddr(undefined, addr)
    } catch (error) {
      this.#state = 'failed'
      this.#dropId()
      return this.#caught(error)
    }
    this.#hold()
    this.#hub!.pump()
    // What could not even be tried fails at once.
    return (this.#state as State) === 'failed' ? this.#takeError() : -Errno.EINPROGRESS
  }

  #make(id: CmId): void {
    this.stream = new Stream(id, this.#options.stream, this)
    this.connection = this.stream.connection
    this.patience = new Patience(this.stream, this.#hub!, this.#options)
  }

  cmEvent(event: CmEvent): void {
    try {
      this.#cmEvent(event)
    } catch (error) {
      const { errno, message } = errnoOf(error)
      this.#connectFailed(errno, message)
    }
    if (this.#watches.size > 0) heat(this)
  }

  #cmEvent({ type, id, status, param }: CmEvent): void {
    const where = this.#peerText()
    switch (type) {
      case CmEventType.ConnectRequest:
        this.#arrive({ type, id, status, param } as CmEvent)
        break
      case CmEventType.AddrResolved:
        id.resolveRoute()
        break
      case CmEventType.RouteResolved:
        this.#make(id)
        id.connect({ ...connectionParam, privateData: this.stream!.privateData })
        break
      case CmEventType.Established:
        this.#established(param.privateData)
        break
      case CmEventType.AddrError:
      case CmEventType.RouteError:
        this.#connectFailed(Errno.EHOSTUNREACH, `no RDMA device leads to ${where}`)
        break
      case CmEventType.Unreachable:
        this.#connectFailed(Errno.ETIMEDOUT, `${where} does not answer`)
        break
      case CmEventType.Rejected:
        this.#connectFailed(Errno.ECONNREFUSED, `${where} refused the connection (reason ${status})`)
        break
      case CmEventType.ConnectError:
        this.#connectFailed(Errno.ECONNREFUSED, `the connection to ${where} could not be made (status ${status})`)
        break
      case CmEventType.Disconnected:
        this.#disconnected()
        break
      default:
    }
  }

  #peerText(): string {
    const peer = this.#id?.peerAddress
    return peer === undefined ? 'the peer' : `${peer.address} port ${peer.port}`
  }

  #established(privateData: Uint8Array): void {
    const listener = this.#listener
    if (this.#state !== 'connecting') return
    if (!this.stream!.start(listener === undefined ? privateData : this.#requestData)) {
      countProtocolError('badConnData')
      this.#connectFailed(Errno.EPROTO, `${this.#peerText()} does not speak version 1 of rsockets`)
      return
    }
    this.#state = 'connected'
    this.#hold()
    if (this.#options.keepAlive) this.#startKeepAlive()
    if (listener === undefined) return
    listener.#arriving.delete(this)
    listener.#accepted.push(this)
    if (listener.#watches.size > 0) heat(listener)
  }

  #connectFailed(errno: number, reason: string): void {
    if (this.#state === 'connected') {
      this.connection!.end(errno, reason)
      return
    }
    if (this.#state !== 'connecting') return
    this.#reason = reason
    this.#error = errno
    if (this.#listener !== undefined) this.#abandon()
    else {
      this.#state = 'failed'
      this.#release()
      this.#hold()
    }
  }

  /** The one who listens expects this connection no more. */
  #left(): void {
    const listener = this.#listener
    if (listener !== undefined) listener.#arriving.delete(this)
  }

  /** Of an arriving connection that comes to nothing. */
  #abandon(): void {
    this.#left()
    this.#state = 'closed'
    this.#release()
  }

  /** The peer's connection manager says that it is over: by now all that the peer sent has come. */
  #disconnected(): void {
    const { connection } = this
    if (this.#state === 'connecting') this.#connectFailed(Errno.ECONNRESET, 'the peer ended the connection')
    if (connection === null || this.#state !== 'connected') return
    connection.process()
    connection.end(Errno.ECONNRESET, 'the peer is gone without a goodbye')
  }

  #dropId(): void {
    this.#id?.close()
    this.#id = undefined
    this.#hub?.release()
    this.#hub = undefined
  }

  /** Gives everything of the device back. */
  #release(): void {
    this.#heldDrop()
    this.#lastCounters = this.connection?.counters
    this.#mappings?.close()
    this.#id?.close()
    this.#id = undefined
    this.stream?.close()
    this.stream = null
    this.connection = null
    this.patience = null
    this.#hub?.release()
    this.#hub = undefined
  }

  // --- data --------------------------------------------------------------------------------------------------------

  send(buffer: Uint8Array, flags = 0): number {
    return this.#send(buffer, 0, (flags & MSG_DONTWAIT) !== 0 || this.#nonBlocking)
  }

  #send(buffer: Uint8Array, from: number, nonBlocking: boolean): number {
    const { connection } = this
    const length = buffer.length - from
    if (connection === null || this.#state !== 'connected') return this.#notConnected()
    if (this.#mappings?.pending === true && !this.#tellMappings(nonBlocking)) return this.#sendError()
    if (length >= directBytes && !nonBlocking && this.stream!.adapter.hasPieces) {
      const { adapter } = this.stream!
      const lkey = length >= (adapter.driven ? directBytesDriven : directBytes) ? adapter.lkeyOf(buffer) : -1
      if (lkey >= 0) return this.#sendDirect(buffer, lkey)
    }
    let taken = connection.send(buffer, from, length)
    while (taken < length && connection.writable) {
      connection.process()
      const n = connection.send(buffer, from + taken, length - taken)
      taken += n
      if (n === 0 && (nonBlocking || !this.patience!.wait(Wanted.Write))) break
    }
    return taken > 0 || length === 0 ? taken : this.#sendError()
  }

  #sendDirect(buffer: Uint8Array, lkey: number): number {
    const connection = this.connection!
    const { byteOffset, length } = buffer
    let taken = 0
    while (taken < length && connection.writable) {
      const n = connection.sendDirect(byteOffset + taken, lkey, length - taken)
      taken += n
      if (n === 0) this.patience!.wait(Wanted.Write)
    }
    // The memory is the caller's again when this returns.
    const last = connection.lastPosted
    while (!connection.isDone(last)) this.patience!.wait(Wanted.Done)
    return taken > 0 ? taken : this.#sendError()
  }

  #sendError(): number {
    const { connection } = this
    if (connection === null) return this.#notConnected()
    if (connection.error !== 0) return -connection.error
    if (connection.writable) return -Errno.EAGAIN
    return connection.closedHere ? -Errno.EPIPE : -Errno.ECONNRESET
  }

  #notConnected(): number {
    if (this.closed) return -Errno.EBADF
    if (this.#state === 'failed' && this.#error !== 0) return this.#takeError()
    return this.#state === 'connecting' ? -Errno.EAGAIN : -Errno.ENOTCONN
  }

  recv(buffer: Uint8Array, flags = 0): number {
    const { connection } = this
    if (connection === null || this.#state !== 'connected') return this.#notConnected()
    const peek = (flags & MSG_PEEK) !== 0
    const { length } = buffer
    let taken = connection.recv(buffer, 0, length, peek)
    const enough = (flags & MSG_WAITALL) !== 0 && !peek ? length : Math.min(1, length)
    while (taken < enough) {
      const n = connection.process() > 0 ? connection.recv(buffer, taken, length - taken, peek) : 0
      taken += n
      if (n > 0) continue
      if (!connection.readable) return taken > 0 ? taken : this.#endOfStream()
      if ((flags & MSG_DONTWAIT) !== 0 || this.#nonBlocking) return taken > 0 ? taken : -Errno.EAGAIN
      this.patience!.wait(Wanted.Read)
      taken += connection.recv(buffer, taken, length - taken, peek)
    }
    return taken
  }

  #endOfStream(): number {
    const { error } = this.connection!
    return error !== 0 ? -error : 0
  }

  sendv(buffers: readonly Uint8Array[], flags = 0): number {
    let sum = 0
    for (const buffer of buffers) {
      if (buffer.length === 0) continue
      const n = this.send(buffer, flags)
      if (n < 0) return sum > 0 ? sum : n
      sum += n
      if (n < buffer.length) break
    }
    return sum
  }

  recvv(buffers: readonly Uint8Array[], flags = 0): number {
    let sum = 0
    for (const buffer of buffers) {
      if (buffer.length === 0) continue
      // Only the first is waited for.
      const n = this.recv(buffer, sum > 0 && (flags & MSG_WAITALL) === 0 ? flags | MSG_DONTWAIT : flags)
      if (n < 0) return sum > 0 ? sum : n
      sum += n
      if (n < buffer.length) break
    }
    return sum
  }

  get readableBytes(): number {
    this.connection?.process()
    return this.connection?.readableBytes ?? 0
  }

  get writableBytes(): number {
    return this.connection?.writableBytes ?? 0
  }

  get pendingBytes(): number {
    this.connection?.reap()
    return this.connection?.pendingBytes ?? 0
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  shutdown(how: number): number {
    const { connection } = this
    if (how !== SHUT_RD && how !== SHUT_WR && how !== SHUT_RDWR) return -Errno.EINVAL
    if (connection === null || this.#state !== 'connected') return this.closed ? -Errno.EBADF : -Errno.ENOTCONN
    if (how === SHUT_RDWR) connection.disconnect()
    else if (how === SHUT_WR) connection.shutdownWrite()
    else connection.shutdownRead()
    return 0
  }

  close(): number {
    if (this.closed) return -Errno.EBADF
    const { connection } = this
    const state = this.#state
    for (const socket of [...this.#accepted.splice(0), ...this.#arriving]) socket.close()
    clearInterval(this.#keepAlive)
    this.#state = 'closing'
    this.#watches.clear()
    if (state !== 'connected' || connection === null) {
      this.#left()
      this.#finish()
      return 0
    }
    connection.process()
    const { lingerSeconds } = this.#options
    if (!connection.open || lingerSeconds === 0) {
      // With a linger of 0 what was sent is given up, and the peer sees a reset.
      this.#finish()
      return 0
    }
    const limitMs = lingerSeconds > 0 ? lingerSeconds * 1000 : closeMs
    if (this.#goodbye()) this.#finish()
    else if (this.#nonBlocking) {
      this.#deadline = setTimeout(() => this.#finish(), limitMs)
      this.#hold()
      heat(this)
    } else {
      const end = performance.now() + limitMs
      while (!this.#goodbye() && performance.now() < end) this.patience!.wait(Wanted.Done, end)
      this.#finish()
    }
    return 0
  }

  /** Says that this end closes; true when that and all before it has arrived, or never will. */
  #goodbye(): boolean {
    const connection = this.connection!
    connection.disconnect()
    connection.process()
    connection.reap()
    return connection.allSent || connection.error !== 0
  }

  #finish(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    clearTimeout(this.#deadline)
    if (this.connection !== null) {
      this.connection.end(0, 'closed')
      try {
        this.#id?.disconnect()
      } catch {
        // There is no connection any more.
      }
    }
    this.#release()
  }

  [Symbol.dispose](): void {
    if (!this.closed) this.close()
  }

  // --- readiness ---------------------------------------------------------------------------------------------------

  poll(events: number): number {
    if (this.connection !== null) {
      this.connection.process()
      this.connection.reap()
    } else if (this.#state === 'connecting' || this.#state === 'listening') this.#hub!.pump()
    return this.#ready() & (events | POLLERR | POLLHUP)
  }

  #ready(): number {
    switch (this.#state) {
      case 'listening':
        return this.#accepted.length > 0 ? POLLIN : 0
      case 'failed':
        return POLLIN | POLLOUT | POLLHUP | (this.#error !== 0 ? POLLERR : 0)
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
    const watch = this.#watches.add(events, callback)
    heat(this)
    return watch
  }

  turn(): boolean {
    const { connection } = this
    if (connection === null) {
      return this.#watches.size > 0 && this.#watches.call(this.#ready())
    }
    const messages = connection.process()
    connection.reap()
    if (this.#state === 'closing') {
      if (this.#goodbye()) this.#finish()
      return false
    }
    const called = this.#watches.size > 0 && this.#watches.call(this.#ready())
    return called || messages > 0
  }

  arm(): boolean {
    const { connection } = this
    if (connection === null) return false
    connection.arm()
    return connection.process() > 0 || (this.#state === 'closing' && this.#goodbye())
  }

  /** For `rpoll`: from now on the one that is returned wakes up for this socket; null if nobody does. */
  prepareSleep(): { sleep(ms: number): void } | null {
    if (this.connection !== null && this.#state === 'connected') {
      this.connection.arm()
      return this.stream!.adapter
    }
    return this.#hub ?? null
  }

  /** Sees to it that the right one gives this socket time in the event loop: the device, or connection management. */
  #hold(): void {
    const wanted = this.#watches.size > 0 || this.#state === 'closing'
    const by = !wanted
      ? null
      : this.stream !== null && this.#state !== 'connecting'
        ? this.stream.adapter
        : this.#heldHub()
    const ref = this.#state === 'closing' || this.#watches.held
    if (by === this.#heldBy && ref === this.#heldRef) return
    this.#heldDrop()
    this.#heldBy = by
    this.#heldRef = ref
    if (by instanceof Hub) by.follow(ref)
    else if (by !== null) {
      by.addMember(ref)
      // It may have been hot, and then no event tells of what comes.
      heat(this)
    }
  }

  #heldHub(): Hub | null {
    return this.#state === 'connecting' || this.#state === 'listening' ? this.#hub! : null
  }

  #heldDrop(): void {
    const by = this.#heldBy
    this.#heldBy = null
    if (by instanceof Hub) by.unfollow(this.#heldRef)
    else by?.dropMember(this, this.#heldRef)
  }

  // --- names and options -------------------------------------------------------------------------------------------

  getpeername(): Required<SocketAddress> | number {
    const peer = this.#state === 'connected' ? this.#id?.peerAddress : undefined
    return peer === undefined ? -Errno.ENOTCONN : named(peer)
  }

  getsockname(): Required<SocketAddress> | number {
    if (this.closed) return -Errno.EBADF
    if (this.#id !== undefined) return named(this.#id.localAddress)
    const six = this.family === AF_INET6
    return { address: six ? '::' : '0.0.0.0', port: 0, family: six ? 'IPv6' : 'IPv4' }
  }

  #takeError(): number {
    const error = this.#error
    this.#error = 0
    return error === 0 ? 0 : -error
  }

  setsockopt(level: number, name: number, value: number | { onoff: number; linger: number }): number {
    if (this.closed) return -Errno.EBADF
    if (typeof value === 'object' && (level !== SOL_SOCKET || name !== SO_LINGER)) return -Errno.EINVAL
    const number = typeof value === 'object' ? (value.onoff !== 0 ? value.linger : -1) : value
    const result = setOption(this.#options, level, name, number)
    if (result === 0 && this.#state === 'connected') this.#startKeepAlive()
    return result
  }

  getsockopt(level: number, name: number): number {
    if (this.closed) return -Errno.EBADF
    if (level === SOL_SOCKET) {
      if (name === SO_TYPE) return this.type
      if (name === SO_ACCEPTCONN) return this.#state === 'listening' ? 1 : 0
      if (name === SO_ERROR) return this.#error !== 0 ? -this.#takeError() : (this.connection?.error ?? 0)
    }
    return getOption(this.#options, level, name)
  }

  #startKeepAlive(): void {
    clearInterval(this.#keepAlive)
    this.#keepAlive = undefined
    if (!this.#options.keepAlive) return
    const ms = Math.min(this.#options.keepIdleSeconds * 1000, 0x7fffffff)
    this.#keepAlive = setInterval(() => {
      this.connection?.sendKeepalive()
      if (this.#watches.size > 0) heat(this)
    }, ms).unref()
    this.patience!.keepAliveMs = ms
  }

  fcntl(command: number, value = 0): number {
    if (this.closed) return -Errno.EBADF
    switch (command) {
      case F_GETFL:
        return O_RDWR | (this.#nonBlocking ? O_NONBLOCK : 0)
      case F_SETFL:
        this.#nonBlocking = (value & O_NONBLOCK) !== 0
        return 0
      case F_GETFD:
        return this.#descriptorFlags
      case F_SETFD:
        this.#descriptorFlags = value
        return 0
      default:
        return -Errno.EINVAL
    }
  }

  // --- mapped buffers ----------------------------------------------------------------------------------------------

  riomap(buffer: Uint8Array, protection: number, flags = 0, offset = -1): number {
    if (this.#state !== 'connected') return this.#notConnected()
    if ((protection & ~PROT_WRITE) !== 0 || flags !== 0 || !Number.isSafeInteger(offset)) return -Errno.EINVAL
    this.#mappings ??= new Mappings(this.stream!.adapter.pd)
    try {
      const at = this.#mappings.map(buffer, (protection & PROT_WRITE) !== 0, offset, this.connection!.mapped)
      return at ?? this.#fail(Errno.ENOMEM, 'the peer has no more entries for mapped buffers: set its RDMA_IOMAPSIZE')
    } catch (error) {
      return this.#caught(error)
    }
  }

  riounmap(buffer: Uint8Array): number {
    if (this.#state !== 'connected') return this.#notConnected()
    return this.#mappings?.unmap(buffer) === true ? 0 : -Errno.EINVAL
  }

  /** Tells the peer what was mapped; in C it travels with the next data too. */
  #tellMappings(nonBlocking: boolean): boolean {
    const connection = this.connection!
    while (!this.#mappings!.tell(connection.mapped)) {
      connection.process()
      if (!connection.writable || nonBlocking) return this.#mappings!.tell(connection.mapped)
      this.patience!.wait(Wanted.Control)
    }
    return true
  }

  riowrite(buffer: Uint8Array, offset: number, flags = 0): number {
    const { connection } = this
    if (connection === null || this.#state !== 'connected') return this.#notConnected()
    const nonBlocking = (flags & MSG_DONTWAIT) !== 0 || this.#nonBlocking
    if (this.#mappings?.pending === true && !this.#tellMappings(nonBlocking)) return this.#sendError()
    let taken = 0
    while (taken < buffer.length && connection.writable) {
      const n = connection.mapped.write(buffer, taken, buffer.length - taken, offset + taken)
      if (n < 0) return taken > 0 ? taken : -Errno.EFAULT
      taken += n
      if (n > 0) continue
      connection.process()
      if (nonBlocking) break
      this.patience!.wait(Wanted.Space)
    }
    return taken > 0 || buffer.length === 0 ? taken : this.#sendError()
  }

  alloc(bytes: number): Uint8Array {
    if (this.stream === null)
      throw new RSocketError(Errno.ENOTCONN, 'alloc', 'connect first: the connection chooses the device')
    return this.stream.adapter.alloc(bytes)
  }

  // --- promises ----------------------------------------------------------------------------------------------------

  /** Resolves when one of `events` is true. */
  #when(events: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.watch(events, () => {
        stop()
        resolve()
      })
    })
  }

  #asError(errno: number, syscall: string): RSocketError {
    return new RSocketError(errno, syscall, this.reason || undefined)
  }

  async acceptAsync(): Promise<RSocket> {
    for (;;) {
      const socket = this.#tryAccept()
      if (typeof socket !== 'number') return socket
      if (socket !== -Errno.EAGAIN) throw this.#asError(socket, 'accept')
      await this.#when(POLLIN)
    }
  }

  async connectAsync(addr: SocketAddress): Promise<void> {
    let result = this.#startConnect(addr)
    if (result === -Errno.EINPROGRESS) {
      await this.#when(POLLOUT)
      result = this.#takeError()
    }
    if (result >= 0) return
    const error = this.#asError(result, 'connect')
    error.address = addr.address
    error.port = addr.port
    throw error
  }

  async sendAsync(buffer: Uint8Array): Promise<number> {
    for (let taken = 0; taken < buffer.length; ) {
      const n = this.#send(buffer, taken, true)
      if (n > 0) taken += n
      else if (n === -Errno.EAGAIN) await this.#when(POLLOUT)
      else throw this.#asError(n, 'send')
    }
    return buffer.length
  }

  async recvAsync(buffer: Uint8Array): Promise<number> {
    for (;;) {
      const n = this.recv(buffer, MSG_DONTWAIT)
      if (n >= 0) return n
      if (n !== -Errno.EAGAIN) throw this.#asError(n, 'recv')
      await this.#when(POLLIN)
    }
  }

  counters(): RSocketCounters {
    return { ...(this.connection?.counters ?? this.#lastCounters ?? new Counters()) }
  }

  /** Nanoseconds for which a blocking call polls before it sleeps, at present. */
  get spinNs(): number {
    return this.patience?.spinNs ?? 0
  }
}

function named({ address, port, family }: CmSocketAddress): Required<SocketAddress> {
  return { address, port, family: family === 6 ? 'IPv6' : 'IPv4' }
}
