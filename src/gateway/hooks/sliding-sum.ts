/**
 * Sums over the last `size` numbers; before the first one there were zeros. A number that enters is added and one that leaves is
 * subtracted. Rounding errors do not grow: at each turn of the window, and when a number leaves that is not finite, the sum is computed
 * afresh.
 */
export class SlidingSum {
  sum = 0
  readonly #window: Float64Array
  #at = 0

  constructor(size: number) {
    this.#window = new Float64Array(size)
  }

  add(value: number): void {
    const window = this.#window
    const oldest = window[this.#at]!
    window[this.#at] = value
    this.#at++
    if (this.#at === window.length) {
      this.#at = 0
      this.#again()
    } else if (Number.isFinite(oldest)) this.sum += value - oldest
    else this.#again()
  }

  clear(): void {
    this.#window.fill(0)
    this.sum = 0
    this.#at = 0
  }

  #again(): void {
    let sum = 0
    for (let i = 0; i < this.#window.length; i++) sum += this.#window[i]!
    this.sum = sum
  }
}
