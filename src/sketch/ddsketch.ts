/**
 * DDSketch (Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12, 2019):
 * values are counted in bins (γ^(i − 1), γ^i] with γ = (1 + α) / (1 − α), and 2 γ^i / (γ + 1) stands for a bin.
 *
 * Proposition 3 there: a quantile that falls into a bin of its own is within the relative accuracy α. If there are more bins than
 * memory, the lowest ones are collapsed into one (section 2.2), so that high quantiles keep their accuracy; the bounds of values that fall
 * there are wider.
 *
 * Where we differ: the bins are a ring below the highest one, so that neither the order of values nor how they were merged
 * matters to the state. Values are 0 or more: latencies, sizes, gaps. Bounds are wider by 10^−12 of the value, for rounding.
 */
import type { Estimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { between, SketchError, wholeNumber, wrongNumber } from './error.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import type { SeedLike } from './seed.ts'
import { mostBytes, Scalar, Sketch, scalarCount } from './sketch.ts'

export interface DDSketchConfig {
  bins: number
  /** Relative accuracy α. */
  accuracy: number
}

export interface DDSketchOptions {
  /** Memory of the sketch. With α = 0.01, 8 KB span a factor of 400 million between the largest and the smallest value. */
  bytes: number
  /** Relative accuracy α, between 0 and 1 (default 0.01). */
  accuracy?: number
  /** Seed, which has no effect, since nothing is hashed, except that sketches to be merged need the same (default 0). */
  seed?: SeedLike
}

const zeros = Scalar.own
/** Index of the highest bin. */
const highest = Scalar.own + 1
const least = Scalar.own + 2
const most = Scalar.own + 3
const rounding = 1e-12

const planOf = (config: DDSketchConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.bins],
  ] as const

export class DDSketch extends Sketch<DDSketchConfig> {
  readonly #bins: Float64Array
  readonly #logGamma: number

  /** @internal */
  constructor(config: DDSketchConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('ddsketch', config, seed, plan, block)
    const [, bins] = views(this.block, plan)
    this.#bins = bins
    this.#logGamma = Math.log1p(config.accuracy) - Math.log1p(-config.accuracy)
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['ddsketch']
  }

  /** @internal */
  static get fields(): readonly (keyof DDSketchConfig & string)[] {
    return ['bins', 'accuracy']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: DDSketchOptions): DDSketch {
    return createOf(DDSketch, options, { seed: 0 })
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): DDSketch {
    return fromBytesOf(DDSketch, bytes)
  }

