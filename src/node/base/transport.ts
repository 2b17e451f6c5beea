/** Opens the underlying sockets: rsockets (rsockets.ts), unless a test replaces them. */
import type { RSocketLike, RSocketOptions } from '../../rsocket/index.ts'
import { AF_INET, AF_INET6, Errno, F_SETFL, O_NONBLOCK } from '../../rsocket/names.ts'

export type OpenSocket = (family: number, type: number, options: RSocketOptions) => RSocketLike

/** Source of sockets unless a test replaces it. */
export interface Transport {
  readonly open: OpenSocket
  /** Calls back as soon as datagram sockets can be bound without blocking, or with the reason if they cannot. */
  readonly whenDatagramsGo?: (done: (failure?: string) => void) => void
}

let load: () => Transport = () => {
  throw new Error('no transport is loaded')
}
let transport: Transport | undefined

const openOwn: OpenSocket = (family, type, options) => {
  transport ??= load()
  return transport.open(family, type, options)
}
let open: OpenSocket = openOwn

/** Sets the function that loads the transport for the first socket. */
export function loadTransportBy(loader: () => Transport): void {
  load = loader
}

/** Replaces the function that opens sockets; returns the previous one. */
export function replaceTransport(replacement: OpenSocket): OpenSocket {
  const before = open
  open = replacement
  return before
}

/** Opens a non-blocking socket for addresses of the family 4 or 6. Throws if the device cannot be opened. */
export function openSocket(ipFamily: number, type: number, options: RSocketOptions): RSocketLike {
  const socket = open(ipFamily === 6 ? AF_INET6 : AF_INET, type, options)
  socket.fcntl(F_SETFL, O_NONBLOCK)
  return socket
}

/**
 * Returns an address in the form of Node's `address()`; empty if there is none. For a socket of IPv6 an address of IPv4 is written as by
 * the kernel's sockets, ::ffff:a.b.c.d.
 */
export function nodeAddress(
  name: ReturnType<RSocketLike['getsockname']>,
  socketFamily = 0,
): {
  address?: string
  family?: string
  port?: number
} {
  if (typeof name === 'number') return {}
  if (socketFamily === AF_INET6 && name.family === 'IPv4')
    return { address: `::ffff:${name.address}`, family: 'IPv6', port: name.port }
  return { address: name.address, family: name.family, port: name.port }
}

export const again: number = -Errno.EAGAIN

/** Calls back as soon as datagram sockets can be bound without blocking, or with the reason if they cannot. */
export function whenDatagramsGo(done: (failure?: string) => void): void {
  if (open === openOwn) transport ??= load()
  if (open === openOwn && transport?.whenDatagramsGo) transport.whenDatagramsGo(done)
  else done()
}
