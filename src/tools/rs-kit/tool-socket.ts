/**
 * Socket of the programs on rsockets: an rsocket, or one of the kernel (`-T s`), for the same loops. Calls return a count,
 * or an error number, negative; only opening throws.
 */
import { isIPv6 } from 'node:net'
import { constants } from 'node:os'
import { KernelSocket } from '../../memory/index.ts'
import {
  AF_INET,
  AF_INET6,
  errnoText,
  F_SETFL,
  IPPROTO_TCP,
  O_NONBLOCK,
  POLLOUT,
  RDMA_INLINE,
  RDMA_IOMAPSIZE,
  type RSocket,
  rpoll,
  rsocket,
  SHUT_RDWR,
  SO_ERROR,
  SO_KEEPALIVE,
  SO_RCVBUF,
  SO_REUSEADDR,
  SO_SNDBUF,
  SOCK_STREAM,
  SOL_RDMA,
  SOL_SOCKET,
  TCP_KEEPIDLE,
  TCP_NODELAY,
} from '../../rsocket/index.ts'
import { EndError, hostAddress } from '../kit/index.ts'

export interface ToolSocket {
  send(bytes: Uint8Array, flags: number): number
  recv(bytes: Uint8Array, flags: number): number
  /** Waits in this thread; returns those of `events` that are true, 0 after the timeout. */
  poll(events: number, timeoutMs: number): number
  accept(): ToolSocket | number
  setOptions(options: SocketSettings): void
  /** Returns the address of the peer, where it is known. */
  peer(): string
  /** Returns the reason why the connection ended, in words; empty if there is none. */
  reason(): string
  shutdown(): void
  close(): void
  /** Underlying rsocket; undefined for a socket of the kernel. */
  readonly rsocket: RSocket | undefined
}

/** Socket options that the originals set before they connect or listen, and on accepted sockets. */
export interface SocketSettings {
  /** Bytes of the send and receive buffer. */
  bufferBytes: number
  /** Bytes that are sent inline; undefined: the default of the socket. */
  inlineBytes?: number | undefined
  /** Number of buffers that the peer may map. */
  mappings?: number | undefined
  /** Seconds of silence until a keepalive. */
  keepAliveSeconds?: number | undefined
  blocking: boolean
}

export interface SocketKind {
  /** True to use sockets of the kernel instead of rsockets. */
  kernel: boolean
  device?: string | undefined
}

const { EINPROGRESS, EAGAIN, ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH } = constants.errno

export function isEagain(result: number): boolean {
  return result === -EAGAIN
}

/** Returns an error number in words. */
export function errorText(result: number): string {
  return errnoText(result)
}

export function isRefused(result: number): boolean {
  return result === -ECONNREFUSED
}

/** True for errors which indicate that no process listens yet. */
export function isNobody(result: number): boolean {
  return result === -ECONNREFUSED || result === -ETIMEDOUT || result === -EHOSTUNREACH
}

class RdmaToolSocket implements ToolSocket {
  readonly rsocket: RSocket
  readonly #fds: { fd: RSocket; events: number; revents: number }[]

  constructor(socket: RSocket) {
    this.rsocket = socket
    this.#fds = [{ fd: socket, events: 0, revents: 0 }]
  }

  send(bytes: Uint8Array, flags: number): number {
    return this.rsocket.send(bytes, flags)
  }

  recv(bytes: Uint8Array, flags: number): number {
    return this.rsocket.recv(bytes, flags)
  }

  poll(events: number, timeoutMs: number): number {
    const [one] = this.#fds
    one!.events = events
    return rpoll(this.#fds, timeoutMs) > 0 ? one!.revents : 0
  }

  accept(): ToolSocket | number {
    const socket = this.rsocket.accept()
    return typeof socket === 'number' ? socket : new RdmaToolSocket(socket)
  }

  setOptions({ bufferBytes, inlineBytes, mappings, keepAliveSeconds, blocking }: SocketSettings): void {
    const s = this.rsocket
    s.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    s.setsockopt(SOL_SOCKET, SO_SNDBUF, bufferBytes)
    s.setsockopt(SOL_SOCKET, SO_RCVBUF, bufferBytes)
    s.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    if (inlineBytes !== undefined) s.setsockopt(SOL_RDMA, RDMA_INLINE, inlineBytes)
    if (mappings !== undefined) s.setsockopt(SOL_RDMA, RDMA_IOMAPSIZE, mappings)
    if (keepAliveSeconds !== undefined) {
      s.setsockopt(IPPROTO_TCP, TCP_KEEPIDLE, keepAliveSeconds)
      s.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
    }
    s.fcntl(F_SETFL, blocking ? 0 : O_NONBLOCK)
  }

  peer(): string {
    const name = this.rsocket.getpeername()
    return typeof name === 'number' ? '' : name.address
  }

  reason(): string {
    return this.rsocket.reason
  }

  shutdown(): void {
    this.rsocket.shutdown(SHUT_RDWR)
  }

  close(): void {
    if (this.rsocket.closed) return
    // Returns when all sent data has arrived.
    this.rsocket.fcntl(F_SETFL, 0)
    this.rsocket.close()
  }
}

class KernelToolSocket implements ToolSocket {
  readonly rsocket: undefined
  readonly #socket: KernelSocket

