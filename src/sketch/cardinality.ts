/**
 * Number of different keys: HyperLogLog and linear counting. Only the hash of a key is kept, so its amount adds to `total` only.
 *
 * HyperLogLog (Flajolet, Fusy, Gandouet and Meunier, AofA 2007): m registers with the largest number of leading zeros, plus one, of the
 * hashes that fall on each; the relative standard error is 1.04 / √m (theorem 1 there). Where we differ: registers have 8 bits, not 6; the
 * estimator is the improved raw one of Ertl (arXiv 1702.01284, section 3), which has no bias to correct at small or large numbers.
 *
 * Linear counting (Whang, Vander-Zanden and Taylor, TODS 15, 1990): a bitmap of m bits, of which z stay 0; n̂ = m ln(m / z), with the
 * standard error √(m (e^t − t − 1)), t = n / m (theorem 1 there). Better than HyperLogLog while n is at most a few times m.
 *
 * Bounds are three standard errors, with a confidence of 0.99: both estimates are asymptotically normal.
 */
import type { Estimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { SketchError, wholeNumber } from './error.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { type KeyConfig, KeySketch, mostBytes, Scalar, type SketchOptions, scalarCount } from './sketch.ts'

const deviations = 3
const confidence = 0.99

/** Sketches that count different keys. */
export interface CardinalitySketch {
  /** Returns the number of different keys that were added, with bounds. */
  cardinality(): Estimate
}

function bounded(value: number, sigma: number, total: number): Estimate {
  // Every key has an amount of at least 1.
  const upper = Math.min(total, Math.ceil(value + deviations * sigma))
  return {
    value: Math.min(value, total),
    lower: Math.max(0, Math.floor(value - deviations * sigma)),
    upper,
    confidence,
  }
}

export interface HyperLogLogConfig extends KeyConfig {
  /** Precision p: there are 2^p registers. */
  precision: number
}

const registersOf = (config: HyperLogLogConfig) =>
  [
    [Float64Array, scalarCount],
    [Uint8Array, 2 ** config.precision],
  ] as const

/** Maximum rank: leading zeros are counted in 32 bits. */
const mostRank = 33

export class HyperLogLog extends KeySketch<HyperLogLogConfig> implements CardinalitySketch {
  readonly #registers: Uint8Array

  /** @internal */
  constructor(config: HyperLogLogConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = registersOf(config)
    super('hyperloglog', config, seed, plan, block)
    const [, registers] = views(this.block, plan)
    this.#registers = registers
    this.keys.omitWords()
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['hyperloglog']
  }

  /** @internal */
  static get fields(): readonly (keyof HyperLogLogConfig & string)[] {
    return ['keyBytes', 'precision']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SketchOptions): HyperLogLog {
    return createOf(HyperLogLog, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): HyperLogLog {
    return fromBytesOf(HyperLogLog, bytes)
  }

  /** @internal */
  static configure(options: SketchOptions): HyperLogLogConfig {
    const precision = Math.min(24, Math.floor(Math.log2(Math.max(1, options.bytes - 8 * scalarCount))))
    if (precision < 4) throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} are fewer than 80`)
    return { keyBytes: options.keyBytes, precision }
  }

  /** @internal */
  static check(config: HyperLogLogConfig): number {
    wholeNumber('precision', config.precision, 4, 24)
    return plannedBytes(registersOf(config))
  }

  protected override add(count: number): void {
    const { h1, h2 } = this.keys
    const [registers, amounts] = [this.#registers, this.amounts]
    const shift = 32 - this.config.precision
    for (let i = 0; i < count; i++) {
      if (amounts[i] === 0) continue
      const at = h1[i]! >>> shift
      const rank = Math.clz32(h2[i]!) + 1
      if (registers[at]! < rank) registers[at] = rank
    }
  }

  cardinality(): Estimate {
    const registers = this.#registers.length
    const ranks = new Float64Array(mostRank + 1)
    for (const rank of this.#registers) ranks[rank]!++
    let z = registers * tau(1 - ranks[mostRank]! / registers)
    for (let rank = mostRank - 1; rank >= 1; rank--) z = (z + ranks[rank]!) / 2
    z += registers * sigma(ranks[0]! / registers)
    const value = registers ** 2 / (2 * Math.LN2 * z)
    return bounded(value, (1.04 / Math.sqrt(registers)) * value, this.total)
  }

  /** Keeps the larger of each two registers: exactly the sketch of both streams. */
  merge(other: HyperLogLog): void {
    this.assertFits(other)
    for (const [at, rank] of other.#registers.entries()) if (this.#registers[at]! < rank) this.#registers[at] = rank
    this.scalars[Scalar.total]! += other.total
  }

  protected override restored(): string | undefined {
    return this.#registers.some((rank) => rank > mostRank) ? 'a register has more zeros than a hash' : undefined
  }
}

/** Returns σ of Ertl: x + Σ x^(2^k) 2^(k − 1). */
function sigma(x: number): number {
  if (x === 1) return Number.POSITIVE_INFINITY
  let [power, weight, sum, before] = [x, 1, x, -1]
  while (sum !== before) {
    before = sum
    power *= power
    sum += power * weight
    weight *= 2
  }
  return sum
}

/** Returns τ of Ertl: (1 − x − Σ (1 − x^(2^−k))² 2^−k) / 3. */
function tau(x: number): number {
  if (x === 0 || x === 1) return 0
  let [root, weight, sum, before] = [x, 1, 1 - x, -1]
  while (sum !== before) {
    before = sum
    root = Math.sqrt(root)
    weight /= 2
    sum -= (1 - root) ** 2 * weight
  }
  return sum / 3
}

export interface LinearCountingConfig extends KeyConfig {
  /** Bits of the map, in words of 32. */
  words: number
}

const mapOf = (config: LinearCountingConfig) =>
  [
    [Float64Array, scalarCount],
    [Uint32Array, config.words],
  ] as const

export class LinearCounting extends KeySketch<LinearCountingConfig> implements CardinalitySketch {
  readonly #map: Uint32Array

  /** @internal */
  constructor(config: LinearCountingConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = mapOf(config)
    super('linear-counting', config, seed, plan, block)
    const [, map] = views(this.block, plan)
    this.#map = map
    this.keys.omitWords()
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['linear-counting']
  }

  /** @internal */
  static get fields(): readonly (keyof LinearCountingConfig & string)[] {
    return ['keyBytes', 'words']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SketchOptions): LinearCounting {
    return createOf(LinearCounting, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): LinearCounting {
    return fromBytesOf(LinearCounting, bytes)
  }

  /** @internal */
  static configure(options: SketchOptions): LinearCountingConfig {
    const words = Math.floor((options.bytes - 8 * scalarCount) / 4)
    if (words < 1) throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} are fewer than 68`)
    return { keyBytes: options.keyBytes, words: Math.min(words, 2 ** 26) }
  }

  /** @internal */
  static check(config: LinearCountingConfig): number {
    wholeNumber('words', config.words, 1, Math.min(2 ** 26, mostBytes))
    return plannedBytes(mapOf(config))
  }

  protected override add(count: number): void {
    const { h1 } = this.keys
    const [map, amounts] = [this.#map, this.amounts]
    const scale = (32 * map.length) / 2 ** 32
    for (let i = 0; i < count; i++) {
      if (amounts[i] === 0) continue
      const bit = ((h1[i]! >>> 0) * scale) | 0
      map[bit >>> 5]! |= 1 << (bit & 31)
    }
  }

  /** Returns the number of different keys. If every bit is set, the total is the only upper bound. */
  cardinality(): Estimate {
    const bits = 32 * this.#map.length
    return linearCount(bits, bits - onesIn(this.#map), this.total)
  }

  /** Combines the bits of both by OR: exactly the sketch of both streams. */
  merge(other: LinearCounting): void {
    this.assertFits(other)
    for (let at = 0; at < this.#map.length; at++) this.#map[at]! |= other.#map[at]!
    this.scalars[Scalar.total]! += other.total
  }

  protected override restored(): string | undefined {
    return onesIn(this.#map) > this.total ? 'there are more keys than amounts' : undefined
  }
}

/**
 * Returns the number of keys if `zeros` of `cells` stayed empty, with the bounds at the head of this file; without an empty cell, up to the
 * total.
 */
export function linearCount(cells: number, zeros: number, total: number): Estimate {
  const load = Math.log(cells / Math.max(1, zeros))
  const answer = bounded(cells * load, Math.sqrt(cells * (Math.exp(load) - load - 1)), total)
  return zeros > 0 ? answer : { ...answer, upper: total }
}

/** Returns the number of bits of a bitmap that are set. */
export function onesIn(map: Uint32Array): number {
  let ones = 0
  for (const word of map) {
    let x = word - ((word >>> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >>> 2) & 0x33333333)
    ones += Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return ones
}
