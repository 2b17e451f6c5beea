/**
 * Order statistics and latencies from raw timestamps.
 *
 * Percentiles are nearest-rank: every figure in a report is a latency that a message really had.
 */

import type { LatencySummary } from '../report/results.ts'

/** `tv_nsec` counts nanoseconds from 0 to 999,999,999 and starts again each second. */
export const NSEC_PER_SEC = 1_000_000_000

/** The `permille`/1000 quantile of sorted values by nearest rank: the smallest value that at least that share does not exceed. */
export function nearestRank(sorted: ArrayLike<number>, permille: number): number {
  // Integers, because 0.999 * 1000 and its like must not round up to the next rank.
  const rank = Math.max(1, Math.ceil((sorted.length * permille) / 1000))
  return sorted[rank - 1] ?? 0
}

/** Order statistics of a sample, in the unit of the values (nanoseconds in results). NaN is a missing value and not counted. */
export function summarize(values: Float64Array | readonly number[]): LatencySummary {
  const sorted = Float64Array.from(values).filter((value) => !Number.isNaN(value))
  sorted.sort()
  return {
    count: sorted.length,
    min: sorted[0] ?? 0,
    p10: nearestRank(sorted, 100),
    median: nearestRank(sorted, 500),
    p90: nearestRank(sorted, 900),
    p99: nearestRank(sorted, 990),
    p999: nearestRank(sorted, 999),
    max: sorted[sorted.length - 1] ?? 0,
  }
}

/** The median of a few values by nearest rank; NaN when there are none. */
export function medianOf(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN
  return nearestRank(Float64Array.from(values).sort(), 500)
}

/**
 * Latencies t − t_subm in nanoseconds, of the messages that have both timestamps (NaN is a missing one).
 *
 * Both are `tv_nsec`, which wraps. No message travels for a second, so a later timestamp that is the smaller one has
 * wrapped once and gets 1e9 added.
 */
export function latencies(tSubm: ArrayLike<number>, t: ArrayLike<number>): Float64Array {
  const length = Math.min(tSubm.length, t.length)
  const result = new Float64Array(length)
  let count = 0
  for (let i = 0; i < length; i++) {
    const from = tSubm[i]!
    const to = t[i]!
    if (Number.isNaN(from) || Number.isNaN(to)) continue
    result[count++] = to < from ? to + NSEC_PER_SEC - from : to - from
  }
  return count === length ? result : result.slice(0, count)
}

/** Counts of values in equal bins over a range, and what lies outside. */
export interface Histogram {
  /** Nanoseconds. A value equal to the upper limit belongs to the last bin. */
  range: readonly [number, number]
  counts: Float64Array
  /** How many values are below the range, above it, and all together. */
  below: number
  above: number
  total: number
  /** Largest value, 0 when there are none. */
  max: number
}

/** Counts values into `bins` equal bins over `range`. NaN is not counted. */
export function histogram(values: ArrayLike<number>, range: readonly [number, number], bins: number): Histogram {
  const [low, high] = range
  const counts = new Float64Array(bins)
  const scale = bins / (high - low)
  let below = 0
  let above = 0
  let total = 0
  let max = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (Number.isNaN(value)) continue
    if (value > max || total === 0) max = value
    total++
    if (value < low) below++
    else if (value > high) above++
    else counts[Math.min(bins - 1, Math.floor((value - low) * scale))]!++
  }
  return { range, counts, below, above, total, max }
}
