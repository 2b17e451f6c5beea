/** A stream socket: sending and receiving, options and names, mapped buffers, promises, and closing. */
import {
  AF_INET6,
  Counters,
  changesKeepAlive,
  Errno,
  F_GETFD,
  F_GETFL,
  F_SETFD,
  F_SETFL,
  getOption,
  Mappings,
  MSG_DONTWAIT,
  MSG_PEEK,
  MSG_WAITALL,
  O_NONBLOCK,
  O_RDWR,
  POLLIN,
  POLLOUT,
  PROT_WRITE,
  type RSocketCounters,
  SHUT_RD,
  SHUT_RDWR,
  SHUT_WR,
  SO_ACCEPTCONN,
  SO_ERROR,
  SO_LINGER,
  SO_TYPE,
  SOL_SOCKET,
  setOption,
} from '../protocol/index.ts'
import { activate, named, type SocketAddress, Wanted } from '../runtime/index.ts'
import { RSocketError } from './errors.ts'
import { rejection, whenDone, whenReady } from './promises.ts'
import { Sharing } from './sharing-socket.ts'
import type { RSocket } from './types.ts'

/** Maximum time for sent data to arrive after `close`, unless SO_LINGER sets another. */
const closeMs = 10_000
/** Bytes below which copying is cheaper than looking up whether the memory is registered. */
const directBytes = 4096
/** Bytes from which on a direct send pays on devices that this thread drives, where it waits for the peer's acknowledgement. */
const directBytesDriven = 1 << 18

export class StreamSocket extends Sharing implements RSocket {
  // --- data --------------------------------------------------------------------------------------------------------

  send(buffer: Uint8Array, flags = 0): number {
    return this.sendFrom(buffer, 0, (flags & MSG_DONTWAIT) !== 0 || this.nonBlocking)
  }

  protected sendFrom(buffer: Uint8Array, from: number, nonBlocking: boolean): number {
    const { connection } = this
    const length = buffer.length - from
    if (connection === null || this.state !== 'connected') return this.notConnected()
    if (this.mappings?.pending === true && !this.tellMappings(nonBlocking)) return this.sendError()
    if (length >= directBytes && !nonBlocking && this.own?.io.hasBlocks === true) {
      const { io } = this.own
      const lkey = length >= (io.driven ? directBytesDriven : directBytes) ? io.lkeyOf(buffer) : -1
      if (lkey >= 0) return this.sendDirect(buffer, lkey)
    }
    let taken = connection.send(buffer, from, length)
    while (taken < length && connection.writable) {
      connection.process()
      const n = connection.send(buffer, from + taken, length - taken)
      taken += n
      if (n === 0 && (nonBlocking || !this.waiter!.wait(Wanted.Write))) break
    }
    if (taken === 0 && nonBlocking) this.waiter?.attend()
    return taken > 0 || length === 0 ? taken : this.sendError()
  }

  protected sendDirect(buffer: Uint8Array, lkey: number): number {
    const connection = this.connection!
    const { byteOffset, length } = buffer
    let taken = 0
    while (taken < length && connection.writable) {
      const n = connection.sendDirect(byteOffset + taken, lkey, length - taken)
      taken += n
      if (n === 0) this.waiter!.wait(Wanted.Write)
    }
    // The memory is the caller's again when this returns.
    const last = connection.lastPosted
    while (!connection.isDone(last)) this.waiter!.wait(Wanted.Done)
    return taken > 0 ? taken : this.sendError()
  }

  protected sendError(): number {
    const { connection } = this
    if (connection === null) return this.notConnected()
    if (connection.error !== 0) return -connection.error
    if (connection.writable) return -Errno.EAGAIN
    return connection.closedHere ? -Errno.EPIPE : -Errno.ECONNRESET
  }

  protected notConnected(): number {
    if (this.closed) return -Errno.EBADF
    if (this.state === 'failed' && this.pendingError !== 0) return this.takeError()
    return this.state === 'connecting' ? -Errno.EAGAIN : -Errno.ENOTCONN
  }

