/**
 * How long to poll before sleeping. Polling pays while peers answer sooner than a sleep and a wake-up take. It does not where a
 * peer takes longer, or where it cannot run because this thread polls: then whoever polls has every answer wait for that long.
 * Which one it is shows only afterwards, so the next waits after one that polled in vain do not poll: one of them, and twice
 * as many each time that it is in vain again.
 */

/** What sleeping and waking cost together. Polling for as long costs at most twice the best choice. */
export const sleepCostNs = 100e3
/** At most so many waits in a row do not poll: then one tries whether it pays again. */
const mostSkipped = 64

export class SpinTime {
  #skipped = 0
  /** Waits that do not poll after the next one that polls in vain. */
  #next = 1

  /** A wait begins: for how many nanoseconds it polls. */
  begin(): number {
    if (this.#skipped === 0) return sleepCostNs
    this.#skipped--
    return 0
  }

  /** What the wait was for came while it polled. */
  paid(): void {
    this.#next = 1
  }

  /** It did not. */
  wasted(): void {
    this.#skipped = this.#next
    this.#next = Math.min(2 * this.#next, mostSkipped)
  }
}
