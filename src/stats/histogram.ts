/** Histograms of equal bins, for pictures. */

/** Counts of values in equal bins over a range, and of those outside. */
export interface Histogram {
  /** Limits in the unit of the values. A value that is equal to the upper limit belongs to the last bin. */
  range: readonly [number, number]
  counts: Float64Array
  /** Numbers of values below the range, above it, and in total. */
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
