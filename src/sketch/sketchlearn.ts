/**
 * SketchLearn (Huang, Lee and Bao, "SketchLearn: relieving user burdens in approximate measurement with automated statistical inference",
 * SIGCOMM 2018): columns of counters, one for all keys of the column, and one for each bit of a key, for the keys that have it. Large keys
 * are read off the columns (bit-inference.ts), without a threshold that a user has to choose; each has an error of its own, derived from
 * the data.
 *
 * Bounds: with the large keys taken away, a key of the amount f adds f (b_k − p_k) to what the counter of bit k has above its share p_k of
 * the column. Least squares over all bits estimate f; the standard error comes from the residuals. By Chebyshev f is within √20 of them
 * with a probability of 0.95, if the keys' bits are no more alike than chance. Certain bounds are 0 and the smallest of the column's
 * counters of the key's bits: of those set, and of the column minus those not set.
 *
 * Where we differ: amounts by least squares, jointly for the large keys of a column (the paper takes the median over the bits, which two
 * large keys in a column mislead); one row; cardinality, entropy and distribution are left to kinds that are better at them. Counters have
 * 31 bits and saturate.
 */
import { descending, type Estimate, type KeyEstimate } from './answers.ts'
import { BitInference, type LargeKey } from './bit-inference.ts'
import { plannedBytes, views } from './block.ts'
import type { PartialKey } from './coco.ts'
import { SketchError, wholeNumber } from './error.ts'
import { blockKeys, keyOf, placeOf } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import {
  AmountSketch,
  type KeyConfig,
  mostBytes,
  mostCount,
  Scalar,
  type SketchOptions,
  saturatingSum,
  scalarCount,
} from './sketch.ts'

export interface SketchLearnConfig extends KeyConfig {
  columns: number
}

const confidence = 0.95
/** Number of standard errors that at most 1 in 20 exceeds, by Chebyshev. */
const deviations = Math.sqrt(20)

const planOf = ({ columns, keyBytes }: SketchLearnConfig) =>
  [
    [Float64Array, scalarCount],
    [Int32Array, columns * (8 * keyBytes + 1)],
  ] as const

export class SketchLearn extends AmountSketch<SketchLearnConfig> {
  readonly #counters: Int32Array
  /** Inferred large keys; none after a change, until an answer needs them. */
  #inferred: BitInference | undefined

  /** @internal */
  constructor(config: SketchLearnConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('sketchlearn', config, seed, plan, block)
    const [, counters] = views(this.block, plan)
    this.#counters = counters
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['sketchlearn']
  }

