/** Verdict on one packet, from the history of its flow: a record that is filled again for each. */
import type { Flow } from './flow.ts'

/** Bits of `Verdict.marks`. */
export const Mark = {
  /** Request that was sent before. */
  Retransmission: 0x1,
  /** Request whose acknowledgement is in the capture already: its receiver treats it as a duplicate. */
  Duplicate: 0x2,
  /** PSNs before this one are left out; `missing` is their number. */
  Gap: 0x4,
  /** Packet that comes after later ones, and was not seen before: it fills a gap. */
  Late: 0x8,
  /** Packet after the QP was connected again. */
  Restart: 0x10,
  /** Response that was sent before. */
  Repeat: 0x20,
  /** Response that acknowledges requests for the first time: coverFrom to coverTo. */
  Covers: 0x40,
  /** Response that acknowledges requests that the capture does not have. */
  Unseen: 0x80,
  Nak: 0x100,
  RnrNak: 0x200,
  Cnp: 0x400,
  /** ECN mark "congestion experienced". */
  Marked: 0x800,
  /** Response whose requests the capture does not identify. */
  Unpaired: 0x1000,
  /** Packet of which the capture has another copy before: it counts once. `refersTo` is the number of the original. */
  Copy: 0x2000,
  /** Request whose acknowledgement was recorded before it: its receiver had it when it acknowledged. */
  Overtaken: 0x4000,
} as const

export class Verdict {
  /** Flow of the packet; undefined if the packet is not RDMA, is too damaged, or found no slot in the table of flows. */
  flow: Flow | undefined
  marks = 0
  /** Time since 1970 as nanoseconds after the first packet of the capture. */
  timeNs = 0
  /** Nanoseconds since the packet before it. */
  deltaNs = 0
  /**
   * Number of PSNs left out before this packet; for a late one, of those before the first that was seen, if no verdict has reported them.
   */
  missing = 0
  /** Number of the packet that carried this PSN first, or of the request that a response belongs to; 0 if the capture does not have it. */
  refersTo = 0
  /** PSNs that a response acknowledges, both included; and the number of their packets and messages in the capture. */
  coverFrom = 0
  coverTo = 0
  coverPackets = 0
  coverMessages = 0
  /** Time from the request's first transmission to this response; -1 if there is none to measure. */
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
