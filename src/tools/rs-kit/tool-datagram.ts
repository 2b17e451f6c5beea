/** Datagram socket of udpong: an rsocket, or one of the kernel (`-T s`), for the same loops. */
import { isIPv6 } from 'node:net'
import { KernelSocket } from '../../memory/index.ts'
import {
  AF_INET,
  AF_INET6,
  F_SETFL,
  O_NONBLOCK,
  type RDatagram,
  rpoll,
  rsocket,
  SO_RCVBUF,
  SO_SNDBUF,
  SOCK_DGRAM,
  SOL_SOCKET,
} from '../../rsocket/index.ts'
import { EndError } from '../kit/index.ts'
import { bytesOf, errorText, type SocketKind } from './tool-socket.ts'

export interface ToolDatagram {
  send(bytes: Uint8Array, flags: number): number
  recv(bytes: Uint8Array, flags: number): number
  /** Receives a datagram of any sender, to which `reply` then sends. */
  receive(bytes: Uint8Array, flags: number): number
  reply(bytes: Uint8Array, flags: number): number
  /** Returns the address of the sender of the last received datagram. */
  sender(): string
  /** Waits in this thread; returns those of `events` that are true, 0 after the timeout. */
  poll(events: number, timeoutMs: number): number
  reason(): string
  close(): void
}

export interface DatagramOptions {
  bufferBytes: number
  blocking: boolean
}

class RdmaDatagram implements ToolDatagram {
  readonly #socket: RDatagram
  readonly #fds: { fd: RDatagram; events: number; revents: number }[]
  readonly #from = { address: '', port: 0 }

  constructor(socket: RDatagram) {
    this.#socket = socket
    this.#fds = [{ fd: socket, events: 0, revents: 0 }]
  }

  send(bytes: Uint8Array, flags: number): number {
    return this.#socket.send(bytes, flags)
  }

  recv(bytes: Uint8Array, flags: number): number {
    return this.#socket.recv(bytes, flags)
  }

  receive(bytes: Uint8Array, flags: number): number {
    return this.#socket.recvfrom(bytes, flags, this.#from)
  }

  reply(bytes: Uint8Array, flags: number): number {
    return this.#socket.sendto(bytes, flags, this.#from)
  }

  sender(): string {
    return this.#from.address
  }

  poll(events: number, timeoutMs: number): number {
    const [one] = this.#fds
    one!.events = events
    return rpoll(this.#fds, timeoutMs) > 0 ? one!.revents : 0
  }

  reason(): string {
    return this.#socket.reason
  }

  close(): void {
    if (!this.#socket.closed) this.#socket.close()
  }
}

class KernelDatagram implements ToolDatagram {
  readonly #socket: KernelSocket
  readonly #from: Uint8Array = new Uint8Array(32)

  constructor(socket: KernelSocket) {
    this.#socket = socket
  }

  send(bytes: Uint8Array, flags: number): number {
    return this.#socket.send(bytes, flags)
  }

  recv(bytes: Uint8Array, flags: number): number {
    return this.#socket.recv(bytes, flags)
  }

  receive(bytes: Uint8Array, flags: number): number {
    return this.#socket.recvFrom(bytes, flags, this.#from)
  }

  reply(bytes: Uint8Array, flags: number): number {
    return this.#socket.sendTo(bytes, flags, this.#from)
  }

  sender(): string {
    return this.#socket.nameOf(this.#from)
  }

  poll(events: number, timeoutMs: number): number {
    return this.#socket.poll(events, timeoutMs)
  }

  reason(): string {
    return ''
  }

  close(): void {
    this.#socket.close()
  }
}

/** Opens a socket that is bound to `own`, or connected to `peer`, or both. Throws EndError. */
export function openDatagram(
  { kernel, device }: SocketKind,
  own: { address: string; port: number } | undefined,
  peer: { address: string; port: number } | undefined,
  { bufferBytes, blocking }: DatagramOptions,
): ToolDatagram {
  const six = isIPv6((own ?? peer)!.address)
  const failed = (what: string, result: number, reason: string): EndError =>
    new EndError('SOCKET', `${what}: ${reason || errorText(result)}`)
  if (kernel) {
    const socket = KernelSocket.open({ family: six ? 6 : 4, datagrams: true, blocking })
    socket.setOption(SOL_SOCKET, SO_SNDBUF, bufferBytes)
    socket.setOption(SOL_SOCKET, SO_RCVBUF, bufferBytes)
    if (own !== undefined) socket.bind(bytesOf(own.address), own.port)
    const connected = peer === undefined ? 0 : socket.connect(bytesOf(peer.address), peer.port)
    if (connected !== 0) throw failed(`cannot reach ${peer!.address}`, connected, '')
    return new KernelDatagram(socket)
  }
  const socket = rsocket(six ? AF_INET6 : AF_INET, SOCK_DGRAM, 0, device === undefined ? {} : { device })
  socket.setsockopt(SOL_SOCKET, SO_SNDBUF, bufferBytes)
  socket.setsockopt(SOL_SOCKET, SO_RCVBUF, bufferBytes)
  socket.fcntl(F_SETFL, blocking ? 0 : O_NONBLOCK)
  const bound = own === undefined ? 0 : socket.bind(own)
  const connected = peer === undefined || bound !== 0 ? 0 : socket.connect(peer)
  if (bound === 0 && connected === 0) return new RdmaDatagram(socket)
  const { reason } = socket
  socket.close()
  throw bound !== 0
    ? failed(`cannot bind to ${own!.address} port ${own!.port}`, bound, reason)
    : failed(`cannot reach ${peer!.address}`, connected, reason)
}
