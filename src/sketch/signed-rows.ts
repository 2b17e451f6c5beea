/**
 * Rows of signed counters as those of Count Sketch (Charikar, Chen and Farach-Colton, ICALP 2002): a key adds its amount times a random sign to one counter
 * of a row, and its estimate is the median over the rows of counter times sign. Counters have 31 bits and a sign, and saturate.
 */
import { signOf } from './count-sketch.ts'
import { hashIn, placeAt } from './keys.ts'

const most = 2 ** 31 - 1

export class SignedRows {
  readonly rows: number
  readonly width: number
  readonly counters: Int32Array
  readonly #multipliers: Int32Array
  readonly #row: Float64Array
  readonly #scale: number

  constructor(rows: number, width: number, multipliers: Int32Array, counters: Int32Array) {
    this.rows = rows
    this.width = width
    this.counters = counters
    this.#multipliers = multipliers
    this.#row = new Float64Array(rows)
    this.#scale = width / 2 ** 32
  }

  /** Adds to the counter of one row. */
  add(row: number, h1: number, h2: number, amount: number): void {
    const hash = hashIn(h1, h2, this.#multipliers[row]!)
    const at = row * this.width + placeAt(hash, this.#scale)
    const sum = this.counters[at]! + signOf(hash) * amount
    this.counters[at] = sum > most ? most : Math.max(sum, -most)
  }

  /** The median over the rows. */
  median(h1: number, h2: number): number {
    const row = this.#row
    for (let r = 0; r < this.rows; r++) {
      const hash = hashIn(h1, h2, this.#multipliers[r]!)
      const value = signOf(hash) * this.counters[r * this.width + placeAt(hash, this.#scale)]!
      let at = r
      for (; at > 0 && row[at - 1]! > value; at--) row[at] = row[at - 1]!
      row[at] = value
    }
    return row[this.rows >> 1]!
  }

  /**
   * The second moment of what was added: the median over the rows of the sum of the squares of counters (Thorup and Zhang, SODA 2004), enlarged by four
   * of its standard deviations √(2 / w).
   */
  secondMoment(): number {
    const sums = Array.from({ length: this.rows }, (_, row) => {
      let sum = 0
      for (let at = row * this.width; at < (row + 1) * this.width; at++) sum += this.counters[at]! ** 2
      return sum
    })
    return sums.sort((a, b) => a - b)[this.rows >> 1]! * (1 + 4 * Math.sqrt(2 / this.width))
  }

  /** Whether the estimate of a key may rest on a saturated counter. */
  static isSaturated(value: number): boolean {
    return Math.abs(value) === most
  }

  merge(other: SignedRows): void {
    for (const [at, value] of other.counters.entries())
      this.counters[at] = Math.max(-most, Math.min(most, this.counters[at]! + value))
  }
}
