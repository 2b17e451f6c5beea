/** What the history of its flow says about one packet: a record that is filled again for each. */
import type { Flow } from './flow.ts'

/** Bits of `Verdict.marks`. */
export const Mark = {
  /** A request that was sent before. */
  Retransmission: 0x1,
  /** A request whose acknowledgement is in the capture already: its receiver takes it for a duplicate. */
  Duplicate: 0x2,
  /** PSNs before this one are left out; `missing` says how many. */
  Gap: 0x4,
  /** It comes behind later ones, and was not seen before: it fills a gap. */
  Late: 0x8,
  /** The QP was connected again. */
  Restart: 0x10,
  /** A response that was sent before. */
  Repeat: 0x20,
  /** It acknowledges requests of which this is the first acknowledgement: coverFrom to coverTo. */
  Covers: 0x40,
  /** It acknowledges requests that the capture does not have. */
  Unseen: 0x80,
  Nak: 0x100,
  RnrNak: 0x200,
  Cnp: 0x400,
  /** The ECN mark "congestion experienced". */
  Marked: 0x800,
  /** The capture does not tell which requests this responds to. */
  Unpaired: 0x1000,
  /** The capture has this very packet before: it counts once. `refersTo` says which. */
  Copy: 0x2000,
  /** A request whose acknowledgement was recorded before it: its receiver had it when it acknowledged. */
  Overtaken: 0x4000,
} as const

export class Verdict {
  /** Undefined for what is not RDMA, is too damaged, or found no place in the table of flows. */
  flow: Flow | undefined
  marks = 0
  /** Time since 1970 as nanoseconds after the first packet of the capture. */
  timeNs = 0
  /** Nanoseconds since the packet before it. */
  deltaNs = 0
  /** PSNs left out before this packet; of a late one, those before the first that was seen, if no verdict has told of them. */
  missing = 0
  /** The packet that carried this PSN first, or the request that a response belongs to; 0 if the capture does not have it. */
  refersTo = 0
  /** PSNs that a response acknowledges, both included; and of them how many packets and messages the capture has. */
  coverFrom = 0
  coverTo = 0
  coverPackets = 0
  coverMessages = 0
  /** From the request's first transmission to this response; -1 if there is none to measure. */
  latencyNs = -1

  reset(): void {
    this.flow = undefined
    this.marks = 0
    this.missing = 0
    this.refersTo = 0
    this.coverPackets = 0
    this.coverMessages = 0
    this.latencyNs = -1
  }
}
