/**
 * WaveSketch (uMon, SIGCOMM 2024): rows of buckets as in Count-Min, and in each bucket not one count, but the amounts of all windows of
 * some microseconds, as a Haar wavelet of which the largest details are kept (haar.ts). So every key has a curve of its rate.
 *
 * Bounds: a bucket has the amounts of its keys, so its curve is never below that of a key, except for the details that its wavelet dropped,
 * which are counted (haar.ts). In each window Count-Min's theorem 1 holds: the smallest of d rows is above the truth by at most e N_t / w
 * with a probability of at least 1 − e^−d; N_t, the amount of all keys in the window, is kept exactly.
 *
 * Where we differ: the version with rows only (section 4.2 of the paper has heavy keys in buckets of their own, too). The paper gives no
 * bounds. Amounts for a window that a bucket has passed go to its current window; their sum, `late`, widens all bounds. Amounts before or
 * after the period are not added, but counted in `outside`.
 */
import { plannedBytes, views } from './block.ts'
import { atLeast } from './count-min.ts'
import { manyKeys, mostAmount, oneKey, SketchError, wholeNumber } from './error.ts'
import { Haar } from './haar.ts'
import { KeyReader, placeOf } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { type KeyConfig, mostBytes, Scalar, Sketch, type SketchOptions, scalarCount } from './sketch.ts'

export interface WaveConfig extends KeyConfig {
  rows: number
  width: number
  /** Number of windows of a period, a power of two. */
  windows: number
  windowNs: number
  coefficients: number
  /** First window of the period; −1: that of the first update. */
  first: number
}

export interface WaveOptions extends SketchOptions {
  /** Number d of rows, 1 to 8 (default 3). */
  rows?: number
  /** Number of windows of a period: 16, 32, … 65536 (default 2048, as in the paper). */
  windows?: number
  /** Length of a window in nanoseconds (default 8192, as in the paper: 2048 of them are 16.8 ms). */
  windowNs?: number
  /** Number of details that a bucket keeps (default 64, as in the paper). */
  coefficients?: number
  /** Beginning of the period, nanoseconds; by default in the window of the first update. Sketches that are to be merged need the same. */
  startNs?: number | undefined
}

/** Amounts by window; divided by `windowNs` they are rates. */
export interface RateCurve {
  startNs: number
  windowNs: number
  values: Float64Array
  lower: Float64Array
  upper: Float64Array
  /** Confidence with which each window is within its bounds. */
  confidence: number
}

const firstWindow = Scalar.own
const lateAmount = Scalar.own + 1
const outsideAmount = Scalar.own + 2
const finished = Scalar.own + 3

const planOf = ({ rows, width, windows, coefficients }: WaveConfig) => {
  const buckets = rows * width
  return [
    [Float64Array, scalarCount],
    [Float64Array, windows],
    [Float64Array, buckets * (Haar.levelsOf(windows) + 1)],
    [Float64Array, buckets * 8],
    [Float64Array, buckets * 2],
    [Float32Array, buckets * coefficients],
    [Int32Array, buckets * 2],
    [Uint16Array, buckets * coefficients],
  ] as const
}

export class WaveSketch extends Sketch<WaveConfig> {
  readonly keyBytes: number
  readonly #keys: KeyReader
  readonly #all: Float64Array
  readonly #haar: Haar

  /** @internal */
  constructor(config: WaveConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('wave', config, seed, plan, block)
    this.keyBytes = config.keyBytes
    this.#keys = new KeyReader(config.keyBytes, seed)
    this.#keys.omitWords()
    const [scalars, all, left, sums, dropped, details, state, nodes] = views(this.block, plan)
    this.#all = all
    this.#haar = new Haar(config.windows, config.coefficients, { left, sums, dropped, details, nodes, state })
    if (block) this.verify()
    else {
      scalars[firstWindow] = config.first
      for (let i = 0; i < state.length; i += 2) state[i] = -1
    }
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['wave']
  }

