/**
 * KLL (Karnin, Lang and Liberty, "Optimal quantile approximation in streams", FOCS 2016): levels of values, of which one at level h stands
 * for 2^h values. A level that is full is sorted, and every second value goes up, the odd ones or the even ones by a coin. Levels below the
 * highest hold k, (2/3) k, (2/3)² k, … values, so that memory does not grow with the stream.
 *
 * The bound is that of the proof of theorem 1 there: a compaction at level h changes the rank of any fixed value by 0 or ±2^h, with mean 0.
 * By Hoeffding, with V the sum of 4^h over all compactions, the rank errs by more than √(2 V ln(2 / δ)) with a probability of at most δ.
 * The times at which levels compact depend on the number of values, not on coins, so V is counted at each compaction, and the bound is that
 * of the actual stream, not of the worst one. Summed up, that worst one is 8 n / k (δ = 0.01): n 2^h / (k (2/3)^(H − h)) for each level
 * below the highest, H, and 2^H ≤ 2 n / k; values that are added many times at once open no level above that.
 *
 * Where we differ: levels use all memory that is left before they compact; levels of fewer than two values stay, where the paper has a
 * sampler.
 */
import type { Estimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { SketchError, wholeNumber, wrongNumber } from './error.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { nextRandom, Random, type SeedLike, seedBytes } from './seed.ts'
import { mostBytes, Scalar, Sketch, scalarCount } from './sketch.ts'

export interface KllConfig {
  /** Values that the highest level holds. */
  k: number
}

export interface KllOptions {
  /** Memory, about 24 k + 900: 6 KB have a k of 200. */
  bytes: number
  /** Seed of the coins; random by default. Nothing is hashed, so sketches merge whatever their seeds; their coins should differ. */
  seed?: SeedLike
}

const levelCount = Scalar.own
/** Variance V. */
const variance = Scalar.own + 1
const least = Scalar.own + 2
const most = Scalar.own + 3
/** Maximum number of levels: totals are below 2^53. */
const mostLevels = 54
const mostTotal = 2 ** 53
const shrink = 2 / 3
const doubt = 0.01

const levelSize = (k: number, depth: number) => Math.max(2, Math.ceil(k * shrink ** depth))

function slots(k: number): number {
  let sum = 0
  for (let depth = 0; depth < mostLevels; depth++) sum += levelSize(k, depth)
  return sum
}

const planOf = (config: KllConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, slots(config.k)],
    [Uint32Array, mostLevels + 1],
  ] as const

export class Kll extends Sketch<KllConfig> {
  readonly #items: Float64Array
  /** Beginning of each level; the lowest is first, and begins where free memory ends. */
  readonly #starts: Uint32Array
  /** Values in increasing order and the cumulative number up to each; undefined after a change. */
  #sorted: { values: Float64Array; sums: Float64Array } | undefined

  /** @internal */
  constructor(config: KllConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('kll', config, block ? seed : new Uint8Array(seedBytes), plan, block)
    const [scalars, items, starts] = views(this.block, plan)
    this.#items = items
    this.#starts = starts
    if (block) this.verify()
    else {
      scalars[Scalar.random] = new Random(seed).bits() | 1
      scalars[levelCount] = 1
      starts.fill(items.length)
    }
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['kll']
  }

