/**
 * NitroSketch (Liu, Ben-Basat, Einziger, Kassner, Braverman, Friedman and Sekar, SIGCOMM 2019) around Count Sketch: of each update only
 * some rows are touched, each with a probability of p, and get the amount divided by p. The number of skipped rows is drawn from the
 * geometric distribution, so that a skipped row costs nothing: neither a random number nor a hash.
 *
 * Estimates stay unbiased. A row varies by (F2 + (s − 1) S2) / w because of other keys, s = 1 / p, F2 the sum of the squares of the amounts
 * of keys, S2 that of the updates; the sum of the squares of its counters has exactly that mean without the division by w. It also varies
 * by at most (s − 1) f a because of the key's own updates, a the largest one. By Chebyshev a row errs by more than √8 standard deviations
 * with a probability of at most 1/8, the median only if half of the rows do (0.984 for five rows). The paper's theorem 2 states the same in
 * the form of ε once the stream is long enough; the bounds here hold from the first update on.
 *
 * Where we differ: s is fixed and whole (the paper also adapts it to the rate). The wrapped sketch is Count Sketch, whose
 * median makes sampling harmless; the smallest of Count-Min's rows would not.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { assertCandidates, checkRows, rowWidth, tableKeys } from './count-min.ts'
import { atLeastHalf, type CountSketchOptions, oddRows } from './count-sketch.ts'
import { manyKeys, mostAmount, SketchError, wholeNumber } from './error.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { nextRandom, Random, type SeedLike, seedFrom } from './seed.ts'
import { SignedRows } from './signed-rows.ts'
import { AmountSketch, type KeyConfig, Scalar, scalarCount } from './sketch.ts'
import { TopTable } from './top-table.ts'

export interface NitroConfig extends KeyConfig {
  rows: number
  width: number
  candidates: number
  /** Sampling s. */
  sampling: number
}

export interface NitroOptions extends CountSketchOptions {
  /** Sampling s: one of s rows is touched, 1 to 65536 (default 20). */
  sampling?: number
  /** Seed of the sampling; random by default, so that sketches of one seed that are to be merged sample independently. */
  coins?: SeedLike
}

/** Number of rows to skip before the next that is touched. */
const toPass = Scalar.own
/** Maximum amount of an update. */
const largest = Scalar.own + 1
/** Flag among the scalars: a counter has saturated. */
const clipped = Scalar.own + 2
/** Factor of Chebyshev's inequality, as in count-sketch.ts. */
const spread = 8

const planOf = (config: NitroConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.candidates],
    [Int32Array, config.candidates * ((config.keyBytes + 3) >> 2)],
    [Int32Array, config.rows * config.width],
  ] as const

export class NitroSketch extends AmountSketch<NitroConfig> {
  readonly #rows: SignedRows
  readonly #top: TopTable
  readonly #confidence: number

  /** @internal */
  constructor(config: NitroConfig, seed: Uint8Array, block?: ArrayBuffer, options?: NitroOptions) {
    const plan = planOf(config)
    super('nitro', config, seed, plan, block)
    const [scalars, counts, keys, counters] = views(this.block, plan)
    this.#rows = new SignedRows(config.rows, config.width, this.keys.multipliers, counters, scalars, clipped)
    this.#top = new TopTable(config.candidates, this.keys, scalars, keys, counts)
    this.#confidence = 1 - atLeastHalf(config.rows, 1 / spread)
    if (block) this.verify()
    else {
      scalars[Scalar.random] = new Random(seedFrom(options?.coins)).bits() | 1
      scalars[toPass] = this.#gap()
    }
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['nitro']
  }

  /** @internal */
  static get fields(): readonly (keyof NitroConfig & string)[] {
    return ['keyBytes', 'rows', 'width', 'candidates', 'sampling']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: NitroOptions): NitroSketch {
    return createOf(NitroSketch, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): NitroSketch {
    return fromBytesOf(NitroSketch, bytes)
  }

  /** @internal */
  static configure(options: NitroOptions): NitroConfig {
    const rows = oddRows(options.rows ?? 5)
    const candidates = wholeNumber('candidates', options.candidates ?? 0, 0, 2 ** 24)
    const sampling = wholeNumber('sampling', options.sampling ?? 20, 1, 65536)
    return { keyBytes: options.keyBytes, rows, width: rowWidth(options, candidates, rows, 4), candidates, sampling }
  }

  /** @internal */
  static check(config: NitroConfig): number {
    checkRows(config)
    oddRows(config.rows)
    wholeNumber('sampling', config.sampling, 1, 65536)
    return plannedBytes(planOf(config))
  }

  /** Draws the number of rows to skip: geometric with the probability 1 / s. */
  #gap(): number {
    if (this.config.sampling === 1) return 0
    const random = nextRandom(this.scalars[Scalar.random]! | 0)
    this.scalars[Scalar.random] = random
    return Math.floor(Math.log(((random >>> 0) + 0.5) / 2 ** 32) / Math.log1p(-1 / this.config.sampling))
  }

