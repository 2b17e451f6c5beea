/**
 * Count Sketch (Charikar, Chen and Farach-Colton, "Finding frequent items in data streams", ICALP 2002): d rows of w signed
 * counters; a key adds its amount times a random sign to one counter of each row, and its estimate is the median of the
 * counters times the signs. Linear, so that sketches add and subtract: the difference of two windows estimates changes.
 *
 * Lemma 2 there: a row is unbiased, its variance is at most F2 / w, F2 the sum of the squares of all amounts. By Chebyshev a row errs by
 * more than √(8 F2 / w) with a probability of at most 1/8, and the median only if half of the rows do: the confidence is that of
 * the binomial distribution (0.984 for five rows).
 *
 * Where we differ: F2 is not known, and estimated from the sketch itself (signed-rows.ts). Counters have 31 bits and a sign, and saturate; once one has, bounds
 * are those of the total. Rows: see keys.ts.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { assertCandidates, checkRows, rowWidth, tableKeys } from './count-min.ts'
import { SketchError, wholeNumber } from './error.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { SignedRows } from './signed-rows.ts'
import { AmountSketch, Scalar, type SketchOptions, scalarCount } from './sketch.ts'
import { TopTable } from './top-table.ts'

export interface CountSketchConfig {
  keyBytes: number
  rows: number
  width: number
  candidates: number
}

export interface CountSketchOptions extends SketchOptions {
  /** Number d of rows, an odd number from 1 to 15 (default 5). */
  rows?: number
  /** Keys that are kept for `topK` and `heavyHitters` (default 0: none). */
  candidates?: number
}

/** Flag among the scalars: a counter has saturated. */
const clipped = Scalar.own
/** Factor of Chebyshev's inequality: a row errs by more than √(this · F2 / w) with a probability of at most 1 / this. */
const spread = 8

const planOf = (config: CountSketchConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.candidates],
    [Int32Array, config.candidates * ((config.keyBytes + 3) >> 2)],
    [Int32Array, config.rows * config.width],
  ] as const

export class CountSketch extends AmountSketch<CountSketchConfig> {
  readonly #rows: SignedRows
  readonly #top: TopTable
  readonly #confidence: number

  /** @internal */
  constructor(config: CountSketchConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('count', config, seed, plan, block)
    const [scalars, counts, keys, counters] = views(this.block, plan)
    this.#rows = new SignedRows(config.rows, config.width, this.keys.multipliers, counters, scalars, clipped)
    this.#top = new TopTable(config.candidates, this.keys, scalars, keys, counts)
    this.#confidence = 1 - atLeastHalf(config.rows, 1 / spread)
    if (config.candidates === 0) this.keys.omitWords()
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['count']
  }

  /** @internal */
  static get fields(): readonly (keyof CountSketchConfig & string)[] {
    return ['keyBytes', 'rows', 'width', 'candidates']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: CountSketchOptions): CountSketch {
    return createOf(CountSketch, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): CountSketch {
    return fromBytesOf(CountSketch, bytes)
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
    this.#rows.addBlock(this.keys, this.amounts, count, this.isSmall)
    if (this.config.candidates === 0) return
    const { h1, h2, word, words } = this.keys
    for (let i = 0; i < count; i++) this.#top.offer(word, i * words, h1[i]!, this.#rows.median(h1[i]!, h2[i]!))
  }

  /** Returns the median of the first key of the block. */
  #median(): number {
    return this.#rows.median(this.keys.h1[0]!, this.keys.h2[0]!)
  }

  #error(): number {
    return Math.sqrt((spread * this.#rows.secondMoment()) / this.config.width)
  }

  /**
   * Returns an estimate that is unbiased for a row; after `subtract` the value and its bounds may be negative. The first call after an
   * update reads all counters.
   */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    return this.#estimated(this.#error())
  }

  #estimated(error: number): Estimate {
    const [value, confidence] = [this.#median(), this.#confidence]
    if (this.#rows.isSaturated) return { value, lower: -this.total, upper: this.total, confidence }
    return { value, lower: Math.ceil(value - error), upper: Math.floor(value + error), confidence }
  }

  protected override kept(): KeyEstimate[] {
    assertCandidates(this.kind, this.config.candidates)
    const error = this.#error()
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
   * Subtracts the counters of another stream: estimates are then of differences, negative if the other stream had more. `total` is
   * then the sum of both totals, which bounds every difference.
   */
  subtract(other: CountSketch): void {
    this.#combine(other, -1)
    this.scalars[Scalar.total]! += other.total
  }

  #combine(other: CountSketch, sign: 1 | -1): void {
    this.assertFits(other)
    if (sign < 0 && (this.#rows.isSaturated || other.#rows.isSaturated))
      throw new SketchError('ERR_SKETCH_MISMATCH', 'count: a counter was saturated, so there is no difference')
    this.#rows.combine(other.#rows, sign)
    const keys = [...tableKeys(this.#top), ...tableKeys(other.#top)]
    this.#top.clear()
    if (this.config.candidates === 0) return
    for (const key of keys) {
      this.read(key)
      // After a subtraction, large differences of either sign are wanted; the table keeps magnitudes, and `kept` estimates them anew.
      this.#top.offer(this.keys.word, 0, this.keys.h1[0]!, Math.abs(this.#median()))
    }
  }

  protected override restored(): string | undefined {
    return this.#rows.restored() ?? this.#top.restored()
  }
}

export function oddRows(rows: number): number {
  if (wholeNumber('rows', rows, 1, 15) % 2 === 1) return rows
  throw new SketchError('ERR_SKETCH_VALUE', `rows: ${rows} is even, the median needs an odd number`)
}

/** Returns the probability that more than half of `rows` events happen, each of probability `p`. */
export function atLeastHalf(rows: number, p: number): number {
  let sum = 0
  let choose = 1
  for (let k = 0; k <= rows; k++) {
    if (2 * k > rows) sum += choose * p ** k * (1 - p) ** (rows - k)
    choose = (choose * (rows - k)) / (k + 1)
  }
  return sum
}
