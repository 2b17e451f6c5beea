/** Properties that the network layer reports about a packet: its source and destination, and the marks that routers may have set on it. */
export class Origin {
  /** GIDs as four words each, in memory order; IPv4 as ::ffff:a.b.c.d. */
  readonly source: Int32Array = new Int32Array(4)
  readonly destination: Int32Array = new Int32Array(4)
  readonly sourceBytes: Uint8Array = new Uint8Array(this.source.buffer)
  readonly destinationBytes: Uint8Array = new Uint8Array(this.destination.buffer)
  ipv4 = true
  /** TOS or traffic class, with the two ECN bits. */
  trafficClass = 0
  hopLimit = 64
}
