/**
 * Returns the interval that holds the median of the distribution of which the values are a sample, with a probability of at least 99 %:
 * order statistics, so nothing is assumed about the distribution (J.-Y. Le Boudec, Performance Evaluation of Computer and Communication
 * Systems, 2010, section 2.2.2). For fewer than eight values: the minimum and the maximum, with a lower probability.
 */
export function medianInterval(values: ArrayLike<number>): [low: number, high: number] {
  const sorted = Float64Array.from(values).sort()
  const n = sorted.length
  // The chance that fewer than k of n values are on one side, doubled for both.
  let term = 2 ** (1 - n)
  let outside = term
  let k = 0
  while (outside <= 0.01) {
    k++
    term *= (n - k + 1) / k
    outside += term
  }
  const cut = Math.max(0, k - 1)
  return [sorted[cut]!, sorted[n - 1 - cut]!]
}
