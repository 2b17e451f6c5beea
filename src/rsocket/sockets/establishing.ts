/**
 * Connection establishment of stream sockets.
 *
 *     idle ─ bind ─ bound ─ listen ─ listening ─ accept ─┐
 *       └────────── connect ─ connecting ────────────────┴─ connected ─ close ─ closing ─ closed
 *                                └─ failed
 */
import { type CmEvent, CmEventType, type CmId, PortSpace } from '../../cm/index.ts'
import { AF_INET6, countDrop, countProtocolError, decodeConnData, Errno, Feature } from '../protocol/index.ts'
import {
  activate,
  addressError,
  type CmOwner,
  CmService,
  connectionParam,
  hasClosed,
  notAnAddress,
  type SocketAddress,
  Stream,
} from '../runtime/index.ts'
import { errnoOf } from './errors.ts'
import { Ready, type State } from './readiness.ts'

/** Backlog of `listen` without a number. */
const defaultBacklog = 511

/** Rejects a request, unless it was accepted already or the device has no memory for the message: then the peer's timers end it. */
function tryReject(id: CmId): void {
  try {
    id.reject()
  } catch {
    // Whatever the error was, the id is closed next.
  }
}

export abstract class Establishing extends Ready implements CmOwner {
  protected backlog: number = defaultBacklog
  /** Connections that wait for `accept`, and those that are being made; the `listener` of the latter is this socket. */
  protected readonly accepted: Establishing[] = []
  protected readonly arriving: Set<Establishing> = new Set()
  protected listener: Establishing | undefined
  protected requestData: Uint8Array = new Uint8Array(0)

  /** Makes a socket of the same kind for a connection that arrives. */
  protected abstract another(): Establishing

  /** Makes a trunk of a connection that the peer requested as one, which is then not for `accept`. Returns false if it is not a trunk. */
  protected abstract becomesTrunk(listener: Establishing): boolean

  protected get acceptable(): number {
    return this.accepted.length
  }

  /** True if the connections that wait for `accept` or are being made have reached the backlog. */
  protected get acceptQueueFull(): boolean {
    return this.accepted.length + this.arriving.size >= this.backlog
  }

  // --- addresses and listening -------------------------------------------------------------------------------------

  protected checkAddress(addr: SocketAddress): number {
    const error = addressError(this.family, addr)
    return error === -Errno.EINVAL ? this.failWith(Errno.EINVAL, notAnAddress(addr.address)) : error
  }

