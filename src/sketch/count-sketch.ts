/**
 * Count Sketch (Charikar, Chen and Farach-Colton, "Finding frequent items in data streams", ICALP 2002): d rows of w signed
 * counters; a key adds its amount times a random sign to one counter of each row, and its estimate is the median of the
 * counters times the signs. Linear, so that sketches add and subtract: the difference of two windows estimates changes.
 *
 * Lemma 2 there: a row is unbiased, its variance is at most F2 / w, F2 the sum of the squares of all amounts. By Chebyshev a row errs by
 * more than √(8 F2 / w) with a probability of at most 1/8, and the median only if half of the rows do: the confidence is that of
 * the binomial distribution (0.984 for five rows).
 *
 * Where we differ: F2 is not known, and estimated from the sketch itself (Thorup and Zhang, SODA 2004: the median over rows of the
 * sum of the squares of counters), enlarged by four of its standard deviations √(2 / w). Counters have 31 bits and a sign, and saturate; a saturated one answers with bounds of
 * the total. Rows: see keys.ts.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { assertCandidates, checkRows, rowWidth, tableKeys } from './count-min.ts'
import { SketchError, wholeNumber } from './error.ts'
import { hashIn, placeAt } from './keys.ts'
import { AmountSketch, Scalar, type SketchOptions, scalarCount } from './sketch.ts'
import { TopTable } from './top-table.ts'

export interface CountSketchConfig {
  keyBytes: number
  rows: number
  width: number
  candidates: number
}

export interface CountSketchOptions extends SketchOptions {
  /** d, an odd number from 1 to 15 (default 5). */
  rows?: number
  /** Keys that are kept for `topK` and `heavyHitters` (default 0: none). */
  candidates?: number
}

const most = 2 ** 31 - 1
/** Chebyshev: a row errs by more than √(this · F2 / w) with a probability of at most 1 / this. */
const spread = 8

const planOf = (config: CountSketchConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.candidates],
    [Int32Array, config.candidates * ((config.keyBytes + 3) >> 2)],
    [Int32Array, config.rows * config.width],
  ] as const

export class CountSketch extends AmountSketch<CountSketchConfig> {
  readonly #counters: Int32Array
  readonly #top: TopTable
  readonly #row: Float64Array
  readonly #confidence: number
  /** NaN after a change, until it is asked for. */
  #moment = Number.NaN

  /** @internal */
  constructor(config: CountSketchConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('count', config, seed, plan, block)
    const [scalars, counts, keys, counters] = views(this.block, plan)
    this.#counters = counters
    this.#top = new TopTable(config.candidates, this.keys, scalars, keys, counts)
    this.#row = new Float64Array(config.rows)
    this.#confidence = 1 - atLeastHalf(config.rows, 1 / spread)
    if (config.candidates === 0) this.keys.omitWords()
    if (block) this.verify()
  }

  /** @internal */
  static configure(options: CountSketchOptions): CountSketchConfig {
    const rows = oddRows(options.rows ?? 5)
    const candidates = wholeNumber('candidates', options.candidates ?? 0, 0, 2 ** 24)
    return { keyBytes: options.keyBytes, rows, width: rowWidth(options, candidates, rows, 4), candidates }
  }

  /** @internal */
  static check(config: CountSketchConfig): number {
    checkRows(config)
    oddRows(config.rows)
    return plannedBytes(planOf(config))
  }

  protected override add(count: number): void {
    const { rows, candidates } = this.config
    this.#moment = Number.NaN
    let row = 0
    if (this.isSmall) for (; row + 2 <= rows; row += 2) this.#addTwo(count, row)
    for (; row < rows; row++) this.#addOne(count, row)
    if (candidates === 0) return
    const { h1, word, words } = this.keys
    for (let i = 0; i < count; i++) this.#top.offer(word, i * words, h1[i]!, this.#median(i))
  }

