/**
 * Whether a responder of RC owes an ACK, whether it may go, and when it must. One for each device and thread; what is owed is in
 * the segment, for whoever drives the device next.
 *
 *     owed        a SEND or WRITE asked for it, and neither a response nor a NAK has acknowledged that since
 *     may go      after the responses with lower PSNs
 *     may wait    packets of the last batch completed receives: the program may reply
 *     waits for   the next look at the device; where replies come late, as from an event loop, a few more
 *     ends with   that look, a turn that does not look (the program has posted, or waits again), or `mostLooks`
 */
import { TransportQp } from './layout.ts'

/** Looks for which ACKs wait at most: a peer that gets no reply must not wait for long. */
const mostLooks = 16

export class AckPolicy {
  readonly #i32: Int32Array
  #completed = false
  /** For so many looks ACKs have waited. */
  #looks = 0

  constructor(i32: Int32Array) {
    this.#i32 = i32
  }

  // --- is one owed -------------------------------------------------------------------------------------------------

  /** The newest SEND or WRITE is to be acknowledged. */
  owe(t: number): void {
    // IBA 9.7.5.1.2: one ACK acknowledges all requests before its PSN, too.
    this.#i32[t + TransportQp.ackDue] = 1
  }

  /** An ACK has left, or a response or NAK that acknowledges what was before it. */
  settle(t: number): void {
    this.#i32[t + TransportQp.ackDue] = 0
  }

  /** True if one is owed; any thread may ask. */
  owes(t: number): boolean {
    return Atomics.load(this.#i32, t + TransportQp.ackDue) !== 0
  }

  // --- may it go ---------------------------------------------------------------------------------------------------

  /** True if one is owed and all responses with lower PSNs have left. */
  mayGo(t: number): boolean {
    const i32 = this.#i32
    return i32[t + TransportQp.ackDue] !== 0 && i32[t + TransportQp.resNext] === i32[t + TransportQp.resTail]
  }

  // --- when must it go ---------------------------------------------------------------------------------------------

  /** True while ACKs wait. */
  get waiting(): boolean {
    return this.#looks > 0
  }

  /** A batch of packets is about to be executed. */
  beginBatch(): void {
    this.#completed = false
  }

  /** A packet completed a receive. */
  receiveCompleted(): void {
    this.#completed = true
  }

  /** At the end of a turn: true if ACKs wait from now on, or go on waiting. `received` packets came in this turn. */
  defers(look: boolean, received: number, repliesLate: boolean): boolean {
    const waits = this.#looks === 0 ? received > 0 && this.#completed : look && this.#looks < mostLooks && repliesLate
    this.#looks = waits ? this.#looks + 1 : 0
    return waits
  }

  /** True if the turn that has just ended was the first for which they wait. */
  get begins(): boolean {
    return this.#looks === 1
  }
}
