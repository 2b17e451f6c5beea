/**
 * A flow is what goes from one address to one QP of another: the requests of the QP at the sending end, and its responses to
 * the requests that come the other way. Two flows make a pair. Which two, the packets do not say: see pairing.ts.
 */
import { psnDiff } from '../wire/index.ts'
import { Latencies, type LatencyStore } from './latencies.ts'
import { Outstanding, type RingMemory } from './outstanding.ts'

/** The top three bits of an opcode. */
export const Service = { RC: 0, UC: 1, RD: 2, UD: 3, CNP: 4, XRC: 5 } as const
export const serviceNames = ['RC', 'UC', 'RD', 'UD', 'CNP', 'XRC', 'vendor', 'vendor'] as const

/** How it is known which two flows belong together. */
export const basisTexts = {
  cm: 'connection messages in the capture',
  pingpong: 'the TCP exchange of a pingpong program in the capture',
  deth: 'the source QP in each datagram',
  ack: 'inferred: PSNs of requests and ACKs agree',
  only: 'inferred: the only flow in each direction',
} as const
/** How it is known that two directions belong together. */
export type Basis = keyof typeof basisTexts

/** What flows share, and how many of them there may be. */
export interface FlowLimits {
  /** Of what is followed without an end: at so many, the half of them is forgotten. */
  flows?: number
  /** Where the latencies of all flows go (default: each keeps its own). */
  latencies?: LatencyStore
  rings: RingMemory
  /** Looks for copies only among packets of every 16th PSN, in less time: whether a capture has some. Default: false. */
  samplesCopies?: boolean
  /** Called with each flow that is forgotten, which will be another one. */
  forget?(flow: Flow): void
}

/** More places in a sequence where PSNs were passed over are forgotten. */
const mostPassed = 16
/** What `passedOver` says. */
export const Passed = { No: 0, Missing: 1, Acknowledged: 2 } as const
/** So much farther than the requests that were recorded an acknowledgement may be and still belong to them. */
export const mostEarly = 64

/**
 * What lies farther behind the next PSN than this is forgotten: comparisons of PSNs turn round at half of their circle, and behind all
 * of it another request has the same PSN. Looked for whenever the upper bits of the next PSN change.
 */
const horizon = 1 << 22
const lookBits = 20

export class Flow {
  index: number
  /** Numbers of the AddressTable. */
  source: number
  destination: number
  destQp: number
  service: number
  /** The QP that sends; -1 while it is not known. */
  srcQp: number
  peer: Flow | undefined
  basis: Basis | undefined
  /** Answers that did not fit to the peer, one after the other. */
  strangers = 0
  /** Number of the conversation, from 1; 0 while it has none. */
  number = 0
  /** Another reading, which was ahead, had found the peer when this flow began. */
  foreseen = false
  /** How often a peer was looked for. */
  tries = 0

  packets = 0
  /** Of packets that the capture has more than once, those behind the first. They are counted nowhere else. */
  copies = 0
  /** Captured or not: bytes on the wire, with all headers. */
  wireBytes = 0
  firstNs = 0
  lastNs = 0
  /** How many packets the analysis had seen with its last one. */
  lastPacket = 0

  // As requester. Messages are counted where their last packet is seen first.
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
  /** Request packets sent again, and those of them that had been acknowledged already. */
  retransmissions = 0
  duplicates = 0
  /** Places where PSNs are left out, and how many; how many came later. */
  gaps = 0
  missing = 0
  late = 0
  /** Requests that were recorded after their acknowledgement. */
  overtaken = 0
  /** The same QP started anew with another PSN. */
  restarts = 0
  latencies: LatencyStore

  // As responder.
  acks = 0
  ackRepeats = 0
  /** By the code of the NAK: PSN sequence, invalid request, remote access, remote operational, invalid RD, others. */
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
  /** The PSN that the next new request has. A READ whose number of responses is not known leaves `slack` more possible. */
  next = 0
  slack = 0
  /** The PSN up to which everything is acknowledged. */
  acked = 0
  /** The lowest PSN of the sequence, as far as the capture tells. */
  floor = 0
  /** `floor` is only the first PSN that the capture has, and nothing is acknowledged: the sequence may begin before it. */
  floorIsGuess = false
  /** Packets before `floor` passed, and were not followed: what comes from there was sent before. */
  isResumed = false
  /** PSNs that are missing, as a NAK said: no verdict on a request has told of them. */
  untold = 0
  /** The PSN up to which a response acknowledged that belongs to no request so far; -1 without one. */
  lastAnswer = -1
  /** Of PSNs that were passed over: the first, the last, and whether they count as missing. */
  readonly #passed: number[] = []
  /** PSN of the READ that is being answered. */
  readStart = 0
  #isPaused = false
  readonly outstanding: Outstanding
  /** What who follows the analysis keeps with the flow. */
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
   * Becomes another flow, which has seen nothing: where flows come and go by the million, making new ones would be most of the
   * work, and collecting them. Nobody else may know it any more.
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

  /** PSNs that are sent and not acknowledged. */
  get unacknowledged(): number {
    return this.started ? Math.max(0, psnDiff(this.next, this.acked) - 1) : 0
  }

  /** Begins the sequence at `psn`; `guess` if that is only the first that was seen. */
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

  /** Until its next request nothing is known of the sequence. `isRequest`: one of it passed. */
  pause(isRequest: boolean): void {
    this.#isPaused ||= this.started || isRequest
    this.started = false
    this.strangers = 0
  }

  /** The next new request has this PSN, which is ahead. */
  moveTo(next: number): void {
    const before = this.next
    this.next = next
    if (before >>> lookBits !== next >>> lookBits) this.#forget(before, (next - before) & 0xffffff)
  }

  /** The next PSN was `before`, and is `step` farther on. */
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

  /** PSNs from `first` on come no more in order: `last` does, or was acknowledged. `isMissing`: they count as missing. */
  passOver(first: number, last: number, isMissing: boolean): void {
    const passed = this.#passed
    if (passed.length === 3 * mostPassed) passed.splice(0, 3)
    passed.push(first, last, isMissing ? 1 : 0)
  }

  /** Was this PSN passed over? `Passed.Acknowledged`: because a response came before it. */
  passedOver(psn: number): number {
    const passed = this.#passed
    for (let i = passed.length - 3; i >= 0; i -= 3)
      if (psnDiff(psn, passed[i]!) >= 0 && psnDiff(psn, passed[i + 1]!) <= 0)
        return passed[i + 2] === 1 ? Passed.Missing : Passed.Acknowledged
    return Passed.No
  }

  /** The sequence has begun at `psn` already, before all that was seen: what lies between is missing so far. Returns how much that is. */
  reachBack(psn: number): number {
    const missing = psnDiff(this.floor, psn)
    this.gaps++
    this.missing += missing
    this.floor = psn
    if (this.floorIsGuess) this.acked = (psn - 1) & 0xffffff
    return missing
  }
}

/** A PSN farther off than this is no gap and no retransmission: the QP was connected again. */
export const farthest = 65_536