  /** @internal */
  static configure(options: DDSketchOptions): DDSketchConfig {
    const bins = Math.floor((options.bytes - 8 * scalarCount) / 8)
    if (bins < 8)
      throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} leave ${bins} bins, 8 are the least`)
    return { bins, accuracy: between('accuracy', options.accuracy ?? 0.01, 1e-6, 1) }
  }

  /** @internal */
  static check(config: DDSketchConfig): number {
    wholeNumber('bins', config.bins, 8, mostBytes)
    between('accuracy', config.accuracy, 1e-6, 1)
    return plannedBytes(planOf(config))
  }

  /** Adds a value, finite and not below 0, `count` times. */
  add(value: number, count: number = 1): void {
    if (!(typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY))
      throw wrongNumber('value', value, 'a finite number from 0 on')
    wholeNumber('count', count, 0, 2 ** 53)
    if (count === 0) return
    const scalars = this.scalars
    const first = scalars[Scalar.total] === 0
    if (first || value < scalars[least]!) scalars[least] = value
    if (first || value > scalars[most]!) scalars[most] = value
    scalars[Scalar.total]! += count
    if (value === 0) scalars[zeros]! += count
    else this.#put(Math.ceil(Math.log(value) / this.#logGamma), count)
  }

  #put(index: number, count: number): void {
    const bins = this.#bins
    if (this.#isEmpty(count)) this.scalars[highest] = index
    else if (index > this.scalars[highest]!) this.#raise(index)
    bins[this.#place(Math.max(index, this.scalars[highest]! - bins.length + 1))]! += count
  }

  /** Returns true if all values were zeros before `count` was added to the total. */
  #isEmpty(count: number): boolean {
    return this.scalars[Scalar.total]! - count === this.scalars[zeros]
  }

  #place(index: number): number {
    // Whole numbers of 32 bits: a remainder of floating-point numbers takes several times as long.
    const { length } = this.#bins
    const rest = (index | 0) % length
    return rest < 0 ? rest + length : rest
  }

  /** Moves the ring up: bins that fall out of it are added to its lowest bin. */
  #raise(index: number): void {
    const bins = this.#bins
    const before = this.scalars[highest]!
    let collapsed = 0
    for (let i = Math.min(index - before, bins.length); i > 0; i--) {
      const at = this.#place(before - bins.length + i)
      collapsed += bins[at]!
      bins[at] = 0
    }
    this.scalars[highest] = index
    bins[this.#place(index - bins.length + 1)]! += collapsed
  }

  /**
   * Returns the value of rank ⌊q (n − 1)⌋, from 0, in increasing order: q = 0.5 is the median. The value is within α and within its bounds,
   * always (confidence 1), unless it is in the lowest bin after a collapse: then only the bounds hold. Undefined while there are no values.
   */
  quantile(q: number): Estimate | undefined {
    if (!(typeof q === 'number' && q >= 0 && q <= 1)) throw wrongNumber('q', q, 'a number from 0 to 1')
    const [total, high, lowest, largest] = [
      this.total,
      this.scalars[highest]!,
      this.scalars[least]!,
      this.scalars[most]!,
    ]
    if (total === 0) return undefined
    let rank = Math.floor(q * (total - 1)) - this.scalars[zeros]!
    if (rank < 0) return { value: 0, lower: 0, upper: 0, confidence: 1 }
    const { length } = this.#bins
    let index = high - length + 1
    for (; index < high; index++) {
      rank -= this.#bins[this.#place(index)]!
      if (rank < 0) break
    }
    const top = Math.exp(index * this.#logGamma)
    const value = top * (1 - this.config.accuracy)
    // Only the lowest bin may have values from below it.
    const bottom = index === high - length + 1 ? 0 : Math.exp((index - 1) * this.#logGamma)
    const lower = Math.max(lowest, bottom * (1 - rounding))
    const upper = Math.min(largest, top * (1 + rounding))
    return { value: Math.min(upper, Math.max(lower, value)), lower, upper, confidence: 1 }
  }

  /** Adds the bins: exactly the sketch of all values. */
  merge(other: DDSketch): void {
    this.assertFits(other)
    if (other.total === 0) return
    const [mine, theirs] = [this.scalars, other.scalars]
    const first = this.total === 0
    if (first || theirs[least]! < mine[least]!) mine[least] = theirs[least]!
    if (first || theirs[most]! > mine[most]!) mine[most] = theirs[most]!
    mine[Scalar.total]! += theirs[zeros]!
    mine[zeros]! += theirs[zeros]!
    // From the highest on, so that the ring moves once.
    for (let i = 0; i < this.#bins.length; i++) {
      const index = theirs[highest]! - i
      const count = other.#bins[other.#place(index)]!
      if (count === 0) continue
      mine[Scalar.total]! += count
      this.#put(index, count)
    }
  }

  protected override restored(): string | undefined {
    const { scalars } = this
    let sum = scalars[zeros]!
    for (const count of [...this.#bins, scalars[zeros]!])
      if (!Number.isInteger(count) || count < 0) return 'a count is not a whole number'
    for (const count of this.#bins) sum += count
    if (sum !== this.total) return 'the counts are not the total'
    // The logarithms of finite numbers.
    if (!Number.isInteger(scalars[highest]) || Math.abs(scalars[highest]! * this.#logGamma) > 746)
      return 'the highest bin is impossible'
    if (!(scalars[least]! >= 0 && scalars[least]! <= scalars[most]! && scalars[most]! < Number.POSITIVE_INFINITY))
      return 'the least or the largest value is impossible'
    return undefined
  }
}
