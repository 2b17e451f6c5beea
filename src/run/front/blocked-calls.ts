/**
 * Calls that have no result yet. The kernel has them: they block in their file, natively, so that signals interrupt them, handlers run, and
 * a restart by the kernel arrives as a new call. When there may be a result, the thread is made to repeat its call (`beginRestart`), and
 * gets it like a new call: no result is ever written into a call that has waited.
 */
import { beginRestart, mayBeIn, type Notification, restarted, yieldProcessor } from '../../memory/index.ts'
import type { BlockedCall } from '../door.ts'

/** Number of immediate checks whether a thread has stopped, with the processor yielded between them; then the interval of checks, in ms. */
const looks = 100
const stopsLaterMs = 0.2

/** Number of compared arguments of a thread's call: descriptor, address, length. */
const comparedArguments = 3

export class BlockedCalls {
  readonly #n: Notification
  readonly #byThread = new Map<number, Blocked>()
  /** Calls that are being restarted. */
  readonly #restarting = new Set<Blocked>()

  constructor(notification: Notification) {
    this.#n = notification
  }

  /** Registers the call that is just being answered, and that is then left to the kernel. */
  block(left: () => void): BlockedCall {
    const n = this.#n
    const args = Array.from({ length: comparedArguments }, (_, i) => n.argument(i))
    const blocked = new Blocked(n.tid, n.number, args, this.#byThread, this.#restarting, left)
    this.#byThread.set(n.tid, blocked)
    return blocked
  }

  /** Called for each call: its thread is in no other call any more. */
  came(tid: number): void {
    if (this.#byThread.size > 0) this.#byThread.get(tid)?.leave()
  }

  /** Checks threads that had not stopped at once. Returns for how long the supervisor may sleep now, in ms. */
  restMs(): number {
    for (const blocked of this.#restarting) blocked.tryToEnd()
    return this.#restarting.size > 0 ? stopsLaterMs : Number.POSITIVE_INFINITY
  }
}

class Blocked implements BlockedCall {
  readonly #tid: number
  readonly #number: number
  readonly #args: readonly number[]
  readonly #all: Map<number, Blocked>
  readonly #restarting: Set<Blocked>
  #left: (() => void) | null

  constructor(
    tid: number,
    number: number,
    args: readonly number[],
    all: Map<number, Blocked>,
    restarting: Set<Blocked>,
    left: () => void,
  ) {
    this.#tid = tid
    this.#number = number
    this.#args = args
    this.#all = all
    this.#restarting = restarting
    this.#left = left
  }

  again(): void {
    if (this.#restarting.has(this)) return
    this.look()
    if (this.#left === null || !beginRestart(this.#tid)) return
    this.#restarting.add(this)
    for (let i = 0; i < looks && !this.tryToEnd(); i++) yieldProcessor()
  }

  tryToEnd(): boolean {
    if (!restarted(this.#tid)) return false
    this.#restarting.delete(this)
    this.leave()
    return true
  }

  look(): void {
    if (!this.#restarting.has(this) && !mayBeIn(this.#tid, this.#number, this.#args)) this.leave()
  }

  /** Called when the thread is not in the call any more. */
  leave(): void {
    const left = this.#left
    this.forget()
    left?.()
  }

  forget(): void {
    this.#left = null
    if (this.#all.get(this.#tid) === this) this.#all.delete(this.#tid)
  }
}
