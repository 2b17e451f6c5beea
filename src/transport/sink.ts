/** Where packets go: the transport writes them into memory that the device offers, the device sends them. */
export interface PacketSink {
  /**
   * Room for the next packet, of `lengthBytes` from BTH to the end of the pad: a byte offset in the segment, or −1 when the
   * device can take none now. `av` is the word of the address vector that says where it goes, `sourceGid` the index in
   * the GID table of where it comes from. With `markable` false a congested switch may not mark it, whatever is usual for others.
   */
  open(av: number, lengthBytes: number, markable?: boolean): number
  /** The packet that `open` made room for stands there. */
  close(lengthBytes: number): void
}
