/** UDP socket of a datagram rsocket, in the thread of the UDP service. */
import { Errno, encodeUdpHeader, type SocketOptions, type UdpOp, udpHeaderBytes } from '../protocol/index.ts'
import { type SocketAddress, type UdpOwner, UdpService } from '../runtime/index.ts'
import type { Peer } from './datagram-peers.ts'
import type { DatagramQp } from './datagram-qp.ts'

/** Maximum length of a UDP datagram. */
const longestUdp = 65_507
/** Maximum length of a datagram over UDP that librdmacm takes, with its header. */
const longestForeign = 2048
/** Mark in the reserved byte of the UDP header: a Verbena end takes longer datagrams over UDP than librdmacm. */
const mark = 0x56

/** True if a datagram over UDP comes from an end that is not Verbena's. */
export function isForeign(datagram: Uint8Array): boolean {
  return datagram[7] !== mark
}

/** Returns the bytes that may wait for the program: as many as it may read late, and at least two of the longest datagrams. */
function limitOf(options: SocketOptions): number {
  return Math.max(options.stream.receiveBufferBytes, 2 * longestUdp)
}

export class UdpEnd {
  readonly name: Required<SocketAddress>
  readonly #service: UdpService
  readonly #id: number

  private constructor(service: UdpService, id: number, name: Required<SocketAddress>) {
    this.#service = service
    this.#id = id
    this.name = name
  }

  /** Binds a UDP socket, or returns the reason why it cannot. */
  static bind(
    owner: UdpOwner,
    addr: SocketAddress,
    family: 4 | 6,
    options: SocketOptions,
  ): UdpEnd | { errno: number; text: string } {
    const service = UdpService.get()
    if (!(service instanceof UdpService)) return service
    const { reuseAddr, v6Only, broadcast } = options
    const flags = { reuse: reuseAddr, v6Only }
    const bound = service.bind(owner, family, addr.address, addr.port, flags, limitOf(options))
    if ('errno' in bound) return bound
    const { address } = addr
    const end = new UdpEnd(service, bound.id, { address, port: bound.port, family: family === 6 ? 'IPv6' : 'IPv4' })
    if (broadcast) end.setBroadcast(true)
    return end
  }

  /** Sends data, or only the number of the own queue pair, to a peer. Returns `-EMSGSIZE` if it is too long. */
  send(peer: Peer, qp: DatagramQp, op: (typeof UdpOp)[keyof typeof UdpOp], data: Uint8Array): number {
    if (data.length + udpHeaderBytes(qp.address) > (peer.foreign ? longestForeign : longestUdp)) return -Errno.EMSGSIZE
    const header = encodeUdpHeader({ op, qpn: qp.qpn, address: qp.address })
    header[7] = mark
    const bytes = new Uint8Array(header.length + data.length)
    bytes.set(header)
    bytes.set(data, header.length)
    this.#service.send(this.#id, bytes, peer.address, peer.port)
    return data.length
  }

  setLimits(options: SocketOptions): void {
    this.#service.setLimit(this.#id, limitOf(options))
  }

  setBroadcast(on: boolean): void {
    this.#service.setBroadcast(this.#id, on)
  }

  /** Takes the datagrams that have arrived, for all sockets of the thread. */
  pump(): void {
    this.#service.pump()
  }

  /** Blocks until something may have arrived, at most `ms`, and takes the datagrams. */
  sleep(ms: number): void {
    this.#service.sleep(ms)
  }

  /** Keeps the process alive until `unhold`. */
  hold(): void {
    this.#service.hold()
  }

  unhold(): void {
    this.#service.unhold()
  }

  close(): void {
    this.#service.close(this.#id)
  }
}
