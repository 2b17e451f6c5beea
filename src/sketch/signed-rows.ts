/**
 * Rows of signed counters, those of Count Sketch (Charikar, Chen and Farach-Colton, ICALP 2002): a key adds its amount times a random sign
 * to one counter of a row, and its estimate is the median over the rows of counter times sign.
 *
 * Counters have 31 bits and a sign, and saturate. As a saturated one can come back by amounts of the other sign, a flag in the scalars of
 * the sketch records that there was one: from then on no bound follows from the counters.
 */
import { hashIn, type KeyReader, placeAt } from './keys.ts'

const most = 2 ** 31 - 1

export class SignedRows {
  readonly rows: number
  readonly width: number
  readonly #counters: Int32Array
  readonly #multipliers: Int32Array
  readonly #row: Float64Array
  readonly #scale: number
  readonly #scalars: Float64Array
  readonly #flag: number
  /** Second moment; NaN after a change, until an answer needs it. */
  #moment = Number.NaN

  /** @param flag index of the scalar that records that a counter has saturated */
  constructor(
    rows: number,
    width: number,
    multipliers: Int32Array,
    counters: Int32Array,
    scalars: Float64Array,
    flag: number,
  ) {
    this.rows = rows
    this.width = width
    this.#counters = counters
    this.#multipliers = multipliers
    this.#row = new Float64Array(rows)
    this.#scale = width / 2 ** 32
    this.#scalars = scalars
    this.#flag = flag
  }

  /** True if a counter has ever reached its limit. */
  get isSaturated(): boolean {
    return this.#scalars[this.#flag] !== 0
  }

  /** Returns the defect of the flag; undefined if it is valid. */
  restored(): string | undefined {
    const flag = this.#scalars[this.#flag]
    return flag === 0 || flag === 1 ? undefined : 'it is neither saturated nor not'
  }

  #clipped(sum: number): number {
    if (sum <= most && sum >= -most) return sum
    this.#scalars[this.#flag] = 1
    return sum > 0 ? most : -most
  }

  /** Adds to the counter of one row. */
  add(row: number, h1: number, h2: number, amount: number): void {
    const hash = hashIn(h1, h2, this.#multipliers[row]!)
    const at = row * this.width + placeAt(hash, this.#scale)
    this.#moment = Number.NaN
    this.#counters[at] = this.#clipped(this.#counters[at]! + signOf(hash) * amount)
  }

  /** Adds a block of keys to all rows. `small`: no counter can saturate. */
  addBlock(keys: KeyReader, amounts: Uint32Array, count: number, small: boolean): void {
    this.#moment = Number.NaN
    let row = 0
    if (small) for (; row + 2 <= this.rows; row += 2) this.#addTwo(keys, amounts, count, row)
    for (; row < this.rows; row++) this.#addOne(keys, amounts, count, row, small)
  }

  /** Adds to two rows at once, which is faster than one by one. */
  #addTwo({ h1, h2 }: KeyReader, amounts: Uint32Array, count: number, row: number): void {
    const { width } = this
    const [counters, scale] = [this.#counters, this.#scale]
    const [m0, m1] = [this.#multipliers[row]!, this.#multipliers[row + 1]!]
    const [row0, row1] = [row * width, (row + 1) * width]
    for (let i = 0; i < count; i++) {
      const a = h1[i]!
      const b = h2[i]!
      const amount = amounts[i]!
      const hash0 = hashIn(a, b, m0)
      const hash1 = hashIn(a, b, m1)
      const at0 = row0 + placeAt(hash0, scale)
      const at1 = row1 + placeAt(hash1, scale)
      counters[at0] = (counters[at0]! + Math.imul(signOf(hash0), amount)) | 0
      counters[at1] = (counters[at1]! + Math.imul(signOf(hash1), amount)) | 0
    }
  }

  #addOne({ h1, h2 }: KeyReader, amounts: Uint32Array, count: number, row: number, small: boolean): void {
    const [counters, scale, multiplier] = [this.#counters, this.#scale, this.#multipliers[row]!]
    const from = row * this.width
    for (let i = 0; i < count; i++) {
      const hash = hashIn(h1[i]!, h2[i]!, multiplier)
      const at = from + placeAt(hash, scale)
      const sum = counters[at]! + signOf(hash) * amounts[i]!
      counters[at] = small ? sum | 0 : this.#clipped(sum)
    }
  }

  /** Returns the median over the rows. */
  median(h1: number, h2: number): number {
    const row = this.#row
    for (let r = 0; r < this.rows; r++) {
      const hash = hashIn(h1, h2, this.#multipliers[r]!)
      const value = Math.imul(signOf(hash), this.#counters[r * this.width + placeAt(hash, this.#scale)]!)
      let at = r
      for (; at > 0 && row[at - 1]! > value; at--) row[at] = row[at - 1]!
      row[at] = value
    }
    return row[this.rows >> 1]!
  }

  /**
   * Returns the second moment of all additions: the median over the rows of the sum of the squares of counters (Thorup and Zhang, SODA
   * 2004), enlarged by four of its standard deviations √(2 / w). The first call after a change reads all counters.
   */
  secondMoment(): number {
    if (!Number.isNaN(this.#moment)) return this.#moment
    const sums = Array.from({ length: this.rows }, (_, row) => {
      let sum = 0
      for (let at = row * this.width; at < (row + 1) * this.width; at++) sum += this.#counters[at]! ** 2
      return sum
    })
    this.#moment = sums.sort((a, b) => a - b)[this.rows >> 1]! * (1 + 4 * Math.sqrt(2 / this.width))
    return this.#moment
  }

  /** Adds or subtracts the counters of another sketch. */
  combine(other: SignedRows, sign: 1 | -1): void {
    this.#moment = Number.NaN
    const [mine, theirs] = [this.#counters, other.#counters]
    for (let i = 0; i < mine.length; i++) mine[i] = this.#clipped(mine[i]! + sign * theirs[i]!)
    if (other.isSaturated) this.#scalars[this.#flag] = 1
  }
}

/**
 * Returns 1 or −1: the index depends on the high bits of the hash, the sign on all of them. No branch is used, since it would be
 * unpredictable.
 */
function signOf(hash: number): number {
  return (Math.imul(hash, 0x9e3779b1) >> 31) | 1
}