  /** @internal */
  static get fields(): readonly (keyof WaveConfig & string)[] {
    return ['keyBytes', 'rows', 'width', 'windows', 'windowNs', 'coefficients', 'first']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: WaveOptions): WaveSketch {
    return createOf(WaveSketch, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): WaveSketch {
    return fromBytesOf(WaveSketch, bytes)
  }

  /** @internal */
  static configure(options: WaveOptions): WaveConfig {
    const rows = wholeNumber('rows', options.rows ?? 3, 1, 8)
    const windows = powerOfTwo(options.windows ?? 2048)
    const windowNs = wholeNumber('windowNs', options.windowNs ?? 8192, 1, 2 ** 40)
    const coefficients = wholeNumber('coefficients', options.coefficients ?? Math.min(64, windows), 1, windows)
    const first = options.startNs === undefined ? -1 : windowOf(options.startNs, windowNs)
    const one = { keyBytes: options.keyBytes, rows, width: 1, windows, windowNs, coefficients, first }
    const fixed = 8 * (scalarCount + windows)
    // A bucket has four bytes besides those of the block (haar.ts).
    const width = Math.floor((options.bytes - fixed) / (plannedBytes(planOf(one)) - fixed + 4 * rows))
    return { ...one, width: atLeast('bytes', options.bytes, width) }
  }

  /** @internal */
  static check(config: WaveConfig): number {
    wholeNumber('rows', config.rows, 1, 8)
    wholeNumber('width', config.width, 8, 2 ** 24)
    powerOfTwo(config.windows)
    wholeNumber('windowNs', config.windowNs, 1, 2 ** 40)
    wholeNumber('coefficients', config.coefficients, 1, config.windows)
    wholeNumber('first', config.first, -1, 2 ** 53)
    return wholeNumber('bytes', plannedBytes(planOf(config)), 1, mostBytes)
  }

  /** Beginning of the period in nanoseconds; undefined before the first update, unless it was given. */
  get startNs(): number | undefined {
    const first = this.scalars[firstWindow]!
    return first < 0 ? undefined : first * this.config.windowNs
  }

  /** Amounts for windows that some bucket of their keys had passed. */
  get late(): number {
    return this.scalars[lateAmount]!
  }

  /** Amounts that are not in the sketch, because they are from before or after its period. */
  get outside(): number {
    return this.scalars[outsideAmount]!
  }

  /** Adds `amount`, an integer from 0 to 2^32 − 1, to a key at a time. Throws ERR_SKETCH_VALUE for an invalid key, amount or time. */
  update(key: Uint8Array, amount: number, timeNs: number): void {
    this.#read(key)
    wholeNumber('amount', amount, 0, mostAmount)
    this.#add(amount, timeNs)
  }

  /** Adds many keys that are packed in one array; there is a time for each of them, and amounts are as many, or one for all. */
  updateMany(keys: Uint8Array, amounts: Uint32Array | number, timesNs: Float64Array): void {
    const count = manyKeys(keys, this.keyBytes, amounts)
    if (timesNs.length !== count)
      throw new SketchError('ERR_SKETCH_VALUE', `timesNs: there are ${timesNs.length} for ${count} keys`)
    for (let i = 0; i < count; i++) {
      this.#keys.load(keys, i * this.keyBytes, 1)
      this.#add(typeof amounts === 'number' ? amounts : amounts[i]!, timesNs[i]!)
    }
  }

  /** Writes the two hashes of a key to `at` and the next entry, for `updateHashed` of sketches of this seed and length of keys. */
  hash(key: Uint8Array, hashes: Int32Array, at: number): void {
    this.#read(key)
    hashes[at] = this.#keys.h1[0]!
    hashes[at + 1] = this.#keys.h2[0]!
  }

  /** Adds as `updateMany` the first `count` keys of which `hashes` has two numbers each, all at one time: for frequent keys. */
  updateHashed(hashes: Int32Array, amounts: Uint32Array, count: number, timeNs: number): void {
    if (hashes.length < 2 * count || amounts.length < count)
      throw new SketchError('ERR_SKETCH_VALUE', `count: ${count} is more than there are hashes or amounts`)
    const { h1, h2 } = this.#keys
    for (let i = 0; i < count; i++) {
      h1[0] = hashes[2 * i]!
      h2[0] = hashes[2 * i + 1]!
      this.#add(amounts[i]!, timeNs)
    }
  }

  #read(key: Uint8Array): void {
    oneKey('key', key, this.keyBytes)
    this.#keys.load(key, 0, 1)
  }

