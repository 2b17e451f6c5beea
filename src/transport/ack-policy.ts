/**
 * When an ACK that is due waits for a packet to go with, how long, and what ends that. One for each device and thread.
 *
 *     may wait    packets of the last batch completed receives: the program may reply
 *     waits for   the next look at the device; where replies come late, as from an event loop, a few more
 *     ends with   that look, a turn that does not look (the program has posted, or waits again), or `mostLooks`
 */

/** Looks for which ACKs wait at most: a peer that gets no reply must not wait for long. */
const mostLooks = 16

export class AckPolicy {
  #completed = false
  /** For so many looks ACKs have waited. */
  #looks = 0

  /** Whether ACKs wait. */
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

  /** At the end of a turn: whether ACKs wait from now on, or go on waiting. `received` packets came in this turn. */
  defers(look: boolean, received: number, repliesLate: boolean): boolean {
    const waits = this.#looks === 0 ? received > 0 && this.#completed : look && this.#looks < mostLooks && repliesLate
    this.#looks = waits ? this.#looks + 1 : 0
    return waits
  }

  /** Whether the turn that has just ended was the first for which they wait. */
  get begins(): boolean {
    return this.#looks === 1
  }
}
