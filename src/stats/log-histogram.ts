/**
 * A histogram of bounded size with a bounded relative error, after HdrHistogram: values below 2048 have a bucket each,
 * every octave above has 1024. So a percentile is at most 1/1024 above the true one, whatever the range; count, minimum,
 * maximum, mean and standard deviation are exact.
 */
const linear = 2048
const perOctave = 1024
/** 2^32 − 1; larger values share its bucket, but not the maximum. */
const largest = 0xffffffff
const buckets = linear + 21 * perOctave

export class LogHistogram {
  count = 0
  min: number = Number.POSITIVE_INFINITY
  max = 0
  mean = 0
  readonly #counts = new Float64Array(buckets)
  /** Sum of squared distances from the mean (Welford). */
  #squares = 0

  /** `value`: a number from 0 on, nanoseconds or whatever is counted; its fraction is dropped for the bucket only. */
  add(value: number): void {
    const index = bucketOf(value)
    this.#counts[index] = this.#counts[index]! + 1
    const count = this.count + 1
    this.count = count
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
    const distance = value - this.mean
    this.mean += distance / count
    this.#squares += distance * (value - this.mean)
  }

  /** Of a sample: divided by one less than the count. */
  get stdev(): number {
    return this.count > 1 ? Math.sqrt(this.#squares / (this.count - 1)) : 0
  }

  /** The limit of the bucket in which the value of this rank lies: 1 is the smallest, `count` the largest. */
  atRank(rank: number): number {
    let seen = 0
    for (let index = 0; index < buckets; index++) {
      seen += this.#counts[index]!
      if (seen >= rank) return Math.max(this.min, Math.min(this.max, limitOf(index)))
    }
    return this.max
  }
}

function bucketOf(value: number): number {
  const whole = value < largest ? value >>> 0 : largest
  if (whole < linear) return whole
  const shift = 21 - Math.clz32(whole)
  return linear + (shift - 1) * perOctave + ((whole >>> shift) - perOctave)
}

/** The largest whole value of a bucket. */
function limitOf(index: number): number {
  if (index < linear) return index
  const shift = Math.floor((index - linear) / perOctave) + 1
  const head = ((index - linear) % perOctave) + perOctave
  return (head + 1) * 2 ** shift - 1
}
