/**
 * Idling of a data loop while no completion comes: it polls, and after a while waits for an event of its CQs, so that an idle end costs no
 * processor time.
 */
import { nowNs } from '../../memory/index.ts'
import type { CompletionChannel, CompletionQueue } from '../../verbs/index.ts'

/** Time of polling before the first wait, nanoseconds. */
const patienceNs = 1_000_000
/** Maximum time of one wait, milliseconds: a condition that is not an event, such as the order to stop, is checked after that. */
const sliceMs = 20

const sleeper = new Int32Array(new SharedArrayBuffer(4))

export class Idle {
  readonly #channel: CompletionChannel
  readonly #cqs: readonly CompletionQueue[]
  /** Flag: the other end may need this thread's core. */
  readonly #polite: boolean
  #sinceNs = 0
  #spins = 0
  #armed = false

  constructor(channel: CompletionChannel, cqs: readonly CompletionQueue[], polite: boolean) {
    this.#channel = channel
    this.#cqs = cqs
    this.#polite = polite
  }

  busy(): void {
    this.#spins = 0
    this.#sinceNs = 0
  }

  /**
   * Waits after a turn without completions. Returns true when it is time for the rarely checked conditions. `untilNs`: end of the wait at
   * the latest.
   */
  wait(untilNs: number): boolean {
    if ((++this.#spins & 63) !== 0) return false
    const now = nowNs()
    if (this.#sinceNs === 0) this.#sinceNs = now
    if (now - this.#sinceNs < patienceNs) return (this.#spins & 1023) === 0
    if (untilNs - now < patienceNs) {
      if (this.#polite && untilNs - now > 100_000) Atomics.wait(sleeper, 0, 0, 0.02)
      return true
    }
    if (!this.#armed) {
      // A completion before this causes no event: the next turn polls once more.
      for (const cq of this.#cqs) cq.reqNotify()
      this.#armed = true
      return true
    }
    const cq = this.#channel.getEvent(Math.min(sliceMs, Math.floor((untilNs - now) / 1e6)))
    if (cq !== null) {
      cq.ackEvents(1)
      this.#armed = false
      this.busy()
    }
    return true
  }
}
