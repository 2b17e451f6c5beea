/** Delays of new attempts after failures: a tenth of a second, then twice as long each time, up to ten seconds. */
const firstMs = 100
const longestMs = 10_000

export class Backoff {
  readonly #attempt: () => void
  #ms = firstMs
  #timer: NodeJS.Timeout | undefined

  constructor(attempt: () => void) {
    this.#attempt = attempt
  }

  /** Tries again, once the time has passed. */
  schedule(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#attempt()
    }, this.#ms)
    this.#ms = Math.min(2 * this.#ms, longestMs)
  }

  /** Resets the delay after a success: the next failure begins with a short one. */
  reset(): void {
    this.#ms = firstMs
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
