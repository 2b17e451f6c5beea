/** A packet on its way through middleware: from BTH to the end of the ICRC, and what the network layer says of it. */
export class Packet {
  outbound = false
  bytes: Uint8Array = new Uint8Array(0)
  /** [start, end) of `bytes`. */
  start = 0
  end = 0
  /** GIDs, 16 bytes. */
  source: Uint8Array = new Uint8Array(16)
  destination: Uint8Array = new Uint8Array(16)
  sourcePort = 0
  trafficClass = 0
  hopLimit = 0
  /** Of the IPv4 header, as far as the ICRC tells; −1 where no identification makes the ICRC right. */
  identification = 0
  timeNs = 0
  /** The device's own: which socket it comes from or goes to. */
  way: unknown = null

  /** One with bytes of its own, which may be kept. */
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

/** One layer: gets each packet of both directions, and passes on what it likes, now or later. */
export interface Layer {
  /** The packet belongs to the caller: keep a copy. */
  pass(packet: Packet, next: Next): void
  /** Passes on what has waited until now. */
  advance(nowNs: number): void
  /** When `advance` has something to do; Infinity if never. */
  readonly nextDeadlineNs: number
  /** Nothing happens for a while. */
  flush(): void
  close(): void
}
