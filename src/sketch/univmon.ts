/**
 * UnivMon (Liu, Manousis, Vorsanger, Sekar and Braverman, "One sketch to rule them all", SIGCOMM 2016): levels of Count Sketches with the
 * largest keys of each; a key is in level 0, and in every next one with a probability of 1/2. From them any sum Σ g(f) over all keys is
 * estimated, g chosen afterwards, as long as g does not grow faster than f² (theorem 1 there, after Braverman and Ostrovsky, STOC 2010).
 *
 * The estimate goes down from the highest level (algorithm 2 there): Y_j = Σ_Q g + 2 (Y_(j+1) − Σ g of those of Q that are in level j + 1),
 * Q the kept keys of level j. So the keys that are not kept are estimated by twice their sample.
 *
 * Bounds: sampling the keys that are not kept, T_j, with 1/2 adds a variance of Σ g² ≤ g_max T_j, g_max the larger one of g(1) and that of
 * the smallest kept key, as g either never falls or never grows, and 18 g_max², since a few sampled keys, or none, reveal little about
 * their number; the noise of Count Sketch, with a variance of F2 / w, adds (g'(f))² F2 / w for each kept key; a level doubles the error of
 * the next one, so V_j is the sum of both and 4 V_(j+1). Answers are three √V_0 wide (0.99). With k kept keys, cardinality errs by about
 * 1 / √k. Sizes have the bounds of Count Sketch (count-sketch.ts).
 *
 * Where we differ: the estimate begins at the first level whose table is not full, since all its keys are there; the paper has no such
 * bounds. If all are full, the rest is unbounded: the upper bound is infinite.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import type { CardinalitySketch } from './cardinality.ts'
import { atLeast, checkRows, tableKeys } from './count-min.ts'
import { atLeastHalf, oddRows } from './count-sketch.ts'
import { between, wholeNumber } from './error.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { SignedRows } from './signed-rows.ts'
import { AmountSketch, type KeyConfig, Scalar, type SketchOptions, scalarCount } from './sketch.ts'
import { TopTable } from './top-table.ts'

export interface UnivMonConfig extends KeyConfig {
  levels: number
  rows: number
  width: number
  /** Number of kept keys of a level. */
  candidates: number
}

export interface UnivMonOptions extends SketchOptions {
  /** Number of levels, 1 to 24 (default 12): enough if so many halvings leave fewer keys than a level keeps. */
  levels?: number
  /** Number d of rows of each Count Sketch, odd (default 5). */
  rows?: number
  /** Share of the memory for kept keys (default 0.5). */
  keptShare?: number
}

/** Flag among the scalars: a counter has saturated. */
const clipped = Scalar.own
const deviations = 3
const confidence = 0.99
/** Addition to the variance of a sum of which each part was sampled with 1/2: the variance estimated from a small sample is too small. */
const fewSamples: number = 2 * deviations ** 2
/** Factor of Chebyshev's inequality, as in count-sketch.ts. */
const spread = 8

const planOf = ({ levels, rows, width, candidates, keyBytes }: UnivMonConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, levels * scalarCount],
    [Float64Array, levels * candidates],
    [Int32Array, levels * candidates * ((keyBytes + 3) >> 2)],
    [Int32Array, levels * rows * width],
  ] as const

interface Level {
  rows: SignedRows
  top: TopTable
}

export class UnivMon extends AmountSketch<UnivMonConfig> implements CardinalitySketch {
  readonly #levels: readonly Level[]
  readonly #confidence: number

