/** Interface that `Sockets` needs of a UDP socket: implemented with the C library, under middleware, and with node:dgram. */
export interface PacketSocket {
  readonly fd: number
  readonly family: 4 | 6
  /** True if the kernel segments the data of one call, so that identifications count from 0. */
  readonly segmentation: boolean

  /** Sends packets, see `UdpSocket.send`: returns the bytes that were sent, or a negated errno. */
  send(at: number, length: number, segmentBytes: number, destination: number): number
  destination(address: Uint8Array, port: number): number
  /** Makes the indices that `destination` has returned void. */
  forgetDestinations(): void
  setTrafficClass(value: number): void
  setHopLimit(value: number): void
  setMulticastInterface(interfaceIndex: number): void

  /** Receives packets; see `UdpSocket.receive`, and the fields that it fills. */
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
