/**
 * A grid of moments, 1 / rate apart: the steps of a generator, as VILLASnode's benchmark counts them.
 *
 * Whoever asks before the next moment waits for it. Whoever asks for the first time after it has missed that step, and waits for
 * the next one on the grid (Potter 2018, "Signal generation rate"): a late generator leaves the steps out, and never the grid.
 */
export class Grid {
  /** Steps that nobody waited for. */
  missed = 0
  readonly #startNs: number
  readonly #periodNs: number
  /** Of the moment that is waited for, and of the last one that was met. */
  #next = 1
  #last = 0
  /** Somebody has asked before the next moment. */
  #armed = false

  /** The first moment is one period after `startNs`. */
  constructor(rateHz: number, startNs: number) {
    this.#periodNs = 1e9 / rateHz
    this.#startNs = startNs
  }

  /** When the next step is due, nanoseconds. */
  get nextNs(): number {
    return this.#startNs + this.#next * this.#periodNs
  }

  /** Steps since the last one that was met, if the next one is met now; all but one were missed. 0: it is not due yet, or was missed, too. */
  due(nowNs: number): number {
    if (nowNs < this.nextNs) {
      this.#armed = true
      return 0
    }
    const passed = Math.max(this.#next, Math.floor((nowNs - this.#startNs) / this.#periodNs))
    this.#next = passed + 1
    if (!this.#armed) {
      this.#armed = true
      return 0
    }
    this.#armed = false
    const steps = passed - this.#last
    this.#last = passed
    this.missed += steps - 1
    return steps
  }
}
