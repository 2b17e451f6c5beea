/** A packet passing through middleware: from the BTH to the end of the ICRC, and what the network layer reports about it. */
export class Packet {
  outbound = false
  bytes: Uint8Array = new Uint8Array(0)
  /** Range of the packet in `bytes`: [start, end). */
  start = 0
  end = 0
  /** GIDs, 16 bytes. */
  source: Uint8Array = new Uint8Array(16)
  destination: Uint8Array = new Uint8Array(16)
  sourcePort = 0
  trafficClass = 0
  hopLimit = 0
  /** Identification of the IPv4 header, as derived from the ICRC; −1 if no identification makes the ICRC right. */
  identification = 0
  timeNs = 0
  /** Data of the device: the socket that the packet comes from or goes to. */
  way: unknown = null

  /** Returns a packet with its own copy of the bytes, which may be kept. */
  copy(): Packet {
    const copy = new Packet()
    Object.assign(copy, this)
    copy.bytes = this.bytes.slice(this.start, this.end)
    copy.start = 0
    copy.end = copy.bytes.length
    copy.source = this.source.slice()
    copy.destination = this.destination.slice()
    return copy
  }
}

export type Next = (packet: Packet) => void

/** Layer that receives each packet of both directions and passes on any packets, now or later. */
export interface Layer {
  /** Handles a packet, which belongs to the caller: a layer that keeps it copies it. */
  pass(packet: Packet, next: Next): void
  /** Passes on the packets that have waited until now. */
  advance(nowNs: number): void
  /** Time at which `advance` has something to do; Infinity if there is none. */
  readonly nextDeadlineNs: number
  /** Notifies the layer that nothing happens for a while. */
  flush(): void
  close(): void
}