  #bucket(row: number): number {
    const { h1, h2, multipliers } = this.#keys
    const { width } = this.config
    return row * width + placeOf(h1[0]!, h2[0]!, multipliers[row]!, width / 2 ** 32)
  }

  #add(amount: number, timeNs: number): void {
    const { scalars, config } = this
    const at = windowOf(timeNs, config.windowNs)
    if (amount === 0) return
    if (scalars[firstWindow]! < 0) scalars[firstWindow] = at
    const window = at - scalars[firstWindow]!
    if (window < 0 || window >= config.windows || scalars[finished] === 1) {
      scalars[outsideAmount]! += amount
      return
    }
    scalars[Scalar.total]! += amount
    this.#all[window]! += amount
    let inTime = true
    for (let row = 0; row < config.rows; row++) if (!this.#haar.add(this.#bucket(row), window, amount)) inTime = false
    if (!inTime) scalars[lateAmount]! += amount
  }

  /** Returns the amounts of a key by window, with their bounds (at the head of this file). Undefined before the first update. */
  curve(key: Uint8Array): RateCurve | undefined {
    this.#read(key)
    const startNs = this.startNs
    if (startNs === undefined) return undefined
    const { rows, width, windows, windowNs } = this.config
    const values = this.#all.slice()
    const upper = this.#all.slice()
    const lower = new Float64Array(windows).fill(Number.POSITIVE_INFINITY)
    const series = new Float64Array(windows)
    for (let row = 0; row < rows; row++) {
      const error = this.#haar.read(this.#bucket(row), series) + this.late
      for (let t = 0; t < windows; t++) {
        values[t] = Math.max(0, Math.min(values[t]!, series[t]!))
        // Amounts are integers; the margin is for the rounding of sums.
        upper[t] = Math.min(upper[t]!, Math.max(0, Math.floor(series[t]! + error + rounding)))
        lower[t] = Math.min(lower[t]!, series[t]! - error)
      }
    }
    for (let t = 0; t < windows; t++) {
      const excess = (Math.E * this.#all[t]!) / width
      lower[t] = Math.min(upper[t]!, Math.max(0, Math.ceil(lower[t]! - excess - rounding)))
      values[t] = Math.min(upper[t]!, Math.max(lower[t]!, values[t]!))
    }
    return { startNs, windowNs, values, lower, upper, confidence: 1 - Math.exp(-rows) }
  }

  /** Returns the amounts of all keys by window, exact. */
  totals(): Float64Array {
    return this.#all.slice()
  }

  /**
   * Adds a sketch of another stream in the same period: curves of the sums, with the details that both wavelets dropped. Completes both
   * first: later updates count as outside. Throws ERR_SKETCH_MISMATCH if the periods begin at different times.
   */
  merge(other: WaveSketch): void {
    this.assertFits(other)
    const [mine, theirs] = [this.scalars, other.scalars]
    if (mine[firstWindow]! >= 0 && theirs[firstWindow]! >= 0 && mine[firstWindow] !== theirs[firstWindow])
      throw new SketchError(
        'ERR_SKETCH_MISMATCH',
        'wave: the periods begin at different times: create both with the same startNs',
      )
    if (mine[firstWindow]! < 0) mine[firstWindow] = theirs[firstWindow]!
    for (const sketch of [this, other]) {
      sketch.scalars[finished] = 1
      for (let bucket = 0; bucket < this.config.rows * this.config.width; bucket++) sketch.#haar.finish(bucket)
    }
    for (let bucket = 0; bucket < this.config.rows * this.config.width; bucket++) this.#haar.merge(bucket, other.#haar)
    for (let t = 0; t < this.#all.length; t++) this.#all[t]! += other.#all[t]!
    for (const sum of [Scalar.total, lateAmount, outsideAmount]) mine[sum]! += theirs[sum]!
  }

  protected override restored(): string | undefined {
    const { scalars, config } = this
    const first = scalars[firstWindow]!
    if (!(Number.isInteger(first) && first >= -1)) return 'its begin is impossible'
    if (config.first >= 0 && first !== config.first) return 'it does not begin where it was to'
    if (scalars[finished] !== 0 && scalars[finished] !== 1) return 'it is neither complete nor not'
    for (const sum of [scalars[lateAmount]!, scalars[outsideAmount]!])
      if (!(Number.isInteger(sum) && sum >= 0)) return 'a sum is impossible'
    let sum = 0
    for (const amount of this.#all) {
      if (!(Number.isInteger(amount) && amount >= 0)) return 'an amount is impossible'
      sum += amount
    }
    if (sum !== this.total || scalars[lateAmount]! > sum) return 'the amounts are not the total'
    return this.#haar.restored(config.rows * config.width)
  }
}

const rounding = 1e-6

function windowOf(timeNs: number, windowNs: number): number {
  if (timeNs >= 0 && timeNs < Number.POSITIVE_INFINITY) return Math.floor(timeNs / windowNs)
  throw new SketchError('ERR_SKETCH_VALUE', `timeNs: ${timeNs} is not a finite number from 0 on`)
}

function powerOfTwo(windows: number): number {
  wholeNumber('windows', windows, 16, 65536)
  if (Number.isInteger(Math.log2(windows))) return windows
  throw new SketchError('ERR_SKETCH_VALUE', `windows: ${windows} is not a power of two`)
}
