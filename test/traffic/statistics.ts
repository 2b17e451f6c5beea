/** Tests of whether a sample has a distribution, for samples that a seed determines. */

/** The largest distance between the sample's distribution and `below` (Kolmogorov and Smirnov), at both sides of each value. */
export function ksDistance(sample: readonly number[], below: (value: number) => number, whole = false): number {
  const sorted = Float64Array.from(sample).sort()
  const n = sorted.length
  let distance = 0
  for (let i = 0; i < n; ) {
    const value = sorted[i]!
    let after = i
    while (after < n && sorted[after] === value) after++
    distance = Math.max(distance, Math.abs(below(value) - after / n))
    // Of whole numbers the step before is at the number below.
    distance = Math.max(distance, Math.abs(below(whole ? value - 1 : value) - i / n))
    i = after
  }
  return distance
}

/** The critical distance at 5 %. */
export const ksLimit = (n: number): number => 1.36 / Math.sqrt(n)

/** Pearson's statistic of counts against shares whose sum is 1. */
export function chiSquare(counts: readonly number[], shares: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  return counts.reduce((sum, count, i) => sum + (count - total * shares[i]!) ** 2 / (total * shares[i]!), 0)
}

/** Its critical value at 1 % for `degrees` of freedom (Wilson and Hilferty). */
export function chiSquareLimit(degrees: number): number {
  return degrees * (1 - 2 / (9 * degrees) + 2.326 * Math.sqrt(2 / (9 * degrees))) ** 3
}
