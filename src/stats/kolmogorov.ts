/** Kolmogorov–Smirnov distance: the largest difference of two cumulative distributions, from 0 to 1. */

/** Returns the distance of two samples in any order; NaN if one of them is empty. */
export function ksOfSamples(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length === 0 || b.length === 0) return Number.NaN
  const xs = Float64Array.from(a).sort()
  const ys = Float64Array.from(b).sort()
  let largest = 0
  for (let i = 0, j = 0; i < xs.length && j < ys.length; ) {
    const value = Math.min(xs[i]!, ys[j]!)
    while (i < xs.length && xs[i] === value) i++
    while (j < ys.length && ys[j] === value) j++
    largest = Math.max(largest, Math.abs(i / xs.length - j / ys.length))
  }
  return largest
}

/**
 * Returns the distance of a sample in any order from a distribution: `below(x)` is the share of values that are at most x, `under(x)` of
 * those below x, which differs where a value has a probability mass of its own. NaN for an empty sample.
 */
export function ksOfSample(
  sample: ArrayLike<number>,
  below: (x: number) => number,
  under: (x: number) => number = below,
): number {
  if (sample.length === 0) return Number.NaN
  const xs = Float64Array.from(sample).sort()
  let largest = 0
  for (let i = 0; i < xs.length; ) {
    const value = xs[i]!
    const before = i / xs.length
    while (i < xs.length && xs[i] === value) i++
    largest = Math.max(largest, Math.abs(i / xs.length - below(value)), Math.abs(before - under(value)))
  }
  return largest
}

/** Returns the distance that a sample of `n` values of the distribution itself exceeds with a probability of 5 % (large n). */
export function ksLimit(n: number): number {
  return 1.36 / Math.sqrt(n)
}
