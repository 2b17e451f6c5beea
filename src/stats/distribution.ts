/**
 * A sample in few numbers, for pictures that are drawn again with other limits: the number of values in each bucket of a histogram of
 * bounded relative error (see log-histogram.ts).
 */

import type { Histogram } from './histogram.ts'
import { LogHistogram } from './log-histogram.ts'

/** Plain data, so that it can be kept as JSON. Values are whole numbers from 0 on. */
export interface Distribution {
  total: number
  min: number
  max: number
  /** Bits of a value that distinguish buckets. */
  precision: number
  /** For each bucket with values, in ascending order: the step from the index of the one before, and its count. */
  buckets: number[]
}

const finest = 12
const coarsest = 5

/** Returns the finest buckets of which at most `most` have values, as far as the coarsest (3 % wide) allow it. NaN is not counted. */
export function distributionOf(values: ArrayLike<number>, most = 400): Distribution {
  const histogram = new LogHistogram({ precision: finest, bits: 53 })
  for (let i = 0; i < values.length; i++) if (!Number.isNaN(values[i]!)) histogram.add(values[i]!)
  return distributionIn(histogram, most)
}

/** Returns the distribution of values that are in a histogram already, in buckets that are no finer than its own. */
export function distributionIn(histogram: LogHistogram, most = 400): Distribution {
  let { precision } = histogram
  let counts = new Map([...histogram.filled()].map(({ index, count }) => [index, count]))
  for (; counts.size > most && precision > coarsest; precision--) counts = coarser(counts, precision)
  const buckets: number[] = []
  let last = 0
  for (const [index, count] of counts) {
    buckets.push(index - last, count)
    last = index
  }
  const { count, min, max } = histogram
  return { total: count, min: count > 0 ? min : 0, max, precision, buckets }
}

/** Returns counts by bucket with one bit less: the values of one octave are in half as many buckets. */
function coarser(counts: ReadonlyMap<number, number>, precision: number): Map<number, number> {
  const perOctave = 2 ** precision
  const merged = new Map<number, number>()
  for (const [index, count] of counts) {
    const shift = Math.floor(index / perOctave) - 1
    const to = shift < 0 ? index : ((shift + 1) * perOctave) / 2 + ((index - shift * perOctave) >> 1)
    merged.set(to, (merged.get(to) ?? 0) + count)
  }
  return merged
}

/** Cumulative counts: the number of values below a limit; within a bucket they count as spread evenly. */
export class Cumulative {
  readonly total: number
  /** Lower limits of the buckets with values, upper limits (not included), and the number of values below each. */
  readonly #lows: number[] = []
  readonly #highs: number[] = []
  readonly #before: number[] = []

  constructor({ total, min, max, precision, buckets }: Distribution) {
    this.total = total
    let index = 0
    let before = 0
    for (let i = 0; i < buckets.length; i += 2) {
      index += buckets[i]!
      const [low, high] = LogHistogram.limitsOf(index, precision)
      this.#lows.push(Math.max(low, min))
      this.#highs.push(Math.min(high, max) + 1)
      this.#before.push(before)
      before += buckets[i + 1]!
    }
    this.#before.push(before)
  }

  below(limit: number): number {
    // The first bucket that ends above the limit.
    let from = 0
    let to = this.#highs.length
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.#highs[middle]! > limit) to = middle
      else from = middle + 1
    }
    const before = this.#before[from]!
    if (from === this.#highs.length || limit <= this.#lows[from]!) return before
    const share = (limit - this.#lows[from]!) / (this.#highs[from]! - this.#lows[from]!)
    return before + share * (this.#before[from + 1]! - before)
  }
}

/** Returns counts between edges in ascending order; not whole where an edge cuts a bucket. */
export function binned(distribution: Distribution, edges: readonly number[]): Histogram {
  const { total, max } = distribution
  const cumulative = new Cumulative(distribution)
  const below = edges.map((edge) => cumulative.below(edge))
  const last = edges.length - 1
  const counts = new Float64Array(last)
  for (let i = 0; i < last; i++) counts[i] = below[i + 1]! - below[i]!
  const range = [edges[0]!, edges[last]!] as const
  return { range, counts, below: below[0]!, above: total - below[last]!, total, max }
}