  /** @internal */
  static get fields(): readonly (keyof KllConfig & string)[] {
    return ['k']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: KllOptions): Kll {
    return createOf(Kll, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): Kll {
    return fromBytesOf(Kll, bytes)
  }

  /** @internal */
  static configure(options: KllOptions): KllConfig {
    const fits = (k: number) => plannedBytes(planOf({ k })) <= options.bytes
    if (!fits(8)) throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} are too few for a k of 8`)
    let [k, above] = [8, 2 ** 26]
    while (above - k > 1) {
      const middle = (k + above) >> 1
      if (fits(middle)) k = middle
      else above = middle
    }
    return { k }
  }

  /** @internal */
  static check(config: KllConfig): number {
    wholeNumber('k', config.k, 8, 2 ** 26)
    return wholeNumber('bytes', plannedBytes(planOf(config)), 1, mostBytes)
  }

  /** Adds a finite value `count` times. */
  add(value: number, count: number = 1): void {
    if (!Number.isFinite(value)) throw wrongNumber('value', value, 'a finite number')
    wholeNumber('count', count, 0, 2 ** 52)
    if (count === 0) return
    this.#extend(value, value, count)
    // Not above the highest level that 2^H ≤ 2 n / k allows: the value is stored several times then.
    const highest = Math.floor(Math.log2((2 * this.total) / this.config.k))
    let rest = count
    let level = 0
    for (; rest > 0 && level < highest; level++) {
      if (rest % 2 === 1) this.#insert(value, level)
      rest = Math.floor(rest / 2)
    }
    for (; rest > 0; rest--) this.#insert(value, level)
  }

  #extend(low: number, high: number, count: number): void {
    const scalars = this.scalars
    if (this.total + count > mostTotal)
      throw new SketchError('ERR_SKETCH_VALUE', 'count: there would be more than 2^53 values')
    const first = scalars[Scalar.total] === 0
    if (first || low < scalars[least]!) scalars[least] = low
    if (first || high > scalars[most]!) scalars[most] = high
    scalars[Scalar.total]! += count
  }

  #insert(value: number, level: number): void {
    const [items, starts, scalars] = [this.#items, this.#starts, this.scalars]
    this.#sorted = undefined
    if (scalars[levelCount]! <= level) scalars[levelCount] = level + 1
    if (starts[0] === 0) this.#compress()
    // Levels are not sorted inside; the lower ones make room.
    items.copyWithin(starts[0]! - 1, starts[0]!, starts[level]!)
    items[starts[level]! - 1] = value
    for (let at = 0; at <= level; at++) starts[at]!--
  }

  /** Compacts the lowest level that is full: if there is no free memory, there is such a level. */
  #compress(): void {
    const [starts, { k }] = [this.#starts, this.config]
    const levels = this.scalars[levelCount]!
    let level = 0
    while (starts[level + 1]! - starts[level]! < levelSize(k, levels - 1 - level)) level++
    this.#compact(level)
  }

  #compact(level: number): void {
    const [items, starts, scalars] = [this.#items, this.#starts, this.scalars]
    const [from, end] = [starts[level]!, starts[level + 1]!]
    items.subarray(from, end).sort()
    // The last of an odd number of values stays.
    const odd = (end - from) & 1
    const half = (end - from - odd) / 2
    const random = nextRandom(scalars[Scalar.random]! | 0)
    scalars[Scalar.random] = random
    const coin = random >>> 31
    // From the end on, so that nothing is overwritten before it is read.
    for (let i = half - 1; i >= 0; i--) items[end - half + i] = items[from + odd + 2 * i + coin]!
    items.copyWithin(starts[0]! + half, starts[0]!, from + odd)
    for (let at = 0; at <= level; at++) starts[at]! += half
    starts[level + 1]! -= half
    scalars[variance]! += 4 ** level
    if (scalars[levelCount] === level + 1) scalars[levelCount] = level + 2
  }

  #view(): { values: Float64Array; sums: Float64Array } {
    if (this.#sorted) return this.#sorted
    const [items, starts] = [this.#items, this.#starts]
    const from = starts[0]!
    const weights = new Float64Array(items.length - from)
    for (let level = 0; level < this.scalars[levelCount]!; level++)
      weights.fill(2 ** level, starts[level]! - from, starts[level + 1]! - from)
    const order = Uint32Array.from(weights.keys()).sort((a, b) => items[from + a]! - items[from + b]!)
    const sums = Float64Array.from(order, (i) => weights[i]!)
    for (let i = 1; i < sums.length; i++) sums[i]! += sums[i - 1]!
    this.#sorted = { values: Float64Array.from(order, (i) => items[from + i]!), sums }
    return this.#sorted
  }

  /** Maximum error of a rank: √(2 V ln(2 / δ)). */
  get #rankError(): number {
    return Math.sqrt(2 * this.scalars[variance]! * Math.log(2 / doubt))
  }

  get #confidence(): number {
    return this.scalars[variance] === 0 ? 1 : 1 - doubt
  }

  /** Returns the first kept value with more than `rank` values up to it. */
  #at(rank: number): number {
    const { values, sums } = this.#view()
    if (rank < 0) return this.scalars[least]!
    const at = above(sums, rank)
    return at < values.length ? values[at]! : this.scalars[most]!
  }

  /**
   * Returns the value of rank ⌊q (n − 1)⌋, from 0, in increasing order: q = 0.5 is the median. Bounds: at the head of this file; confidence
   * 0.99, and 1 as long as all values are kept. Undefined while there are none.
   */
  quantile(q: number): Estimate | undefined {
    if (!(typeof q === 'number' && q >= 0 && q <= 1)) throw wrongNumber('q', q, 'a number from 0 to 1')
    if (this.total === 0) return undefined
    const [rank, error] = [Math.floor(q * (this.total - 1)), this.#rankError]
    const confidence = this.#confidence
    // The smallest and the largest value are exact.
    if (rank === 0) return exact(this.scalars[least]!)
    if (rank === this.total - 1) return exact(this.scalars[most]!)
    return { value: this.#at(rank), lower: this.#at(rank - error), upper: this.#at(rank + error), confidence }
  }

  /** Returns the number of values that are not above `value`. Bounds as for `quantile`. */
  rank(value: number): Estimate {
    if (typeof value !== 'number' || Number.isNaN(value)) throw wrongNumber('value', value, 'a number')
    const { total } = this
    if (total === 0 || value < this.scalars[least]!) return exact(0)
    if (value >= this.scalars[most]!) return exact(total)
    const { values, sums } = this.#view()
    const at = above(values, value)
    const rank = at === 0 ? 0 : sums[at - 1]!
    const error = this.#rankError
    // The smallest value is not above, the largest one is.
    const lower = Math.max(1, Math.ceil(rank - error))
    const upper = Math.min(total - 1, Math.floor(rank + error))
    return { value: Math.min(upper, Math.max(lower, rank)), lower, upper, confidence: this.#confidence }
  }

  /** Adds the levels: V is then the sum of both and of what compacts now, so the bounds hold for the values of both. */
  merge(other: Kll): void {
    this.assertFits(other)
    if (other.total === 0) return
    const [items, starts] = [other.#items, other.#starts]
    this.#extend(other.scalars[least]!, other.scalars[most]!, other.total)
    this.scalars[variance]! += other.scalars[variance]!
    for (let level = 0; level < other.scalars[levelCount]!; level++)
      for (let at = starts[level]!; at < starts[level + 1]!; at++) this.#insert(items[at]!, level)
  }

  protected override restored(): string | undefined {
    const [items, starts, scalars] = [this.#items, this.#starts, this.scalars]
    const levels = scalars[levelCount]!
    if (this.seed.some((byte) => byte !== 0)) return 'it has a seed'
    if (!Number.isInteger(levels) || levels < 1 || levels > mostLevels) return 'the number of levels is impossible'
    const [low, high] = [scalars[least]!, scalars[most]!]
    if (!Number.isFinite(low) || !Number.isFinite(high)) return 'the least or the largest value is impossible'
    let sum = 0
    for (let level = 0; level <= mostLevels; level++) {
      const [from, end] = [starts[level]!, level < mostLevels ? starts[level + 1]! : items.length]
      if (from > end || (level >= levels && from !== items.length)) return 'the levels overlap'
      sum += (end - from) * 2 ** level
    }
    if (sum !== this.total) return 'the values are not as many as the total'
    for (let at = starts[0]!; at < items.length; at++)
      if (!(items[at]! >= low && items[at]! <= high)) return 'a value is impossible'
    if (!(scalars[variance]! >= 0 && scalars[variance]! < Number.POSITIVE_INFINITY)) return 'its error is impossible'
    const random = scalars[Scalar.random]!
    return random === 0 || (random | 0) !== random ? 'the state of its coins is impossible' : undefined
  }
}

function exact(value: number): Estimate {
  return { value, lower: value, upper: value, confidence: 1 }
}

/** Returns the first index in an increasing array of a number above `limit`. */
function above(numbers: Float64Array, limit: number): number {
  let [from, to] = [0, numbers.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (numbers[middle]! > limit) to = middle
    else from = middle + 1
  }
  return from
}
