/**
 * Packets are made with the device's lock and sent without it, and those of one QP leave in the order of their PSNs: a QP of which a
 * thread makes packets is that thread's until it has sent them (`Qp.sender`).
 *
 *     0                        anyone may make packets of it
 *     the use of a thread      that one has made some, or is about to, and has yet to send them
 *     the same with `left`     and another thread has left it more: it rings the doorbell of the QP when it has sent
 *
 * A thread that finds a QP taken makes no packets of it and waits for nothing. Only a holder of the device's lock takes one, and leaves
 * one to its sender; that gives it back without the lock. The packets of a thread that was killed meanwhile are lost packets: see
 * takeover.ts.
 */
import { type Host, layout } from '../verbs/provider/index.ts'

const { Qp } = layout

/** Uses of attachments are never negative. */
const left = 1 << 31

export class Claims {
  readonly #host: Host
  readonly #i32: Int32Array
  /** The QPs that this thread has, as far as `#count`. */
  readonly #own: number[] = []
  #count = 0

  constructor(host: Host) {
    this.#host = host
    this.#i32 = host.i32
  }

  /** Takes the QP, if this thread does not have it; false if it was left to another. */
  take(q: number): boolean {
    const i32 = this.#i32
    const word = q + Qp.sender
    const me = this.#host.segment.lockValue
    const owner = Atomics.load(i32, word)
    if (owner === me) return true
    if (owner !== 0 && !this.#leave(word, owner)) return false
    Atomics.store(i32, word, me)
    this.#own[this.#count++] = q
    return true
  }

  /** Leaves the QP to its sender; true if that has just given it back. */
  #leave(word: number, owner: number): boolean {
    return owner > 0 && Atomics.compareExchange(this.#i32, word, owner, owner | left) === 0
  }

  /** All is sent, or lost: gives the QPs back, and rings for those that others have left to this thread. */
  release(ring: (q: number) => void): void {
    const i32 = this.#i32
    const me = this.#host.segment.lockValue
    while (this.#count > 0) {
      const q = this.#own[--this.#count]!
      const word = q + Qp.sender
      // A QP that was destroyed meanwhile is not this thread's any more.
      if (Atomics.compareExchange(i32, word, me, 0) === me) continue
      if (Atomics.compareExchange(i32, word, me | left, 0) === (me | left)) ring(q)
    }
  }

  /** Takes the QP from a thread that has ended; whether it was one's. */
  takeFromDead(q: number): boolean {
    const word = q + Qp.sender
    const owner = Atomics.load(this.#i32, word)
    if (owner === 0 || this.#host.segment.ownerAlive(owner & ~left)) return false
    Atomics.store(this.#i32, word, 0)
    return true
  }
}