  protected makeId(): CmId {
    this.cm ??= CmService.acquire(this.device)
    if (this.id === undefined) {
      this.id = this.cm.channel.createId(PortSpace.Tcp, { context: this })
      if (this.options.reuseAddr) this.id.setOption('reuseAddr', true)
      if (this.options.reusePort !== 0) this.id.setOption('reusePort', this.options.reusePort)
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

  /** Returns the next connection; waits for it if the socket blocks. */
  protected nextAccepted(): Establishing | number {
    const socket = this.tryAccept()
    if (socket !== -Errno.EAGAIN || this.nonBlocking) return socket
    while (this.accepted.length === 0) this.cm!.sleep(Number.POSITIVE_INFINITY)
    return this.accepted.shift()!
  }

  protected tryAccept(): Establishing | number {
    if (this.state !== 'listening') return this.closed ? -Errno.EBADF : -Errno.EINVAL
    if (this.accepted.length === 0) this.cm!.pump()
    return this.accepted.shift() ?? -Errno.EAGAIN
  }

  /** Handles a connection request of a peer of this listener. */
  protected arrive(event: CmEvent): void {
    const { id, param } = event
    const data = decodeConnData(param.privateData)
    if (typeof data === 'string' || this.acceptQueueFull) {
      if (typeof data === 'string') countProtocolError('badConnData')
      else countDrop('connectionsRefused')
      tryReject(id)
      id.close()
      return
    }
    const socket = this.another()
    socket.options = this.options.inherit()
    // A peer that requests a trunk gets one.
    socket.options.stream.share = ((data.extension?.features ?? 0) & Feature.Trunk) !== 0
    socket.cm = CmService.acquire(this.device)
    socket.id = id
    socket.listener = this
    socket.state = 'connecting'
    socket.requestData = param.privateData
    id.context = socket
    this.arriving.add(socket)
    try {
      socket.make(id)
      id.accept({ ...connectionParam, privateData: socket.own!.privateData })
    } catch (error) {
      // Resources are exhausted: the peer is rejected, and existing connections go on.
      socket.caught(error)
      countDrop('connectionsRefused')
      tryReject(id)
      socket.abandon()
    }
  }

  // --- connecting --------------------------------------------------------------------------------------------------

  connect(addr: SocketAddress): number {
    const result = this.startConnect(addr)
    if (result !== -Errno.EINPROGRESS || this.nonBlocking) return result
    while (this.state === 'connecting') {
      this.opening?.process()
      if ((this.state as State) === 'connecting') this.cm!.sleep(this.opening === null ? Number.POSITIVE_INFINITY : 1)
    }
    return this.takeError()
  }

  protected startConnect(addr: SocketAddress): number {
    if (this.state === 'connected') return -Errno.EISCONN
    if (this.state === 'connecting') return -Errno.EALREADY
    if (this.closed) return -Errno.EBADF
    if (this.state !== 'idle' && this.state !== 'bound') return -Errno.EINVAL
    const wrong = this.checkAddress(addr)
    if (wrong < 0) return wrong
    return this.begin(addr)
  }

  protected begin(addr: SocketAddress): number {
    return this.connectPlain(addr)
  }

  connectPlain(addr: SocketAddress): number {
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
    this.cm!.pump()
    // A connect that cannot be attempted fails at once.
    return (this.state as State) === 'failed' ? this.takeError() : -Errno.EINPROGRESS
  }

  protected make(id: CmId): void {
    this.own = Stream.for(id, this.options, this)
    this.stream = this.own
    this.connection = this.own.connection
  }

  cmEvent(event: CmEvent): void {
    try {
      this.handleCm(event)
    } catch (error) {
      const { errno, message } = errnoOf(error)
      this.connectFailed(errno, message)
    }
    if (this.watches.size > 0) activate(this)
  }

  private handleCm(event: CmEvent): void {
    const { type, id, status, param } = event
    const where = this.peerText()
    switch (type) {
      case CmEventType.ConnectRequest:
        this.arrive(event)
        break
      case CmEventType.AddrResolved:
        id.resolveRoute()
        break
      case CmEventType.RouteResolved:
        this.make(id)
        id.connect({ ...connectionParam, privateData: this.own!.privateData })
        break
      case CmEventType.Established:
        this.established(param.privateData)
        break
      case CmEventType.AddrError:
        if (status === -Errno.ENETUNREACH) {
          this.connectFailed(Errno.ENETUNREACH, `this host has no route to ${where}`)
          break
        }
        this.connectFailed(Errno.EHOSTUNREACH, `no RDMA device leads to ${where}`)
        break
      case CmEventType.RouteError:
        this.connectFailed(Errno.EHOSTUNREACH, `no RDMA device leads to ${where}`)
        break
      case CmEventType.Unreachable:
        this.connectFailed(Errno.ETIMEDOUT, `${where} does not answer`)
        break
      case CmEventType.Rejected:
        this.connectFailed(Errno.ECONNREFUSED, `${where} refused the connection (${event.statusText})`)
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
    if (!this.own!.start(listener === undefined ? privateData : this.requestData)) {
      countProtocolError('badConnData')
      this.connectFailed(Errno.EPROTO, `${this.peerText()} does not speak version 1 of rsockets`)
      return
    }
    this.becomeConnected(this.own!)
    this.onSettled?.(0)
    if (listener === undefined) return
    listener.arriving.delete(this)
    if (this.becomesTrunk(listener)) return
    listener.accepted.push(this)
    if (listener.watches.size > 0) activate(listener)
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
      this.onSettled?.(errno)
    }
  }

  /** Removes this connection from those that the listener expects. */
  protected left(): void {
    const listener = this.listener
    if (listener !== undefined) listener.arriving.delete(this)
  }

  /** Abandons an arriving connection. */
  protected abandon(): void {
    this.left()
    this.state = 'closed'
    this.release()
  }

  /** Handles the disconnect by the peer's connection manager: all data that the peer sent has arrived by now. */
  protected disconnected(): void {
    const { connection } = this
    if (this.state === 'connecting') this.connectFailed(Errno.ECONNRESET, 'the peer ended the connection')
    if (connection === null || (this.state !== 'connected' && this.state !== 'closing')) return
    connection.process()
    connection.peerLeft = true
    if (this.state === 'closing') activate(this)
    connection.end(Errno.ECONNRESET, 'the peer ended without disconnecting')
  }

  protected dropId(): void {
    this.id?.close()
    this.id = undefined
    this.cm?.release()
    this.cm = undefined
  }

  /** Releases all resources of the device. */
  protected release(): void {
    hasClosed(this)
    this.heldDrop()
    // Streams of other sockets on this connection end before its resources are released.
    this.trunk?.end(this.connection?.error ?? 0, this.reason)
    this.trunk = null
    this.lastCounters = this.connection?.counters
    this.mappings?.close()
    this.id?.close()
    this.id = undefined
    this.stream?.close()
    this.stream = null
    this.own = null
    this.connection = null
    this.waiter = null
    this.cm?.release()
    this.cm = undefined
  }
}
