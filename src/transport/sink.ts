/** Destination of packets: the transport writes them into memory that the device offers, the device sends them. */
export interface PacketSink {
  /**
   * Returns room for the next packet, of `lengthBytes` from BTH to the end of the pad: a byte offset in the segment, or −1 when the
   * device can take none now. `av` is the word of the destination's address vector, which also has the index of the source GID. With
   * `markable` false a congested switch may not mark the packet, even if it may mark other packets.
   */
  open(av: number, lengthBytes: number, markable?: boolean): number
  /** Completes the packet that was written to the room of `open`. */
  close(lengthBytes: number): void
}