  constructor(socket: KernelSocket) {
    this.#socket = socket
  }

  send(bytes: Uint8Array, flags: number): number {
    return this.#socket.send(bytes, flags)
  }

  recv(bytes: Uint8Array, flags: number): number {
    return this.#socket.recv(bytes, flags)
  }

  poll(events: number, timeoutMs: number): number {
    return this.#socket.poll(events, timeoutMs)
  }

  accept(): ToolSocket | number {
    const socket = this.#socket.accept()
    return typeof socket === 'number' ? socket : new KernelToolSocket(socket)
  }

  setOptions({ bufferBytes, keepAliveSeconds }: SocketSettings): void {
    this.#socket.setOption(SOL_SOCKET, SO_SNDBUF, bufferBytes)
    this.#socket.setOption(SOL_SOCKET, SO_RCVBUF, bufferBytes)
    this.#socket.setOption(IPPROTO_TCP, TCP_NODELAY, 1)
    if (keepAliveSeconds === undefined) return
    this.#socket.setOption(IPPROTO_TCP, TCP_KEEPIDLE, keepAliveSeconds)
    this.#socket.setOption(SOL_SOCKET, SO_KEEPALIVE, 1)
  }

  peer(): string {
    return this.#socket.peer()
  }

  reason(): string {
    return ''
  }

  shutdown(): void {
    this.#socket.shutdown(SHUT_RDWR)
  }

  close(): void {
    this.#socket.close()
  }
}

/** Returns the IP address of a host; undefined stands for all addresses of this one. */
export async function resolveHost(host: string | undefined): Promise<string> {
  return host === undefined ? '0.0.0.0' : await hostAddress(host)
}

/** Returns the 4 or 16 bytes of an address. */
export function bytesOf(address: string): Uint8Array {
  if (!isIPv6(address)) return Uint8Array.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const groups = (text: string | undefined): number[] =>
    text === undefined || text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [left, right] = [groups(head), groups(tail)]
  const all = [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 255]))
}

function failed(what: string, socket: ToolSocket, result: number): EndError {
  return new EndError('SOCKET', `${what}: ${socket.reason() || errorText(result)}`)
}

/** Opens a socket that listens. Throws EndError. */
export function listenOn(
  { kernel, device }: SocketKind,
  address: string,
  port: number,
  options: SocketSettings,
): ToolSocket {
  const what = `cannot listen on ${address} port ${port}`
  if (kernel) {
    const socket = KernelSocket.open({ family: isIPv6(address) ? 6 : 4, blocking: options.blocking })
    try {
      socket.bind(bytesOf(address), port)
      socket.listen(1)
      return new KernelToolSocket(socket)
    } catch (error) {
      socket.close()
      throw error
    }
  }
  const socket = new RdmaToolSocket(newRsocket(address, device))
  socket.setOptions(options)
  const bound = socket.rsocket.bind({ address, port })
  const result = bound === 0 ? socket.rsocket.listen(1) : bound
  if (result === 0) return socket
  const error = failed(what, socket, result)
  socket.close()
  throw error
}

function newRsocket(address: string, device: string | undefined): RSocket {
  const family = isIPv6(address) ? AF_INET6 : AF_INET
  return rsocket(family, SOCK_STREAM, 0, device === undefined ? {} : { device })
}

/** Returns a connected socket, or the error number of the attempt and the reason. */
export function connectTo(
  { kernel, device }: SocketKind,
  destination: { address: string; port: number },
  source: string | undefined,
  options: SocketSettings,
  wait: (socket: ToolSocket) => void,
): ToolSocket | { result: number; reason: string } {
  const { address, port } = destination
  const raw = kernel ? KernelSocket.open({ family: isIPv6(address) ? 6 : 4, blocking: options.blocking }) : undefined
  const socket = raw === undefined ? new RdmaToolSocket(newRsocket(address, device)) : new KernelToolSocket(raw)
  try {
    socket.setOptions(options)
    if (source !== undefined) {
      if (raw !== undefined) raw.bind(bytesOf(source), 0)
      else {
        const bound = socket.rsocket!.bind({ address: source, port: 0 })
        if (bound !== 0) throw failed(`cannot bind to ${source}`, socket, bound)
      }
    }
    let result = raw === undefined ? socket.rsocket!.connect(destination) : raw.connect(bytesOf(address), port)
    if (result === -EINPROGRESS) {
      wait(socket)
      result = raw === undefined ? -socket.rsocket!.getsockopt(SOL_SOCKET, SO_ERROR) : -raw.takeError()
    }
    if (result === 0) return socket
    const reason = socket.reason() || errorText(result)
    socket.close()
    return { result, reason }
  } catch (error) {
    socket.close()
    throw error
  }
}

/** Events to poll for while a connection is being established. */
export const connectEvents: number = POLLOUT
