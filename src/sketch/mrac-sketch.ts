/**
 * MRAC (Kumar, Sung, Xu and Wang, SIGMETRICS 2004): one row of counters, each the sum of the keys that hash to it, from which the
 * distribution of their amounts is estimated (mrac.ts). It is the fastest kind: one addition for each update.
 *
 * Cardinality is linear counting on the counters (cardinality.ts). Entropy has bounds that follow from it: keys of a counter put together
 * have no more entropy, so the counters are a lower bound; the upper bound shares the largest likely number of keys among the counters so
 * that entropy is largest (k keys in a counter of the share p add at most p log2 k). Once a counter is saturated, shares are not known:
 * then it is between 0 and the logarithm of the number of keys. For the distribution no bound is known.
 *
 * Where we differ: counters above 1023 are taken for one key each: the paper splits them by few combinations.
 */
import type { Estimate, SizeCount } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { type CardinalitySketch, linearCount } from './cardinality.ts'
import { atLeast } from './count-min.ts'
import { SketchError, wholeNumber } from './error.ts'
import { placeAt } from './keys.ts'
import { expectedFlows } from './mrac.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import {
  type KeyConfig,
  KeySketch,
  mostBytes,
  mostCount,
  Scalar,
  type SketchOptions,
  saturatingSum,
  scalarCount,
} from './sketch.ts'

export interface MracConfig extends KeyConfig {
  counters: number
}

/** Maximum sum that is split. */
const mostSplit = 1023

const planOf = (config: MracConfig) =>
  [
    [Float64Array, scalarCount],
    [Int32Array, config.counters],
  ] as const

export class Mrac extends KeySketch<MracConfig> implements CardinalitySketch {
  readonly #counters: Int32Array

  /** @internal */
  constructor(config: MracConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('mrac', config, seed, plan, block)
    const [, counters] = views(this.block, plan)
    this.#counters = counters
    this.keys.omitWords()
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['mrac']
  }

  /** @internal */
  static get fields(): readonly (keyof MracConfig & string)[] {
    return ['keyBytes', 'counters']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SketchOptions): Mrac {
    return createOf(Mrac, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): Mrac {
    return fromBytesOf(Mrac, bytes)
  }

  /** @internal */
  static configure(options: SketchOptions): MracConfig {
    const counters = Math.floor((options.bytes - 8 * scalarCount) / 4)
    return { keyBytes: options.keyBytes, counters: atLeast('bytes', options.bytes, counters) }
  }

  /** @internal */
  static check(config: MracConfig): number {
    wholeNumber('counters', config.counters, 8, mostBytes / 4)
    return plannedBytes(planOf(config))
  }

  protected override add(count: number): void {
    const { h1 } = this.keys
    const [counters, amounts] = [this.#counters, this.amounts]
    const scale = counters.length / 2 ** 32
    const small = this.isSmall
    for (let i = 0; i < count; i++) {
      const at = placeAt(h1[i]!, scale)
      counters[at] = saturatingSum(counters[at]!, amounts[i]!, small)
    }
  }

  /** Returns the number of keys: linear counting, with bounds of three standard errors (0.99). */
  cardinality(): Estimate {
    const zeros = this.#counters.reduce((sum, value) => sum + (value === 0 ? 1 : 0), 0)
    return linearCount(this.#counters.length, zeros, this.total)
  }

  /** Returns the number of keys of each amount: expectations (mrac.ts). No bound is known. */
  distribution(): SizeCount[] {
    const largest = this.#counters.reduce((most, value) => (value <= mostSplit ? Math.max(most, value) : most), 0)
    const values = new Float64Array(largest + 1)
    const large = new Map<number, number>()
    for (const value of this.#counters)
      if (value <= mostSplit) values[value]!++
      else large.set(value, (large.get(value) ?? 0) + 1)
    // Large ones are removed, as if their counters had only them: the counters of small keys do not depend on them.
    const small = values.reduce((sum, many) => sum + many, 0)
    const scale = small === 0 ? 0 : this.#counters.length / small
    const split = small === 0 ? [] : [...expectedFlows(values, small)]
    return [
      ...split.map((flows, size) => ({ size, flows: flows * scale })).filter(({ flows }) => flows > 0),
      ...[...large].sort(([a], [b]) => a - b).map(([size, flows]) => ({ size, flows })),
    ]
  }

  /** Returns the entropy of the amounts in bits, with the bounds at the head of this file (0.99). */
  entropy(): Estimate {
    const { total } = this
    if (total === 0) return { value: 0, lower: 0, upper: 0, confidence: 1 }
    const { upper: most, confidence } = this.cardinality()
    let value = 0
    for (const { size, flows } of this.distribution()) value += flows * (size / total) * Math.log2(total / size)
    // A saturated counter leaves only the bound from the maximum number of keys.
    if (this.#counters.includes(mostCount)) {
      const highest = Math.log2(Math.max(1, most))
      return { value: Math.min(highest, value), lower: 0, upper: highest, confidence }
    }
    const shares = this.#counters.filter((counter) => counter > 0)
    const lower = shares.reduce((sum, counter) => sum + (counter / total) * Math.log2(total / counter), 0)
    const upper = lower + spread(shares, total, most)
    return { value: Math.min(upper, Math.max(lower, value)), lower, upper, confidence }
  }

  /** Adds the counters: exactly the sketch of both streams. */
  merge(other: Mrac): void {
    this.assertFits(other)
    for (const [at, value] of other.#counters.entries())
      this.#counters[at] = Math.min(mostCount, this.#counters[at]! + value)
    this.scalars[Scalar.total]! += other.total
  }

  /** Subtracts an earlier state of the same stream. Throws ERR_SKETCH_MISMATCH, and changes nothing, if `earlier` is not such a state. */
  subtract(earlier: Mrac): void {
    this.assertFits(earlier)
    if (this.#counters.some((value, at) => value < earlier.#counters[at]! || value === mostCount))
      throw new SketchError('ERR_SKETCH_MISMATCH', 'mrac: the other is no earlier state, or a counter is saturated')
    for (const [at, value] of earlier.#counters.entries()) this.#counters[at]! -= value
    this.scalars[Scalar.total]! -= earlier.total
  }

  protected override restored(): string | undefined {
    let sum = 0
    for (const value of this.#counters) {
      if (value < 0) return 'a counter is below zero'
      sum += value
    }
    return sum > this.total ? 'the counters are more than the total' : undefined
  }
}

/** Returns the maximum of Σ p log2 k over counters of the share p, each with k ≥ 1 keys, `keys` in all: k = max(1, λ p). λ by bisection. */
function spread(counters: Int32Array, total: number, keys: number): number {
  if (keys <= counters.length) return 0
  let [low, high] = [0, 2 * keys]
  while (high <= total && sumOf(counters, total, high) < keys) high *= 2
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2
    if (sumOf(counters, total, middle) < keys) low = middle
    else high = middle
  }
  return counters.reduce((sum, counter) => {
    const share = counter / total
    return sum + share * Math.log2(Math.max(1, high * share))
  }, 0)
}

function sumOf(counters: Int32Array, total: number, lambda: number): number {
  return counters.reduce((sum, counter) => sum + Math.max(1, (lambda * counter) / total), 0)
}
