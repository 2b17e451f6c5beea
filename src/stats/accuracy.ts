/** Measures that compare approximate answers with exact ones. */

/** Returns the harmonic mean of precision and recall; 1 if there was nothing to find and nothing was found. */
export function f1Of(right: number, found: number, expected: number): number {
  return found + expected === 0 ? 1 : (2 * right) / (found + expected)
}

/** Returns the entropy of amounts in bits: Σ (a / N) log2(N / a), N their sum. */
export function entropyBits(amounts: Iterable<number>): number {
  let [sum, weighted] = [0, 0]
  for (const amount of amounts) {
    if (!(amount > 0)) continue
    sum += amount
    weighted += amount * Math.log2(amount)
  }
  return sum === 0 ? 0 : Math.max(0, Math.log2(sum) - weighted / sum)
}

/** Returns the weighted mean relative error of a distribution of sizes: Σ |n − n̂| / Σ (n + n̂) / 2. */
export function weightedMeanRelativeError(
  exact: Iterable<number>,
  found: Iterable<{ size: number; flows: number }>,
): number {
  const [truth, guess] = [new Map<number, number>(), new Map<number, number>()]
  for (const size of exact) truth.set(size, (truth.get(size) ?? 0) + 1)
  for (const { size, flows } of found) guess.set(size, (guess.get(size) ?? 0) + flows)
  let [apart, both] = [0, 0]
  for (const size of new Set([...truth.keys(), ...guess.keys()])) {
    const [a, b] = [truth.get(size) ?? 0, guess.get(size) ?? 0]
    apart += Math.abs(a - b)
    both += (a + b) / 2
  }
  return both === 0 ? 0 : apart / both
}
