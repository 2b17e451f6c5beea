/**
 * Calls that have nothing to give yet. The kernel has them: they block in their file, natively, so that signals interrupt them, handlers
 * run, and what the kernel restarts comes as a new call. When there may be something, the thread is made to make its call again
 * (`beginRestart`), and gets it as if it had asked now: nothing is ever written into a call that has waited.
 *
 * A thread that another process traces (gdb, strace) cannot be had to do so. Its call stays a notification, which only signals that kill
 * end, and is answered as if it were made again.
 */
import {
  beginRestart,
  type KeptNotification,
  mayBeIn,
  mayRestart,
  type Notification,
  restarted,
  yieldProcessor,
} from '../../memory/index.ts'
import type { BlockedCall } from '../door.ts'

/** How often it is looked at once whether a thread has stopped, each time after others had the processor; and how long afterwards, in ms. */
const looks = 100
const stopsLaterMs = 0.2

/** What a thread has called: descriptor, address, length. */
const comparedArguments = 3

export class BlockedCalls {
  readonly #n: Notification
  /** Those that the kernel has, by thread. */
  readonly #inKernel = new Map<number, InKernel>()
  /** Those that are being made again. */
  readonly #restarting = new Set<InKernel>()
  /** Notifications that are to be answered as if they had just come. */
  readonly #again: KeptNotification[] = []

  constructor(notification: Notification) {
    this.#n = notification
  }

  /** The call that is just being answered is one that blocks, from `begin` on. */
  block(left: () => void): BlockedCall {
    const n = this.#n
    if (!mayRestart(n.tid)) return new Kept(n.keep(), this.#again, left)
    const args = Array.from({ length: comparedArguments }, (_, i) => n.argument(i))
    const blocked = new InKernel(n.tid, n.number, args, this.#inKernel, this.#restarting, left)
    this.#inKernel.set(n.tid, blocked)
    return blocked
  }

  /** The call that is just being answered is to block now. */
  begin(blocked: BlockedCall): void {
    if (blocked instanceof InKernel) this.#n.proceed()
  }

  /** A call has come, of a thread that is in no other any more, then. */
  came(tid: number): void {
    if (this.#inKernel.size > 0) this.#inKernel.get(tid)?.leave()
  }

  /** Calls `answer` for each notification that has become the one to be answered; true if there were any. */
  answerAgain(answer: () => void): boolean {
    if (this.#again.length === 0) return false
    for (const kept of this.#again.splice(0)) if (this.#n.resume(kept)) answer()
    return true
  }

  /** Looks after threads that had not stopped at once. For how long the supervisor may sleep now, in ms. */
  restMs(): number {
    for (const blocked of this.#restarting) blocked.tryToEnd()
    if (this.#again.length > 0) return 0
    return this.#restarting.size > 0 ? stopsLaterMs : Number.POSITIVE_INFINITY
  }
}

class InKernel implements BlockedCall {
  readonly #tid: number
  readonly #number: number
  readonly #args: readonly number[]
  readonly #all: Map<number, InKernel>
  readonly #restarting: Set<InKernel>
  #left: (() => void) | null

  constructor(
    tid: number,
    number: number,
    args: readonly number[],
    all: Map<number, InKernel>,
    restarting: Set<InKernel>,
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
    // A process that traces the thread has interrupted it, too, so that the call comes by itself.
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

  /** The thread is not in the call any more. */
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

class Kept implements BlockedCall {
  readonly #notification: KeptNotification
  readonly #again: KeptNotification[]
  #left: (() => void) | null

  constructor(notification: KeptNotification, again: KeptNotification[], left: () => void) {
    this.#notification = notification
    this.#again = again
    this.#left = left
  }

  again(): void {
    this.#again.push(this.#notification)
    const left = this.#left
    this.forget()
    left?.()
  }

  /** One whose thread was killed is told from others when it is made again. */
  look(): void {}

  forget(): void {
    this.#left = null
  }
}
