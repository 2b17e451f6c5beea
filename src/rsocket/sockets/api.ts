/**
 * Calls of rsocket.h by their names. Each takes the socket where C takes a descriptor, and returns what C returns, but
 * an error is its number, negative, instead of −1 and errno.
 */
import {
  AF_INET,
  AF_INET6,
  Errno,
  F_SETFL,
  IPPROTO_TCP,
  IPPROTO_UDP,
  O_NONBLOCK,
  SOCK_DGRAM,
  SOCK_NONBLOCK,
  SOCK_STREAM,
} from '../protocol/index.ts'
import type { SocketAddress } from '../runtime/index.ts'
import { DatagramSocket } from './datagram.ts'
import { RSocketError } from './errors.ts'
import { StreamSocket } from './socket.ts'
import type { RDatagram, RSocket, RSocketLike, RSocketOptions } from './types.ts'

/**
 * Makes a socket: AF_INET or AF_INET6, SOCK_STREAM or SOCK_DGRAM, perhaps with SOCK_NONBLOCK. Throws an RSocketError with
 * EAFNOSUPPORT or EPROTONOSUPPORT.
 */
export function rsocket(family: number, type: typeof SOCK_DGRAM, protocol?: number, options?: RSocketOptions): RDatagram
export function rsocket(family: number, type: number, protocol?: number, options?: RSocketOptions): RSocket
export function rsocket(family: number, type: number, protocol = 0, options: RSocketOptions = {}): RSocket | RDatagram {
  if (family !== AF_INET && family !== AF_INET6)
    throw new RSocketError(Errno.EAFNOSUPPORT, 'rsocket', `the family is AF_INET or AF_INET6, not ${family}`)
  const kind = type & ~SOCK_NONBLOCK
  const known = kind === SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP
  if ((kind !== SOCK_STREAM && kind !== SOCK_DGRAM) || (protocol !== 0 && protocol !== known))
    throw new RSocketError(
      Errno.EPROTONOSUPPORT,
      'rsocket',
      `there is no socket of type ${type} and protocol ${protocol}`,
    )
  const socket = kind === SOCK_DGRAM ? new DatagramSocket(family, options) : new StreamSocket(family, options)
  if ((type & SOCK_NONBLOCK) !== 0) socket.fcntl(F_SETFL, O_NONBLOCK)
  return socket
}

export function rbind(s: RSocketLike, addr: SocketAddress): number {
  return s.bind(addr)
}

export function rlisten(s: RSocketLike, backlog?: number): number {
  return s.listen(backlog)
}

/** Returns the new socket, or a negative error number. `getpeername` returns its peer. */
export function raccept(s: RSocketLike): RSocketLike | number {
  return s.accept()
}

export function rconnect(s: RSocketLike, addr: SocketAddress): number {
  return s.connect(addr)
}

export function rshutdown(s: RSocketLike, how: number): number {
  return s.shutdown(how)
}

export function rclose(s: RSocketLike): number {
  return s.close()
}

export function rsend(s: RSocketLike, buffer: Uint8Array, flags = 0): number {
  return s.send(buffer, flags)
}

export function rrecv(s: RSocketLike, buffer: Uint8Array, flags = 0): number {
  return s.recv(buffer, flags)
}

export function rwrite(s: RSocketLike, buffer: Uint8Array): number {
  return s.send(buffer)
}

export function rread(s: RSocketLike, buffer: Uint8Array): number {
  return s.recv(buffer)
}

export function rwritev(s: RSocketLike, buffers: readonly Uint8Array[]): number {
  return s.sendv(buffers)
}

export function rreadv(s: RSocketLike, buffers: readonly Uint8Array[]): number {
  return s.recvv(buffers)
}

/** `struct msghdr`: an address, for datagrams, and buffers. There is no ancillary data. */
export interface Message {
  name?: SocketAddress
  iov: readonly Uint8Array[]
}

export function rsendmsg(s: RSocketLike, message: Message, flags = 0): number {
  if (message.name !== undefined) return rsendto(s, joined(message.iov), flags, message.name)
  return s.sendv(message.iov, flags)
}

export function rrecvmsg(s: RSocketLike, message: Message, flags = 0): number {
  return s.recvv(message.iov, flags)
}

function joined(buffers: readonly Uint8Array[]): Uint8Array {
  return buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers)
}

/** Sends to an address. On a stream the address is ignored, unless the socket is not connected. */
export function rsendto(s: RSocketLike, buffer: Uint8Array, flags: number, addr?: SocketAddress): number {
  return addr !== undefined && s.sendto !== undefined ? s.sendto(buffer, flags, addr) : s.send(buffer, flags)
}

/** Receives with the sender's address. On a stream `from` becomes the peer's address. */
export function rrecvfrom(s: RSocketLike, buffer: Uint8Array, flags: number, from?: Partial<SocketAddress>): number {
  if (s.recvfrom !== undefined) return s.recvfrom(buffer, flags, from)
  const n = s.recv(buffer, flags)
  const peer = from === undefined ? undefined : s.getpeername()
  if (typeof peer === 'object') Object.assign(from!, peer)
  return n
}

export function rgetpeername(s: RSocketLike): Required<SocketAddress> | number {
  return s.getpeername()
}

export function rgetsockname(s: RSocketLike): Required<SocketAddress> | number {
  return s.getsockname()
}

export function rsetsockopt(
  s: RSocketLike,
  level: number,
  name: number,
  value: number | { onoff: number; linger: number },
): number {
  return s.setsockopt(level, name, value)
}

export function rgetsockopt(s: RSocketLike, level: number, name: number): number {
  return s.getsockopt(level, name)
}

export function rfcntl(s: RSocketLike, command: number, value = 0): number {
  return s.fcntl(command, value)
}

export function riomap(s: RSocketLike, buffer: Uint8Array, protection: number, flags = 0, offset = -1): number {
  return s.riomap(buffer, protection, flags, offset)
}

export function riounmap(s: RSocketLike, buffer: Uint8Array): number {
  return s.riounmap(buffer)
}

export function riowrite(s: RSocketLike, buffer: Uint8Array, offset: number, flags = 0): number {
  return s.riowrite(buffer, offset, flags)
}
