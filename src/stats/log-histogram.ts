/**
 * A histogram of bounded size with a bounded relative error, after HdrHistogram: with `precision` bits, values below
 * 2^(precision + 1) have a bucket each, and every octave above has 2^precision of them. So a percentile is at most
 * 1/2^precision above the true one, whatever the range; count, minimum, maximum, mean and standard deviation are exact.
 */

import { rankOf } from './quantiles.ts'

export interface LogHistogramOptions {
  /** Bits of a value that distinguish buckets, 1 to 20; default 10 (at most 1/1024 too high). */
  precision?: number
  /** Exponent: values from 2^bits on share the last bucket, but not the maximum; precision + 1 to 53, default 32. */
  bits?: number
}

/** A histogram as plain data, so that it can be kept as JSON and be merged later. */
export interface PlainHistogram {
  precision: number
  bits: number
  count: number
  /** Minimum; 0 without values. */
  min: number
  max: number
  mean: number
  /** Sum of squared distances from the mean. */
  squares: number
  /** For each bucket with values, in ascending order: the step from the index of the one before, and its count. */
  buckets: number[]
}

export class LogHistogram {
  count = 0
  min: number = Number.POSITIVE_INFINITY
  max = 0
  mean = 0
  readonly precision: number
  readonly #counts: Float64Array
  readonly #bits: number
  readonly #perOctave: number
  /** Largest value with a bucket of its own. */
  readonly #largest: number
  /** Sum of squared distances from the mean (Welford). */
  #squares = 0

  constructor({ precision = 10, bits = 32 }: LogHistogramOptions = {}) {
    this.precision = precision
    this.#bits = bits
    this.#perOctave = 2 ** precision
    this.#largest = 2 ** bits - 1
    this.#counts = new Float64Array((bits - precision + 1) * 2 ** precision)
  }

  /** Adds `value`: a number from 0 on, in nanoseconds or any other unit; its fraction is dropped for the bucket only. */
  add(value: number): void {
    const index = this.#bucketOf(value)
    this.#counts[index] = this.#counts[index]! + 1
    const count = this.count + 1
    this.count = count
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
    const distance = value - this.mean
    this.mean += distance / count
    this.#squares += distance * (value - this.mean)
  }

  /** Adds a value `times` times. Separate from `add`, in which it would cost an object for each value. */
  addTimes(value: number, times: number): void {
    const index = this.#bucketOf(value)
    this.#counts[index] = this.#counts[index]! + times
    const count = this.count + times
    this.count = count
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
    const distance = value - this.mean
    this.mean += (distance * times) / count
    this.#squares += distance * times * (value - this.mean)
  }

  toPlain(): PlainHistogram {
    const { count, max, mean } = this
    const buckets: number[] = []
    let last = 0
    for (const filled of this.filled()) {
      buckets.push(filled.index - last, filled.count)
      last = filled.index
    }
    const min = count > 0 ? this.min : 0
    return { precision: this.precision, bits: this.#bits, count, min, max, mean, squares: this.#squares, buckets }
  }

  /** Restores a histogram. Throws a RangeError for invalid data: steps or counts that are impossible, or do not add up. */
  static fromPlain({ precision, bits, count, min, max, mean, squares, buckets }: PlainHistogram): LogHistogram {
    const made = new LogHistogram({ precision, bits })
    let index = 0
    for (let i = 0; i < buckets.length; i += 2) {
      const step = buckets[i]!
      const times = buckets[i + 1]
      index += step
      const sound = (i === 0 ? step >= 0 : step > 0) && index < made.#counts.length && Number.isInteger(index)
      if (!sound || times === undefined || !(times > 0))
        throw new RangeError(`bucket ${i / 2} of a histogram cannot be`)
      made.#counts[index] = times
      made.count += times
    }
    if (made.count !== count) throw new RangeError(`the buckets of a histogram hold ${made.count} values, not ${count}`)
    if (count === 0) return made
    made.min = min
    made.max = max
    made.mean = mean
    made.#squares = squares
    return made
  }

  /** Adds all values of another histogram with the same precision and bits. */
  merge(other: LogHistogram): void {
    if (other.#counts.length !== this.#counts.length || other.precision !== this.precision)
      throw new RangeError('histograms of different precision or bits cannot be merged')
    if (other.count === 0) return
    for (let i = 0; i < this.#counts.length; i++) this.#counts[i]! += other.#counts[i]!
    const count = this.count + other.count
    const distance = other.mean - this.mean
    // Chan, Golub and LeVeque: mean and squares of two samples together.
    this.#squares += other.#squares + (distance * distance * this.count * other.count) / count
    this.mean += (distance * other.count) / count
    this.count = count
    this.min = Math.min(this.min, other.min)
    this.max = Math.max(this.max, other.max)
  }

  /** Standard deviation of a sample: divided by one less than the count. */
  get stdev(): number {
    return this.count > 1 ? Math.sqrt(this.#squares / (this.count - 1)) : 0
  }

  /** Returns the percentile by nearest rank (see quantiles.ts), as the limit of its bucket; 0 when there are no values. */
  percentile(percent: number): number {
    return this.count === 0 ? 0 : this.atRank(rankOf(this.count, percent))
  }

  /** Returns the limit of the bucket that contains the value of this rank: 1 is the smallest, `count` the largest. */
  atRank(rank: number): number {
    let seen = 0
    for (const { index, count } of this.filled()) {
      seen += count
      if (seen >= rank) {
        const [, limit] = LogHistogram.limitsOf(index, this.precision)
        return Math.max(this.min, Math.min(this.max, limit))
      }
    }
    return this.max
  }

  /** Yields the buckets with values, in ascending order. */
  *filled(): Generator<{ index: number; count: number }, void> {
    const counts = this.#counts
    for (let index = 0; index < counts.length; index++) if (counts[index]! > 0) yield { index, count: counts[index]! }
  }

  /** Returns the smallest and the largest whole value of a bucket. */
  static limitsOf(index: number, precision: number): [number, number] {
    const perOctave = 2 ** precision
    if (index < 2 * perOctave) return [index, index]
    const width = 2 ** (Math.floor(index / perOctave) - 1)
    const head = (index % perOctave) + perOctave
    return [head * width, (head + 1) * width - 1]
  }

  #bucketOf(value: number): number {
    const whole = value > 0 ? Math.min(Math.floor(value), this.#largest) : 0
    // The value's leading precision + 1 bits stay; the rest is shifted out. Doubles above 32 bits have no shift.
    const high = Math.floor(whole / 2 ** 32)
    const width = high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(whole)
    const shift = width - this.precision - 1
    if (shift <= 0) return whole
    const head = high > 0 ? Math.floor(whole / 2 ** shift) : whole >>> shift
    return shift * this.#perOctave + head
  }
}
