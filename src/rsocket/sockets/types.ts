/**
 * The interfaces of rsockets for layers above: what all have, then what only streams (socket.ts) and only datagrams
 * (datagram.ts) have.
 *
 * Calls that do the network's work return a number: zero or more if all went well, else an error number of the system,
 * negative (`-Errno.EAGAIN`). They throw only for misuse: arguments of a wrong type. A blocking socket (the default, as in
 * C) waits in the calling thread and is for worker threads; in the event loop set `O_NONBLOCK`, or use the promise forms
 * and `watch`, which never block whatever the socket's mode.
 */
import type { Context } from '../../verbs/index.ts'
import type { RSocketCounters } from '../protocol/index.ts'
import type { SocketAddress, Watch } from '../runtime/index.ts'

export interface RSocketOptions {
  /**
   * The device, or its name; without it the environment's VERBENA_DEVICE, else `roce`: the device that has the address.
   * Sockets of one thread share what can be shared of a device.
   */
  device?: string | Context
}

export interface RSocketLike extends Disposable {
  /** AF_INET or AF_INET6. */
  readonly family: number
  /** SOCK_STREAM or SOCK_DGRAM. */
  readonly type: number
  readonly closed: boolean
  /** Why the connection ended, in words; empty while all is well. */
  readonly reason: string

  bind(addr: SocketAddress): number
  /** Starts listening; `backlog` connections wait for `accept`. */
  listen(backlog?: number): number
  /** The next connection, or a negative error number (`-EAGAIN` if none waits). */
  accept(): RSocketLike | number
  /** 0, or `-EINPROGRESS` on a non-blocking socket: writable when it is done, `getsockopt(SO_ERROR)` says how it ended. */
  connect(addr: SocketAddress): number

  /** Bytes that were taken; `-EAGAIN` if none could be. The memory is the caller's again when this returns. */
  send(buffer: Uint8Array, flags?: number): number
  /** Bytes that were received into the start of `buffer`; 0 when the peer has shut down or closed. */
  recv(buffer: Uint8Array, flags?: number): number
  /** The same with several buffers, taken or filled in order. */
  sendv(buffers: readonly Uint8Array[], flags?: number): number
  recvv(buffers: readonly Uint8Array[], flags?: number): number
  /** Only datagram sockets have these two. */
  sendto?(buffer: Uint8Array, flags: number, addr: SocketAddress): number
  recvfrom?(buffer: Uint8Array, flags: number, from?: Partial<SocketAddress>): number
  /** Bytes that `recv` would give at once, as far as is known: `poll`, a watch and a `recv` that finds nothing look. */
  readonly readableBytes: number
  /** Bytes that `send` would take at once. */
  readonly writableBytes: number
  /** Bytes that were taken by `send` and have not reached the peer's memory yet. */
  readonly pendingBytes: number

  /** `how` is SHUT_RD, SHUT_WR or SHUT_RDWR. After SHUT_WR the peer receives what was sent, then 0. */
  shutdown(how: number): number
  /**
   * Ends the connection. What was sent is delivered first, in the background (SO_LINGER limits for how long). Receiving
   * is over at once.
   */
  close(): number

  /** Which of `events` (POLLIN, POLLOUT) are true now, and POLLHUP and POLLERR whatever was asked for. Never waits. */
  poll(events: number): number
  /**
   * Calls back from the event loop while any of `events`, POLLHUP or POLLERR is true: once a turn, until it is stopped, as
   * with a level-triggered epoll. Stop it while the program does not want to read or write. Several watches may be set at a time.
   */
  watch(events: number, callback: (revents: number) => void): Watch

  /** The peer's address, or `-ENOTCONN`. */
  getpeername(): Required<SocketAddress> | number
  getsockname(): Required<SocketAddress> | number
  setsockopt(level: number, name: number, value: number | { onoff: number; linger: number }): number
  /** The value; errors are negative. SO_LINGER gives 0 where it is off, else 1 + seconds. */
  getsockopt(level: number, name: number): number
  /** F_GETFL, F_SETFL (O_NONBLOCK), F_GETFD, F_SETFD. */
  fcntl(command: number, value?: number): number

  /**
   * Lets the peer write into `buffer` with `riowrite` at `offset` (−1: at the buffer's own address); returns the offset.
   * The buffer must lie in memory of the device: `alloc`.
   */
  riomap(buffer: Uint8Array, protection: number, flags?: number, offset?: number): number
  riounmap(buffer: Uint8Array): number
  /** Writes into the peer's mapped memory at `offset`; bytes that were taken. The peer gets no notice. */
  riowrite(buffer: Uint8Array, offset: number, flags?: number): number
  /** Memory that the device reaches: what is sent from it is not copied on the way into the device. */
  alloc(bytes: number): Uint8Array

  // Promise forms: they wait in the event loop and reject with an RSocketError that has Node's `code`.
  acceptAsync(): Promise<RSocketLike>
  connectAsync(addr: SocketAddress): Promise<void>
  /** Resolves when all of `buffer` was taken. */
  sendAsync(buffer: Uint8Array): Promise<number>
  /** Resolves with 1 byte or more, or 0 at the end of the stream. */
  recvAsync(buffer: Uint8Array): Promise<number>

  counters(): RSocketCounters
}

/** A stream socket: `rsocket(AF_INET, SOCK_STREAM)`. */
export interface RSocket extends RSocketLike {
  /** Whether both ends are Verbena's and use more than version 1. */
  readonly extended: boolean
  accept(): RSocket | number
  acceptAsync(): Promise<RSocket>
}

/** A datagram socket: `rsocket(AF_INET, SOCK_DGRAM)`. */
export interface RDatagram extends RSocketLike {
  sendto(buffer: Uint8Array, flags: number, addr: SocketAddress): number
  /** The next datagram; `from` becomes the sender's address. What does not fit into `buffer` is lost, as with UDP. */
  recvfrom(buffer: Uint8Array, flags: number, from?: Partial<SocketAddress>): number
  /** The promise form of `recvfrom`. */
  recvfromAsync(buffer: Uint8Array, from?: Partial<SocketAddress>): Promise<number>
}
