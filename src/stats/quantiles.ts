/**
 * Percentiles by nearest rank: the p-th percentile of n sorted values is the one at rank ⌈n · p / 100⌉, counted from 1,
 * which is the smallest value that at least p per cent of all do not exceed.
 *
 * So every figure is a value that was measured, none is interpolated between two. The median is the 50th percentile:
 * of an even number of values the lower one of the middle two.
 */

/** Returns the rank, from 1 on, of a percentile among `count` values; 1 when there are none. `percent` counts to three decimals. */
export function rankOf(count: number, percent: number): number {
  // Integers, because 0.999 · 1000 and its like must not round up to the next rank.
  return Math.max(1, Math.ceil((count * Math.round(percent * 1000)) / 100_000))
}

/** Returns the percentile of values in ascending order; 0 when there are none. */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  return sorted[rankOf(sorted.length, percent) - 1] ?? 0
}

/** Returns the median of values in any order, which stay unchanged; NaN when there are none. */
export function medianOf(values: ArrayLike<number>): number {
  if (values.length === 0) return Number.NaN
  return percentile(Float64Array.from(values).sort(), 50)
}

/** Order statistics of a sample in the unit of its values. `count` is the number of values; all others are 0 when it is 0. */
export interface Summary {
  count: number
  min: number
  p10: number
  median: number
  p90: number
  p99: number
  p999: number
  max: number
}

/** Computes the order statistics of values in any order, which stay unchanged. NaN is a missing value and not counted. */
export function summarize(values: Float64Array | readonly number[]): Summary {
  const sorted = Float64Array.from(values).filter((value) => !Number.isNaN(value))
  sorted.sort()
  return {
    count: sorted.length,
    min: percentile(sorted, 0),
    p10: percentile(sorted, 10),
    median: percentile(sorted, 50),
    p90: percentile(sorted, 90),
    p99: percentile(sorted, 99),
    p999: percentile(sorted, 99.9),
    max: percentile(sorted, 100),
  }
}
