/**
 * Policy for the ACKs of a responder of RC: if one is owed, if it may be sent, and when it must be. One object for each device and
 * thread; the owed ACKs are in the segment, for the thread that drives the device next.
 *
 *     owed        a SEND or WRITE requested it, and neither a response nor a NAK has acknowledged that since
 *     may go      after the responses with lower PSNs
 *     may wait    packets of the last batch completed receives: the program may reply
 *     waits for   the next look at the device; where replies come late, as from an event loop, a few more
 *     ends with   that look, a turn that does not look (the program has posted, or waits again), or `mostLooks`
 */
import { TransportQp } from './layout.ts'

/** Maximum number of looks for which ACKs wait: a peer that gets no reply must not wait for long. */
const mostLooks = 16

export class AckPolicy {
  readonly #i32: Int32Array
  #completed = false
  /** Number of looks for which ACKs have waited. */
  #looks = 0

  constructor(i32: Int32Array) {
    this.#i32 = i32
  }

  // --- is one owed -------------------------------------------------------------------------------------------------

  /** Marks the newest SEND or WRITE as to be acknowledged. */
  owe(t: number): void {
    // IBA 9.7.5.1.2: one ACK acknowledges all requests before its PSN, too.
    this.#i32[t + TransportQp.ackDue] = 1
  }

  /** Clears the owed ACK: it has left, or a response or NAK that acknowledges the requests before it. */
  settle(t: number): void {
    this.#i32[t + TransportQp.ackDue] = 0
  }

  /** True if an ACK is owed; any thread may call this. */
  owes(t: number): boolean {
    return Atomics.load(this.#i32, t + TransportQp.ackDue) !== 0
  }

  // --- may it go ---------------------------------------------------------------------------------------------------

  /** True if an ACK is owed and all responses with lower PSNs have left. */
  mayGo(t: number): boolean {
    const i32 = this.#i32
    return i32[t + TransportQp.ackDue] !== 0 && i32[t + TransportQp.resNext] === i32[t + TransportQp.resTail]
  }

  // --- when must it go ---------------------------------------------------------------------------------------------

  /** True while ACKs wait. */
  get waiting(): boolean {
    return this.#looks > 0
  }

  /** Prepares for a batch of packets. */
  beginBatch(): void {
    this.#completed = false
  }

  /** Notes that a packet completed a receive. */
  receiveCompleted(): void {
    this.#completed = true
  }

  /** Ends a turn: true if ACKs wait from now on, or go on waiting. `received` packets came in this turn. */
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
