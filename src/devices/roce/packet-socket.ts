/** What `Sockets` needs of a UDP socket: that of the C library has it, one under middleware, and one of node:dgram. */
export interface PacketSocket {
  readonly fd: number
  readonly family: 4 | 6
  /** Whether the kernel cuts what one call sends, so that identifications count from 0. */
  readonly segmentation: boolean

  /** See `UdpSocket.send`: bytes that were sent, or a negated errno. */
  send(at: number, length: number, segmentBytes: number, destination: number): number
  destination(address: Uint8Array, port: number): number
  /** The indices that `destination` has given are void. */
  forgetDestinations(): void
  setTrafficClass(value: number): void
  setHopLimit(value: number): void
  setMulticastInterface(interfaceIndex: number): void

  /** See `UdpSocket.receive`, and the fields that it fills. */
  receive(at: number, capacity: number): number
  readonly segmentBytes: number
  readonly trafficClass: number
  readonly hopLimit: number
  readonly truncated: boolean
  readonly sourcePort: number
  readonly source: Uint8Array
  readonly sourceWords: Uint32Array
  readonly kernelDrops: number

  close(): void
}
