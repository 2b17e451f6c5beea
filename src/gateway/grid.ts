/**
 * A grid of moments, 1 / rate apart: the steps of a generator, as VILLASnode's benchmark counts them.
 *
 * A caller that calls `due` before the next moment waits for it. One whose first call comes after it has missed that step, and waits for
 * the next one on the grid (Potter 2018, "Signal generation rate"): a late generator leaves steps out, and never leaves the grid.
 */
export class Grid {
  /** Steps that no caller waited for. */
  missed = 0
  readonly #startNs: number
  readonly #periodNs: number
  /** Number of the step that is waited for, and of the last one that was met. */
  #next = 1
  #last = 0
  /** True if `due` was called before the next moment. */
  #armed = false

  /** Makes a grid, whose first moment is one period after `startNs`. */
  constructor(rateHz: number, startNs: number) {
    this.#periodNs = 1e9 / rateHz
    this.#startNs = startNs
  }

  /** Time at which the next step is due, in nanoseconds. */
  get nextNs(): number {
    return this.#startNs + this.#next * this.#periodNs
  }

  /**
   * Returns the steps since the last one that was met, if the next one is met now; all but one were missed. 0: it is not due yet, or was
   * missed, too.
   */
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
