/**
 * Flow: the packets from one address to one QP of another: the requests of the QP at the sending end, and its responses to the requests
 * that come the other way. Two flows make a pair. The packets do not identify the pair: see pairing.ts.
 */
import { psnDiff } from '../wire/index.ts'
import { Latencies, type LatencyStore } from './latencies.ts'
import { Outstanding, type RingMemory } from './outstanding.ts'

/** Services: the top three bits of an opcode. */
export const Service = { RC: 0, UC: 1, RD: 2, UD: 3, CNP: 4, XRC: 5 } as const
export const serviceNames = ['RC', 'UC', 'RD', 'UD', 'CNP', 'XRC', 'vendor', 'vendor'] as const

/** Evidence that two flows belong together, as text. */
export const basisTexts = {
  cm: 'connection messages in the capture',
  pingpong: 'the TCP exchange of a pingpong program in the capture',
  deth: 'the source QP in each datagram',
  ack: 'inferred: PSNs of requests and ACKs agree',
  only: 'inferred: the only flow in each direction',
} as const
/** Evidence that two directions belong together. */
export type Basis = keyof typeof basisTexts

/** Resources that flows share, and the limit of their number. */
export interface FlowLimits {
  /** Maximum number of flows, for a source without an end: when it is reached, half of the flows are forgotten. */
  flows?: number
  /** Store of the latencies of all flows (default: each flow keeps its own). */
  latencies?: LatencyStore
  rings: RingMemory
  /** Flag: only packets of every 16th PSN are searched for copies, in less time, to find out if the capture has some. Default: false. */
  samplesCopies?: boolean
  /** Notifies the caller of each flow that is forgotten, whose object will be reused for another flow. */
  forget?(flow: Flow): void
}

/** Maximum number of positions in a sequence where PSNs were passed over; the oldest is forgotten. */
const mostPassed = 16
/** Results of `passedOver`. */
export const Passed = { No: 0, Missing: 1, Acknowledged: 2 } as const
/** Number of PSNs by which an acknowledgement may be ahead of the recorded requests and still belong to them. */
export const mostEarly = 64

/**
 * Distance before the next PSN beyond which state is forgotten: comparisons of PSNs wrap at half of the PSN space, and after all of it
 * another request has the same PSN. Checked whenever the upper bits of the next PSN change.
 */
const horizon = 1 << 22
const lookBits = 20

export class Flow {
  index: number
  /** Number of the source in the AddressTable; `destination` likewise. */
  source: number
  destination: number
  destQp: number
  service: number
  /** QP that sends; -1 while it is not known. */
  srcQp: number
  peer: Flow | undefined
  basis: Basis | undefined
  /** Number of successive responses that did not match the peer. */
  strangers = 0
  /** Number of the conversation, from 1; 0 while it has none. */
  number = 0
  /** Flag: another reading, which was ahead, had found the peer when this flow began. */
  foreseen = false
  /** Number of attempts to find a peer. */
  tries = 0

  packets = 0
  /** Copies of packets that the capture contains more than once, without the first. They are counted nowhere else. */
  copies = 0
  /** Bytes on the wire, captured or not, with all headers. */
  wireBytes = 0
  firstNs = 0
  lastNs = 0
  /** Number of packets that the analysis had processed when it processed the last one of this flow. */
  lastPacket = 0

  // As requester. Messages are counted when their last packet is seen for the first time.
  sends = 0
  writes = 0
  reads = 0
  atomics = 0
  atomicWrites = 0
  flushes = 0
  requestPackets = 0
  /** Payload of requests, each byte once. */
  requestBytes = 0
  /** Payload of the READ responses to this flow's requests, each byte once. */
  readBytes = 0
  /** Request packets that were retransmitted, and those of them that had been acknowledged already. */
  retransmissions = 0
  duplicates = 0
  /** Positions where PSNs are left out, and the number of these PSNs; the number of those that came later. */
  gaps = 0
  missing = 0
  late = 0
  /** Requests that were recorded after their acknowledgement. */
  overtaken = 0
  /** Number of times that the same QP started anew with another PSN. */
  restarts = 0
  latencies: LatencyStore

  // As responder.
  acks = 0
  ackRepeats = 0
  /** NAKs by code: PSN sequence, invalid request, remote access, remote operational, invalid RD, others. */
  readonly naks: number[] = [0, 0, 0, 0, 0, 0]
  rnrNaks = 0
  readResponses = 0
  responseRepeats = 0
  atomicAcks = 0

  cnps = 0
  /** Packets with the ECN mark "congestion experienced". */
  marked = 0
  icrcInvalid = 0
  malformed = 0

  /** Path MTU in bytes; 0 while it is not known. */
  mtu = 0
  started = false
  /** PSN of the next new request. A READ whose number of responses is not known leaves `slack` more possible. */
  next = 0
  slack = 0
  /** PSN up to which everything is acknowledged. */
  acked = 0
  /** Lowest PSN of the sequence, as far as the capture contains it. */
  floor = 0
  /** Flag: `floor` is only the first PSN that the capture has, and nothing is acknowledged: the sequence may begin before it. */
  floorIsGuess = false
  /** Flag: packets before `floor` passed, and were not followed: PSNs before it were sent earlier. */
  isResumed = false
  /** PSNs that are missing according to a NAK, and that no verdict on a request has reported yet. */
  untold = 0
  /** PSN up to which a response acknowledged that belongs to no request so far; -1 without one. */
  lastAnswer = -1
  /** Ranges of PSNs that were passed over, three numbers each: the first, the last, and 1 if they count as missing. */
  readonly #passed: number[] = []
  /** PSN of the READ that is being answered. */
  readStart = 0
  #isPaused = false
  readonly outstanding: Outstanding
  /** State that a user of the analysis keeps with the flow. */
  state: object | undefined