  /** @internal */
  constructor(config: UnivMonConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('univmon', config, seed, plan, block)
    const [scalars, sizes, counts, keys, counters] = views(this.block, plan)
    const { rows, width, candidates } = config
    this.#levels = Array.from({ length: config.levels }, (_, level) => {
      const part = <A extends Float64Array | Int32Array>(array: A, length: number) =>
        array.subarray(level * length, (level + 1) * length) as A
      return {
        rows: new SignedRows(rows, width, this.keys.multipliers, part(counters, rows * width), scalars, clipped),
        top: new TopTable(
          candidates,
          this.keys,
          part(sizes, scalarCount),
          part(keys, candidates * this.keys.words),
          part(counts, candidates),
        ),
      }
    })
    this.#confidence = 1 - atLeastHalf(rows, 1 / spread)
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['univmon']
  }

  /** @internal */
  static get fields(): readonly (keyof UnivMonConfig & string)[] {
    return ['keyBytes', 'levels', 'rows', 'width', 'candidates']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: UnivMonOptions): UnivMon {
    return createOf(UnivMon, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): UnivMon {
    return fromBytesOf(UnivMon, bytes)
  }

  /** @internal */
  static configure(options: UnivMonOptions): UnivMonConfig {
    const levels = wholeNumber('levels', options.levels ?? 12, 1, 24)
    const rows = oddRows(options.rows ?? 5)
    const share = between('keptShare', options.keptShare ?? 0.5, 0, 1)
    const each = Math.floor((options.bytes - 8 * scalarCount) / levels) - 8 * scalarCount
    let candidates = Math.max(1, Math.floor((share * each) / (4 * ((options.keyBytes + 3) >> 2) + 28)))
    while (candidates > 1 && TopTable.bytesFor(candidates, options.keyBytes) > share * each)
      candidates = Math.floor(candidates * 0.99)
    const left = each - TopTable.bytesFor(candidates, options.keyBytes)
    const width = atLeast('bytes', options.bytes, Math.floor(left / (4 * rows)))
    return { keyBytes: options.keyBytes, levels, rows, width, candidates }
  }

  /** @internal */
  static check(config: UnivMonConfig): number {
    wholeNumber('levels', config.levels, 1, 24)
    wholeNumber('candidates', config.candidates, 1, 2 ** 24)
    checkRows(config)
    oddRows(config.rows)
    return plannedBytes(planOf(config))
  }

  protected override add(count: number): void {
    const { rows } = this.config
    const { h1, h2, word, words } = this.keys
    for (let i = 0; i < count; i++) {
      const amount = this.amounts[i]!
      if (amount === 0) continue
      const highest = this.#highest(h1[i]!, h2[i]!)
      for (let at = 0; at <= highest; at++) {
        const level = this.#levels[at]!
        for (let row = 0; row < rows; row++) level.rows.add(row, h1[i]!, h2[i]!, amount)
        level.top.offer(word, i * words, h1[i]!, level.rows.median(h1[i]!, h2[i]!))
      }
    }
  }

  /** Returns the highest level of a key: one more with a probability of 1/2 each. */
  #highest(h1: number, h2: number): number {
    return Math.min(this.config.levels - 1, Math.clz32(Math.imul(h1 ^ h2, 0x9e3779b1)))
  }

  /** True if a counter has saturated. All levels share the flag: the lowest has all keys. */
  get #isSaturated(): boolean {
    return this.#levels[0]!.rows.isSaturated
  }

  /** Returns an amount as Count Sketch does, not below zero. The first call after an update reads all counters. */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const { total } = this
    const { rows } = this.#levels[0]!
    const median = rows.median(this.keys.h1[0]!, this.keys.h2[0]!)
    const value = Math.max(0, Math.min(total, median))
    const error = Math.sqrt((spread * rows.secondMoment()) / this.config.width)
    if (this.#isSaturated)
      return { value: Math.min(total, Math.abs(median)), lower: 0, upper: total, confidence: this.#confidence }
    const upper = Math.min(total, Math.max(0, Math.floor(median + error)))
    return {
      value,
      lower: Math.min(upper, Math.max(0, Math.ceil(median - error))),
      upper,
      confidence: this.#confidence,
    }
  }

  protected override kept(): KeyEstimate[] {
    return tableKeys(this.#levels[0]!.top).map((key) => ({ key, ...this.estimate(key) }))
  }

  /**
   * Returns Σ g(f) over all keys, f their amounts from 1 on, with bounds (at the head of this file; 0.99). g has to be smooth, not
   * negative, either never decreasing or never increasing, and must not grow faster than f²; for 1 the sum is the cardinality, for f log2 f
   * the term of the entropy, for f² the second moment. If a counter has saturated, or the tables of all levels are full, the upper bound is
   * infinite.
   */
  sum(g: (amount: number) => number): Estimate {
    const free = this.#levels.findIndex(({ top }) => !top.isFull)
    const base = free < 0 ? this.#levels.length - 1 : free
    let [value, variance] = [0, 0]
    for (let at = base; at >= 0; at--) {
      const { top, rows } = this.#levels[at]!
      const noise = rows.secondMoment() / rows.width
      let [kept, sampled, own, least] = [0, 0, 0, Number.POSITIVE_INFINITY]
      for (const key of tableKeys(top)) {
        this.read(key)
        const [h1, h2] = [this.keys.h1[0]!, this.keys.h2[0]!]
        const amount = Math.max(1, Math.min(this.total, rows.median(h1, h2)))
        kept += g(amount)
        if (at < base && this.#highest(h1, h2) > at) sampled += g(amount)
        const below = Math.max(1, amount - 1)
        own += ((g(amount + 1) - g(below)) / (amount + 1 - below)) ** 2 * noise
        least = Math.min(least, amount)
      }
      const rest = at === base ? 0 : Math.max(0, 2 * (value - sampled))
      value = kept + rest
      const most = Math.max(Math.abs(g(1)), Math.abs(g(least)))
      variance = own + 4 * variance + (at === base ? 0 : most * (rest + fewSamples * most))
    }
    if (this.#isSaturated || free < 0) return { value, lower: 0, upper: Number.POSITIVE_INFINITY, confidence }
    const error = deviations * Math.sqrt(variance)
    return { value, lower: Math.max(0, value - error), upper: value + error, confidence }
  }

  /** Returns the number of different keys. */
  cardinality(): Estimate {
    if (this.total === 0) return { value: 0, lower: 0, upper: 0, confidence: 1 }
    const { value, lower, upper } = this.sum(() => 1)
    const { total } = this
    return {
      value: Math.min(total, value),
      lower: Math.min(total, Math.floor(lower)),
      upper: Math.min(total, Math.ceil(upper)),
      confidence,
    }
  }

  /** Returns the entropy of the amounts in bits: log2 N − Σ f log2 f / N. */
  entropy(): Estimate {
    const { total } = this
    if (total === 0) return { value: 0, lower: 0, upper: 0, confidence: 1 }
    const sum = this.sum((amount) => (amount > 0 ? amount * Math.log2(amount) : 0))
    const [most, entropy] = [Math.log2(total), (part: number) => Math.max(0, Math.log2(total) - part / total)]
    return {
      value: Math.min(most, entropy(sum.value)),
      lower: entropy(sum.upper),
      upper: Math.min(most, entropy(sum.lower)),
      confidence,
    }
  }

  /** Adds the counters of each level, and estimates the kept keys of both anew: the counters are exactly those of both streams. */
  merge(other: UnivMon): void {
    this.assertFits(other)
    this.scalars[Scalar.total]! += other.total
    for (const [at, { rows, top }] of this.#levels.entries()) {
      rows.combine(other.#levels[at]!.rows, 1)
      const keys = [...tableKeys(top), ...tableKeys(other.#levels[at]!.top)]
      top.clear()
      for (const key of keys) {
        this.read(key)
        const [h1, h2] = [this.keys.h1[0]!, this.keys.h2[0]!]
        top.offer(this.keys.word, 0, h1, rows.median(h1, h2))
      }
    }
  }

  protected override restored(): string | undefined {
    const flag = this.#levels[0]!.rows.restored()
    if (flag !== undefined) return flag
    for (const [at, { top }] of this.#levels.entries()) {
      const wrong = top.restored()
      if (wrong !== undefined) return wrong
      for (const key of tableKeys(top)) {
        this.read(key)
        if (this.#highest(this.keys.h1[0]!, this.keys.h2[0]!) < at) return 'a key is in a level that is not its own'
      }
    }
    return undefined
  }
}