  override updateMany(keys: Uint8Array, amounts: Uint32Array | number = 1): void {
    const count = manyKeys(keys, this.keyBytes, amounts)
    if (typeof amounts === 'number') {
      this.#note(amounts, count)
      this.#sample(count, (i) => {
        this.keys.load(keys, i * this.keyBytes, 1)
        return amounts
      })
    } else {
      for (const amount of amounts) this.#note(amount, 1)
      this.#sample(count, (i) => {
        this.keys.load(keys, i * this.keyBytes, 1)
        return amounts[i]!
      })
    }
  }

  override update(key: Uint8Array, amount: number = 1): void {
    this.read(key)
    this.#note(wholeNumber('amount', amount, 0, mostAmount), 1)
    this.#sample(1, () => amount)
  }

  #note(amount: number, count: number): void {
    this.scalars[Scalar.total]! += amount * count
    if (amount > this.scalars[largest]! && count > 0) this.scalars[largest] = amount
  }

  /** Touches rows of the next `count` updates. `load` reads a key into the first entry and returns its amount. */
  #sample(count: number, load: (i: number) => number): void {
    const { rows, candidates, sampling } = this.config
    const { h1, h2 } = this.keys
    let next = this.scalars[toPass]!
    while (next < count * rows) {
      const i = Math.floor(next / rows)
      const amount = load(i)
      this.#rows.add(next - i * rows, h1[0]!, h2[0]!, amount * sampling)
      if (candidates > 0) this.#top.offer(this.keys.word, 0, h1[0]!, this.#rows.median(h1[0]!, h2[0]!))
      next += 1 + this.#gap()
    }
    this.scalars[toPass] = next - count * rows
  }

  protected override add(): void {
    throw new SketchError('ERR_SKETCH_UNSUPPORTED', 'nitro: updates do not come in blocks')
  }

  /** Returns an amount with the bounds at the head of this file. The first call after an update reads all counters. */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const { total } = this
    const median = this.#rows.median(this.keys.h1[0]!, this.keys.h2[0]!)
    if (this.#rows.isSaturated)
      return { value: Math.min(total, Math.abs(median)), lower: 0, upper: total, confidence: this.#confidence }
    const value = Math.max(0, Math.min(total, median))
    // err² = 8 (M / w + (value + err) a (s − 1)), solved for err.
    const own = (spread / 2) * this.scalars[largest]! * (this.config.sampling - 1)
    const error = own + Math.sqrt(own ** 2 + (spread * this.#rows.secondMoment()) / this.config.width + 2 * own * value)
    const lower = Math.max(0, Math.ceil(median - error))
    return {
      value,
      lower,
      upper: Math.min(total, Math.max(0, Math.floor(median + error))),
      confidence: this.#confidence,
    }
  }

  protected override kept(): KeyEstimate[] {
    assertCandidates(this.kind, this.config.candidates)
    return tableKeys(this.#top).map((key) => ({ key, ...this.estimate(key) }))
  }

  /**
   * Adds the counters of a sketch of the same dimensions and seed: unbiased for both streams, since their rows were sampled independently.
   */
  merge(other: NitroSketch): void {
    this.assertFits(other)
    this.#rows.combine(other.#rows, 1)
    this.scalars[Scalar.total]! += other.total
    this.scalars[largest] = Math.max(this.scalars[largest]!, other.scalars[largest]!)
    const keys = [...tableKeys(this.#top), ...tableKeys(other.#top)]
    this.#top.clear()
    for (const key of keys) {
      this.read(key)
      this.#top.offer(this.keys.word, 0, this.keys.h1[0]!, this.#rows.median(this.keys.h1[0]!, this.keys.h2[0]!))
    }
  }

  protected override restored(): string | undefined {
    const [pass, amount] = [this.scalars[toPass]!, this.scalars[largest]!]
    if (!(Number.isInteger(pass) && pass >= 0)) return 'the rows to pass over are impossible'
    if (!(Number.isInteger(amount) && amount >= 0 && amount <= Math.min(mostAmount, this.total)))
      return 'the largest amount is impossible'
    return this.#rows.restored() ?? this.#top.restored()
  }
}
