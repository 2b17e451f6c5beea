/**
 * Interfaces of rsockets for layers above: members of all, then those of streams only (socket.ts) and of datagrams only
 * (datagram.ts).
 *
 * Calls that use the network return a number: zero or more on success, otherwise an error number of the system,
 * negative (`-Errno.EAGAIN`). They throw only for misuse: arguments of a wrong type. A blocking socket (the default, as in
 * C) waits in the calling thread and is for worker threads; in the event loop set `O_NONBLOCK`, or use the promise forms
 * and `watch`, which never block whatever the socket's mode.
 */
import type { Context } from '../../verbs/index.ts'
import type { RSocketCounters } from '../protocol/index.ts'
import type { SocketAddress, Watch } from '../runtime/index.ts'

export interface RSocketOptions {
  /**
   * Device, or its name; without it VERBENA_DEVICE of the environment, else `roce`: the device that has the address. Sockets of one thread
   * share the resources of a device that can be shared.
   */
  device?: string | Context
}

export interface RSocketLike extends Disposable {
  /** AF_INET or AF_INET6. */
  readonly family: number
  /** SOCK_STREAM or SOCK_DGRAM. */
  readonly type: number
  readonly closed: boolean
  /** Reason for the end of the connection, in words; empty while there is none. */
  readonly reason: string

  bind(addr: SocketAddress): number
  /** Starts listening; `backlog` connections wait for `accept`. */
  listen(backlog?: number): number
  /** Returns the next connection, or a negative error number (`-EAGAIN` if none waits). */
  accept(): RSocketLike | number
  /**
   * Returns 0, or `-EINPROGRESS` on a non-blocking socket: it is writable when the connect is done, and `getsockopt(SO_ERROR)` returns the
   * result.
   */
  connect(addr: SocketAddress): number

  /** Returns the number of bytes taken; `-EAGAIN` if none could be. The memory is the caller's again when this returns. */
  send(buffer: Uint8Array, flags?: number): number
  /** Returns the number of bytes received into the start of `buffer`; 0 when the peer has shut down or closed. */
  recv(buffer: Uint8Array, flags?: number): number
  /** Sends or receives several buffers, taken or filled in order. */
  sendv(buffers: readonly Uint8Array[], flags?: number): number
  recvv(buffers: readonly Uint8Array[], flags?: number): number
  /** Exist on datagram sockets only. */
  sendto?(buffer: Uint8Array, flags: number, addr: SocketAddress): number
  recvfrom?(buffer: Uint8Array, flags: number, from?: Partial<SocketAddress>): number
  /** Bytes that `recv` would return at once, as far as is known: `poll`, a watch and a `recv` that finds nothing update it. */
  readonly readableBytes: number
  /** Bytes that `send` would take at once. */
  readonly writableBytes: number
  /** Bytes that `send` took and that have not reached the peer's memory yet. */
  readonly pendingBytes: number

  /** Shuts down SHUT_RD, SHUT_WR or SHUT_RDWR. After SHUT_WR the peer receives the data sent before, then 0. */
  shutdown(how: number): number
  /** Ends the connection. Sent data is delivered first, in the background (SO_LINGER limits for how long). Receiving is over at once. */
  close(): number

  /** Returns those of `events` (POLLIN, POLLOUT) that are true now, and POLLHUP and POLLERR in any case. Never waits. */
  poll(events: number): number
  /**
   * Calls back from the event loop while any of `events`, POLLHUP or POLLERR is true: once a turn, until it is stopped, as with a
   * level-triggered epoll. Stop it while the program does not want to read or write. Several watches may be set at a time.
   */
  watch(events: number, callback: (revents: number) => void): Watch

  /** Returns the peer's address, or `-ENOTCONN`. */
  getpeername(): Required<SocketAddress> | number
  getsockname(): Required<SocketAddress> | number
  setsockopt(level: number, name: number, value: number | { onoff: number; linger: number }): number
  /** Returns the value; errors are negative. SO_LINGER returns 0 where it is off, else 1 + seconds. */
  getsockopt(level: number, name: number): number
  /** Executes F_GETFL, F_SETFL (O_NONBLOCK), F_GETFD or F_SETFD. */
  fcntl(command: number, value?: number): number

  /**
   * Lets the peer write into `buffer` with `riowrite` at `offset` (−1: at the buffer's own address); returns the offset.
   * The buffer must lie in memory of the device: `alloc`.
   */
  riomap(buffer: Uint8Array, protection: number, flags?: number, offset?: number): number
  riounmap(buffer: Uint8Array): number
  /** Writes into the peer's mapped memory at `offset`; returns the number of bytes taken. The peer gets no notice. */
  riowrite(buffer: Uint8Array, offset: number, flags?: number): number
  /** Allocates memory that the device can access: data sent from it is not copied on the way into the device. */
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
  /** True if both ends are Verbena's and use more than version 1. */
  readonly extended: boolean
  accept(): RSocket | number
  acceptAsync(): Promise<RSocket>
}

/** A datagram socket: `rsocket(AF_INET, SOCK_DGRAM)`. */
export interface RDatagram extends RSocketLike {
  sendto(buffer: Uint8Array, flags: number, addr: SocketAddress): number
  /** Receives the next datagram; `from` becomes the sender's address. The bytes that do not fit into `buffer` are lost, as with UDP. */
  recvfrom(buffer: Uint8Array, flags: number, from?: Partial<SocketAddress>): number
  /** Promise form of `recvfrom`. */
  recvfromAsync(buffer: Uint8Array, from?: Partial<SocketAddress>): Promise<number>
}