  constructor(
    index: number,
    source: number,
    destination: number,
    destQp: number,
    service: number,
    srcQp: number,
    { latencies, rings }: FlowLimits,
  ) {
    this.latencies = latencies ?? new Latencies()
    this.outstanding = new Outstanding(rings)
    this.index = index
    this.source = source
    this.destination = destination
    this.destQp = destQp
    this.service = service
    this.srcQp = srcQp
  }

  /**
   * Reuses the object for another flow, without history: where flows come and go by the million, allocating and collecting them would be
   * most of the work. No reference to the old flow may remain.
   */
  renew(index: number, source: number, destination: number, destQp: number, service: number, srcQp: number): void {
    this.index = index
    this.source = source
    this.destination = destination
    this.destQp = destQp
    this.service = service
    this.srcQp = srcQp
    this.peer = undefined
    this.basis = undefined
    this.foreseen = this.started = this.floorIsGuess = this.isResumed = this.#isPaused = false
    this.strangers = this.number = this.tries = 0
    this.packets = this.copies = this.wireBytes = this.firstNs = this.lastNs = this.lastPacket = 0
    this.sends = this.writes = this.reads = this.atomics = this.atomicWrites = this.flushes = 0
    this.requestPackets = this.requestBytes = this.readBytes = 0
    this.retransmissions = this.duplicates = this.gaps = this.missing = this.late = this.overtaken = this.restarts = 0
    this.acks = this.ackRepeats = this.rnrNaks = this.readResponses = this.responseRepeats = this.atomicAcks = 0
    this.naks.fill(0)
    this.cnps = this.marked = this.icrcInvalid = this.malformed = 0
    this.mtu = this.next = this.slack = this.acked = this.floor = this.readStart = this.untold = 0
    this.lastAnswer = -1
    this.#passed.length = 0
    this.state = undefined
  }

  get messages(): number {
    return this.sends + this.writes + this.reads + this.atomics + this.atomicWrites + this.flushes
  }

  /** Number of PSNs that are sent and not acknowledged. */
  get unacknowledged(): number {
    return this.started ? Math.max(0, psnDiff(this.next, this.acked) - 1) : 0
  }

  /** Begins the sequence at `psn`; `guess`: that is only the first PSN that was seen. */
  begin(psn: number, guess: boolean): void {
    this.started = true
    this.floor = psn
    this.floorIsGuess = guess
    this.next = psn
    this.slack = 0
    this.acked = (psn - 1) & 0xffffff
    this.outstanding.clear()
    this.#passed.length = 0
    this.untold = 0
    this.isResumed = this.#isPaused
    this.#isPaused = false
  }

  /** Discards what is known of the sequence until its next request. `isRequest`: one of the sequence passed. */
  pause(isRequest: boolean): void {
    this.#isPaused ||= this.started || isRequest
    this.started = false
    this.strangers = 0
  }

  /** Moves on to this PSN, which is ahead, for the next new request. */
  moveTo(next: number): void {
    const before = this.next
    this.next = next
    if (before >>> lookBits !== next >>> lookBits) this.#forget(before, (next - before) & 0xffffff)
  }

  /** Forgets state beyond the horizon: the next PSN was `before`, and is `step` farther on. */
  #forget(before: number, step: number): void {
    const last = (this.next - horizon) & 0xffffff
    const nearest = horizon - step
    if (psnDiff(before, this.floor) > nearest) this.floor = last
    if (psnDiff(before, this.acked) > nearest) this.acked = last
    const passed = this.#passed
    let kept = 0
    for (let i = 0; i < passed.length; i += 3)
      if (psnDiff(before, passed[i + 1]!) <= nearest) for (let k = 0; k < 3; k++) passed[kept++] = passed[i + k]!
    passed.length = kept
    this.outstanding.forget(before, nearest)
  }

  /** Records that PSNs from `first` to `last` do not come in order any more, or were acknowledged. `isMissing`: they count as missing. */
  passOver(first: number, last: number, isMissing: boolean): void {
    const passed = this.#passed
    if (passed.length === 3 * mostPassed) passed.splice(0, 3)
    passed.push(first, last, isMissing ? 1 : 0)
  }

  /** Returns if and why this PSN was passed over. `Passed.Acknowledged`: because a response came before it. */
  passedOver(psn: number): number {
    const passed = this.#passed
    for (let i = passed.length - 3; i >= 0; i -= 3)
      if (psnDiff(psn, passed[i]!) >= 0 && psnDiff(psn, passed[i + 1]!) <= 0)
        return passed[i + 2] === 1 ? Passed.Missing : Passed.Acknowledged
    return Passed.No
  }

  /**
   * Moves the beginning of the sequence back to `psn`, before all packets that were seen: the PSNs in between are missing so far. Returns
   * their number.
   */
  reachBack(psn: number): number {
    const missing = psnDiff(this.floor, psn)
    this.gaps++
    this.missing += missing
    this.floor = psn
    if (this.floorIsGuess) this.acked = (psn - 1) & 0xffffff
    return missing
  }
}

/** Maximum distance of a PSN that is a gap or a retransmission; beyond it, the QP was connected again. */
export const farthest = 65_536