  /** @internal */
  static get fields(): readonly (keyof SketchLearnConfig & string)[] {
    return ['keyBytes', 'columns']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SketchOptions): SketchLearn {
    return createOf(SketchLearn, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): SketchLearn {
    return fromBytesOf(SketchLearn, bytes)
  }

  /** @internal */
  static configure(options: SketchOptions): SketchLearnConfig {
    const { keyBytes } = options
    const columns = Math.floor((options.bytes - 8 * scalarCount) / (4 * (8 * keyBytes + 1)))
    if (columns < 2) throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} are too few for two columns`)
    return { keyBytes, columns }
  }

  /** @internal */
  static check(config: SketchLearnConfig): number {
    wholeNumber('columns', config.columns, 2, mostBytes / 36)
    return wholeNumber('bytes', plannedBytes(planOf(config)), 1, mostBytes)
  }

  protected override add(count: number): void {
    const { columns, keyBytes } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    const counters = this.#counters
    const amounts = this.amounts
    const bits = 8 * keyBytes
    const small = this.isSmall
    const multiplier = multipliers[0]!
    this.#inferred = undefined
    for (let i = 0; i < count; i++) {
      const amount = amounts[i]!
      let at = placeOf(h1[i]!, h2[i]!, multiplier, columns / 2 ** 32) * (bits + 1)
      counters[at] = saturatingSum(counters[at]!, amount, small)
      for (let w = 0, left = bits; w < words; w++, left -= 32) {
        const x = word[i * words + w]!
        const end = Math.min(left, 32)
        // A bit is unpredictable: if no counter can saturate, there is no branch.
        for (let bit = 0; bit < end; bit++) {
          at++
          if (small) counters[at] = (counters[at]! + (amount & -((x >>> bit) & 1))) | 0
          else if ((x >>> bit) & 1) counters[at] = saturatingSum(counters[at]!, amount, small)
        }
      }
    }
  }

  #columnOf(h1: number, h2: number): number {
    return placeOf(h1, h2, this.keys.multipliers[0]!, this.config.columns / 2 ** 32)
  }

  #infer(): BitInference {
    this.#inferred ??= new BitInference(this.#counters, 8 * this.keyBytes, (words) => {
      this.keys.rehash(words, 0)
      return this.#columnOf(this.keys.h1[blockKeys]!, this.keys.h2[blockKeys]!)
    })
    return this.#inferred
  }

  /** Returns an amount with the bounds at the head of this file; confidence 0.95. */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const words = this.keys.word.slice(0, this.keys.words)
    const column = this.#columnOf(this.keys.h1[0]!, this.keys.h2[0]!)
    const inferred = this.#infer()
    const large = inferred.find(words, column)
    return this.#bounded(column, words, large ?? inferred.fit(words, column))
  }

  #bounded(column: number, words: Int32Array, { amount, error }: { amount: number; error: number }): Estimate {
    const { total } = this
    const most = this.#infer().mostOf(words, column)
    // The counter of the column has at least the amounts of those of bits: if it is not saturated, none is.
    if (this.#counters[column * (8 * this.keyBytes + 1)] === mostCount)
      return { value: Math.min(total, most), lower: 0, upper: total, confidence }
    const value = Math.round(Math.max(0, Math.min(most, amount)))
    const lower = Math.max(0, Math.min(value, Math.ceil(amount - deviations * error)))
    const upper = Math.min(most, Math.max(value, Math.floor(amount + deviations * error)))
    return { value, lower, upper, confidence }
  }

  #estimateOf({ words, column, amount, error }: LargeKey): KeyEstimate {
    return { key: keyOf(words, 0, this.keyBytes), ...this.#bounded(column, words, { amount, error }) }
  }

  /** Returns the large keys. The first call after an update infers them, which takes some milliseconds. */
  protected override kept(): KeyEstimate[] {
    return this.#infer().large.map((large) => this.#estimateOf(large))
  }

  /**
   * Returns the amounts by a partial key of the large keys, largest first. The upper bounds contain the amount that no large key has: all
   * of it could belong to one partial key.
   */
  aggregate(partialKey: PartialKey): KeyEstimate[] {
    const sums = new Map<string, KeyEstimate>()
    let rest = this.total
    for (const { key, value, lower, upper } of this.kept()) {
      rest -= lower
      const part = partialKey(key)
      const name = String.fromCharCode(...part)
      const sum = sums.get(name) ?? { key: part, value: 0, lower: 0, upper: 0, confidence }
      sum.value += value
      sum.lower += lower
      sum.upper += upper
      sums.set(name, sum)
    }
    for (const sum of sums.values()) sum.upper = Math.min(this.total, sum.upper + Math.max(0, rest))
    return [...sums.values()].sort(descending)
  }

  /** Adds the counters: exactly the sketch of both streams. */
  merge(other: SketchLearn): void {
    this.assertFits(other)
    this.#inferred = undefined
    for (const [at, value] of other.#counters.entries())
      this.#counters[at] = Math.min(mostCount, this.#counters[at]! + value)
    this.scalars[Scalar.total]! += other.total
  }

  /** Subtracts an earlier state of the same stream. Throws ERR_SKETCH_MISMATCH, and changes nothing, if `earlier` is not such a state. */
  subtract(earlier: SketchLearn): void {
    this.assertFits(earlier)
    if (this.#counters.some((value, at) => value < earlier.#counters[at]! || value === mostCount))
      throw new SketchError(
        'ERR_SKETCH_MISMATCH',
        'sketchlearn: the other is no earlier state, or a counter is saturated',
      )
    this.#inferred = undefined
    for (const [at, value] of earlier.#counters.entries()) this.#counters[at]! -= value
    this.scalars[Scalar.total]! -= earlier.total
  }

  protected override restored(): string | undefined {
    const stride = 8 * this.keyBytes + 1
    let sum = 0
    for (let at = 0; at < this.#counters.length; at++) {
      const value = this.#counters[at]!
      if (at % stride === 0) sum += value
      if (value < 0) return 'a counter is below zero'
      if (value > this.#counters[at - (at % stride)]!) return 'a bit has more than its column'
    }
    return sum > this.total ? 'the counters are more than the total' : undefined
  }
}