  /** Adds to two rows at once, which is faster than one by one. Nothing can saturate. */
  #addTwo(count: number, row: number): void {
    const { width } = this.config
    const { h1, h2, multipliers } = this.keys
    const [counters, amounts] = [this.#counters, this.amounts]
    const scale = width / 2 ** 32
    const [m0, m1] = [multipliers[row]!, multipliers[row + 1]!]
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

  #addOne(count: number, row: number): void {
    const { width } = this.config
    const { h1, h2, multipliers } = this.keys
    const [counters, amounts] = [this.#counters, this.amounts]
    const scale = width / 2 ** 32
    const small = this.isSmall
    const multiplier = multipliers[row]!
    for (let i = 0; i < count; i++) {
      const hash = hashIn(h1[i]!, h2[i]!, multiplier)
      const at = row * width + placeAt(hash, scale)
      const sum = counters[at]! + signOf(hash) * amounts[i]!
      counters[at] = small ? sum | 0 : Math.max(-most, Math.min(most, sum))
    }
  }

  /** The median over the rows for a key of the block. */
  #median(i: number): number {
    const { rows, width } = this.config
    const { h1, h2, multipliers } = this.keys
    const scale = width / 2 ** 32
    const row = this.#row
    for (let r = 0; r < rows; r++) {
      const hash = hashIn(h1[i]!, h2[i]!, multipliers[r]!)
      const value = Math.imul(signOf(hash), this.#counters[r * width + placeAt(hash, scale)]!)
      let at = r
      for (; at > 0 && row[at - 1]! > value; at--) row[at] = row[at - 1]!
      row[at] = value
    }
    return row[rows >> 1]!
  }

  /** The sum of the squares of all amounts, the median of the rows, enlarged for its own error. */
  #secondMoment(): number {
    const { rows, width } = this.config
    if (!Number.isNaN(this.#moment)) return this.#moment
    const sums = Array.from({ length: rows }, (_, row) => {
      let sum = 0
      for (let at = row * width; at < (row + 1) * width; at++) sum += this.#counters[at]! ** 2
      return sum
    })
    this.#moment = sums.sort((a, b) => a - b)[rows >> 1]! * (1 + 4 * Math.sqrt(2 / width))
    return this.#moment
  }

  /** Unbiased for a row; after `subtract` the value and its bounds may be negative. The first one after an update passes over all counters. */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    return this.#estimated(Math.sqrt((spread * this.#secondMoment()) / this.config.width))
  }

  #estimated(error: number): Estimate {
    const value = this.#median(0)
    const [confidence, saturated] = [this.#confidence, Math.abs(value) === most]
    if (saturated) return { value, lower: -this.total, upper: this.total, confidence }
    return { value, lower: Math.ceil(value - error), upper: Math.floor(value + error), confidence }
  }

  protected override kept(): KeyEstimate[] {
    assertCandidates(this.kind, this.config.candidates)
    const error = Math.sqrt((spread * this.#secondMoment()) / this.config.width)
    return tableKeys(this.#top).map((key) => {
      this.read(key)
      return { key, ...this.#estimated(error) }
    })
  }

  /** Adds the counters of a sketch of the same dimensions and seed: exactly the sketch of both streams. */
  merge(other: CountSketch): void {
    this.#combine(other, 1)
    this.scalars[Scalar.total]! += other.total
  }

  /**
   * Takes away the counters of another stream: estimates are then of differences, negative where the other had more. `total` is
   * then the sum of both totals, which bounds every difference.
   */
  subtract(other: CountSketch): void {
    this.#combine(other, -1)
    this.scalars[Scalar.total]! += other.total
  }

  #combine(other: CountSketch, sign: 1 | -1): void {
    this.assertFits(other)
    this.#moment = Number.NaN
    const [mine, theirs] = [this.#counters, other.#counters]
    if (sign < 0 && [mine, theirs].some((counters) => counters.some((value) => Math.abs(value) === most)))
      throw new SketchError('ERR_SKETCH_MISMATCH', 'count: a counter is saturated, so there is no difference')
    for (let i = 0; i < mine.length; i++) mine[i] = Math.max(-most, Math.min(most, mine[i]! + sign * theirs[i]!))
    const keys = [...tableKeys(this.#top), ...tableKeys(other.#top)]
    this.#top.clear()
    if (this.config.candidates === 0) return
    for (const key of keys) {
      this.read(key)
      // Of differences, large ones of either sign are wanted; the table keeps magnitudes, `kept` asks anew.
      this.#top.offer(this.keys.word, 0, this.keys.h1[0]!, Math.abs(this.#median(0)))
    }
  }

  protected override restored(): string | undefined {
    return this.#top.restored()
  }
}

/** 1 or −1: the place depends on the high bits of the hash, the sign on all of them. No branch: nobody can predict it. */
export function signOf(hash: number): number {
  return (Math.imul(hash, 0x9e3779b1) >> 31) | 1
}

export function oddRows(rows: number): number {
  if (wholeNumber('rows', rows, 1, 15) % 2 === 1) return rows
  throw new SketchError('ERR_SKETCH_VALUE', `rows: ${rows} is even, the median needs an odd number`)
}

/** The probability that of `rows` events, each of probability `p`, more than half happen. */
export function atLeastHalf(rows: number, p: number): number {
  let sum = 0
  let choose = 1
  for (let k = 0; k <= rows; k++) {
    if (2 * k > rows) sum += choose * p ** k * (1 - p) ** (rows - k)
    choose = (choose * (rows - k)) / (k + 1)
  }
  return sum
}