  recv(buffer: Uint8Array, flags = 0): number {
    const { connection } = this
    if (connection === null || this.state !== 'connected') return this.notConnected()
    const peek = (flags & MSG_PEEK) !== 0
    const { length } = buffer
    let taken = connection.recv(buffer, 0, length, peek)
    const enough = (flags & MSG_WAITALL) !== 0 && !peek ? length : Math.min(1, length)
    while (taken < enough) {
      const n = connection.process() > 0 ? connection.recv(buffer, taken, length - taken, peek) : 0
      taken += n
      if (n > 0) continue
      if (!connection.readable) return taken > 0 ? taken : this.endOfStream()
      if ((flags & MSG_DONTWAIT) !== 0 || this.nonBlocking) {
        if (taken === 0) this.waiter?.attend()
        return taken > 0 ? taken : -Errno.EAGAIN
      }
      this.waiter!.wait(Wanted.Read)
      taken += connection.recv(buffer, taken, length - taken, peek)
    }
    return taken
  }

  protected endOfStream(): number {
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
      // Only the first buffer is waited for.
      const n = this.recv(buffer, sum > 0 && (flags & MSG_WAITALL) === 0 ? flags | MSG_DONTWAIT : flags)
      if (n < 0) return sum > 0 ? sum : n
      sum += n
      if (n < buffer.length) break
    }
    return sum
  }

  get readableBytes(): number {
    return this.connection?.readableBytes ?? 0
  }

  get writableBytes(): number {
    return this.connection?.writableBytes ?? 0
  }

  get pendingBytes(): number {
    const { connection } = this
    if (connection === null) return 0
    connection.process()
    connection.reap()
    if (connection.pendingBytes > 0) connection.flush()
    return connection.pendingBytes
  }

  // --- the end -----------------------------------------------------------------------------------------------------

  shutdown(how: number): number {
    const { connection } = this
    if (how !== SHUT_RD && how !== SHUT_WR && how !== SHUT_RDWR) return -Errno.EINVAL
    if (connection === null || this.state !== 'connected') return this.closed ? -Errno.EBADF : -Errno.ENOTCONN
    if (how === SHUT_RDWR) connection.disconnect()
    else if (how === SHUT_WR) connection.shutdownWrite()
    else connection.shutdownRead()
    return 0
  }

  close(): number {
    if (this.closed) return -Errno.EBADF
    const { connection } = this
    const state = this.state
    for (const socket of [...this.accepted.splice(0), ...this.arriving]) socket.close()
    this.stopKeepAlive?.()
    this.state = 'closing'
    if (this.watches.size > 0) this.watches.clear()
    if (state !== 'connected' || connection === null) {
      this.left()
      this.finish()
      return 0
    }
    connection.process()
    // As with TCP: a peer whose data will never be read gets a reset, after all that was sent to it.
    this.resets = connection.readableBytes > 0
    const { lingerSeconds } = this.options
    // Data sent before SHUT_RDWR must still arrive; a peer that has closed takes nothing more.
    const over = !connection.open && (!connection.closedHere || connection.settled)
    if (over || lingerSeconds === 0) {
      // With a linger of 0, unsent data is discarded, and the peer gets a reset.
      this.finish()
      return 0
    }
    const limitMs = lingerSeconds > 0 ? lingerSeconds * 1000 : closeMs
    if (this.goodbye()) this.finish()
    else if (this.nonBlocking) {
      this.deadline = setTimeout(() => this.finish(), limitMs)
      this.hold()
      activate(this)
    } else {
      const end = performance.now() + limitMs
      while (!this.goodbye() && performance.now() < end) this.waiter!.wait(Wanted.Done, end)
      this.finish()
    }
    return 0
  }

  /** True if the socket was closed with data of the peer unread. */
  private resets = false

  /** Notifies the peer that this end closes; returns true when that and all data before it has arrived, or never will. */
  protected goodbye(): boolean {
    const connection = this.connection!
    // Without this message the end of the connection is a reset.
    if (this.resets) connection.flush()
    else connection.disconnect()
    connection.process()
    connection.reap()
    return connection.settled
  }

  protected finish(): void {
    if (this.state === 'closed') return
    this.state = 'closed'
    clearTimeout(this.deadline)
    // Closing the id disconnects.
    this.connection?.end(0, 'closed')
    this.release()
  }

  /** Closes at the end of the thread, as a kernel closes the sockets of a process. */
  override farewell(): boolean {
    if (this.state !== 'connected' && this.state !== 'closing') return true
    if (this.state === 'connected') {
      this.connection!.process()
      this.resets = this.readableBytes > 0
    }
    // The carrier of a trunk's stream ends without a reset, so the stream is reset here.
    if (this.resets && this.own === null) this.connection!.end(Errno.ECONNRESET, 'the process ended')
    this.trunk?.process()
    return this.goodbye()
  }

  protected another(): StreamSocket {
    return new StreamSocket(this.family, this.device === undefined ? {} : { device: this.device })
  }

  accept(): StreamSocket | number {
    return this.nextAccepted() as StreamSocket | number
  }

  [Symbol.dispose](): void {
    if (!this.closed) this.close()
  }

  // --- names and options -------------------------------------------------------------------------------------------

  getpeername(): Required<SocketAddress> | number {
    if (this.names !== undefined && this.state === 'connected') return { ...this.names.peer }
    const peer = this.state === 'connected' ? this.id?.peerAddress : undefined
    return peer === undefined ? -Errno.ENOTCONN : named(peer)
  }

  getsockname(): Required<SocketAddress> | number {
    if (this.closed) return -Errno.EBADF
    if (this.names !== undefined) return { ...this.names.own }
    if (this.id !== undefined) return named(this.id.localAddress)
    const six = this.family === AF_INET6
    return { address: six ? '::' : '0.0.0.0', port: 0, family: six ? 'IPv6' : 'IPv4' }
  }

  setsockopt(level: number, name: number, value: number | { onoff: number; linger: number }): number {
    if (this.closed) return -Errno.EBADF
    if (typeof value === 'object' && (level !== SOL_SOCKET || name !== SO_LINGER)) return -Errno.EINVAL
    const number = typeof value === 'object' ? (value.onoff !== 0 ? value.linger : -1) : value
    const result = setOption(this.options, level, name, number)
    if (result === 0 && this.state === 'connected' && changesKeepAlive(level, name)) this.startKeepAlive()
    return result
  }

  getsockopt(level: number, name: number): number {
    if (this.closed) return -Errno.EBADF
    if (level === SOL_SOCKET) {
      if (name === SO_TYPE) return this.type
      if (name === SO_ACCEPTCONN) return this.state === 'listening' ? 1 : 0
      if (name === SO_ERROR) return this.pendingError !== 0 ? -this.takeError() : (this.connection?.error ?? 0)
    }
    return getOption(this.options, level, name)
  }

  fcntl(command: number, value = 0): number {
    if (this.closed) return -Errno.EBADF
    switch (command) {
      case F_GETFL:
        return O_RDWR | (this.nonBlocking ? O_NONBLOCK : 0)
      case F_SETFL:
        this.nonBlocking = (value & O_NONBLOCK) !== 0
        return 0
      case F_GETFD:
        return this.descriptorFlags
      case F_SETFD:
        this.descriptorFlags = value
        return 0
      default:
        return -Errno.EINVAL
    }
  }

  // --- mapped buffers ----------------------------------------------------------------------------------------------

  riomap(buffer: Uint8Array, protection: number, flags = 0, offset = -1): number {
    if (this.state !== 'connected') return this.notConnected()
    if ((protection & ~PROT_WRITE) !== 0 || flags !== 0) return -Errno.EINVAL
    if (!Number.isSafeInteger(offset) || offset < -1) return -Errno.EINVAL
    const { mapped } = this.connection!
    if (mapped === null) return this.failWith(Errno.EOPNOTSUPP, 'a stream that shares a queue pair maps no buffers')
    this.mappings ??= new Mappings(this.stream!.io.pd)
    try {
      const at = this.mappings.map(buffer, (protection & PROT_WRITE) !== 0, offset, mapped)
      return (
        at ?? this.failWith(Errno.ENOMEM, 'the peer has no more entries for mapped buffers: set its RDMA_IOMAPSIZE')
      )
    } catch (error) {
      return this.caught(error)
    }
  }

  riounmap(buffer: Uint8Array): number {
    if (this.state !== 'connected') return this.notConnected()
    return this.mappings?.unmap(buffer) === true ? 0 : -Errno.EINVAL
  }

  /** Sends the peer the mappings; in C they travel with the next data too. */
  protected tellMappings(nonBlocking: boolean): boolean {
    const connection = this.connection!
    const mapped = connection.mapped!
    while (!this.mappings!.sendPending(mapped)) {
      connection.process()
      if (!connection.writable || nonBlocking) return this.mappings!.sendPending(mapped)
      this.waiter!.wait(Wanted.Control)
    }
    return true
  }

  riowrite(buffer: Uint8Array, offset: number, flags = 0): number {
    const { connection } = this
    if (connection === null || this.state !== 'connected') return this.notConnected()
    const nonBlocking = (flags & MSG_DONTWAIT) !== 0 || this.nonBlocking
    if (this.mappings?.pending === true && !this.tellMappings(nonBlocking)) return this.sendError()
    const { mapped } = connection
    if (mapped === null) return -Errno.EOPNOTSUPP
    let taken = 0
    while (taken < buffer.length && connection.writable) {
      const n = mapped.write(buffer, taken, buffer.length - taken, offset + taken)
      if (n < 0) return taken > 0 ? taken : -Errno.EFAULT
      taken += n
      if (n > 0) continue
      connection.process()
      if (nonBlocking) break
      this.waiter!.wait(Wanted.Space)
    }
    return taken > 0 || buffer.length === 0 ? taken : this.sendError()
  }

  alloc(bytes: number): Uint8Array {
    if (this.stream === null)
      throw new RSocketError(Errno.ENOTCONN, 'alloc', 'connect first: the connection chooses the device')
    return this.stream.io.alloc(bytes)
  }

  // --- promises ----------------------------------------------------------------------------------------------------

  async acceptAsync(): Promise<StreamSocket> {
    for (;;) {
      const socket = this.tryAccept()
      if (typeof socket !== 'number') return socket as StreamSocket
      if (socket !== -Errno.EAGAIN) throw rejection(this, socket, 'accept')
      await whenReady(this, POLLIN)
    }
  }

  async connectAsync(addr: SocketAddress): Promise<void> {
    let result = this.startConnect(addr)
    if (result === -Errno.EINPROGRESS) {
      await whenReady(this, POLLOUT)
      result = this.takeError()
    }
    if (result >= 0) return
    const error = rejection(this, result, 'connect')
    error.address = addr.address
    error.port = addr.port
    throw error
  }

  async sendAsync(buffer: Uint8Array): Promise<number> {
    for (let taken = 0; taken < buffer.length; ) {
      const n = this.sendFrom(buffer, taken, true)
      if (n > 0) taken += n
      else if (n === -Errno.EAGAIN) await whenReady(this, POLLOUT)
      else throw rejection(this, n, 'send')
    }
    return buffer.length
  }

  recvAsync(buffer: Uint8Array): Promise<number> {
    return whenDone(this, POLLIN, 'recv', () => this.recv(buffer, MSG_DONTWAIT))
  }

  counters(): RSocketCounters {
    return { ...(this.connection?.counters ?? this.lastCounters ?? new Counters()) }
  }
}
