/** What sketches answer. */

/** A number with its bounds: the true one is within them with at least this confidence (0 to 1; 1 is certainty). */
export interface Estimate {
  value: number
  lower: number
  upper: number
  confidence: number
}

/** The estimate of a key. */
export interface KeyEstimate extends Estimate {
  key: Uint8Array
}

/** How many flows have a size: rows in increasing order of size. */
export interface SizeCount {
  size: number
  /** An expectation, so not whole. */
  flows: number
}

/** From the largest value on; equal ones by their keys, so that the order does not depend on how they are kept. */
export function descending(a: KeyEstimate, b: KeyEstimate): number {
  if (a.value !== b.value) return b.value - a.value
  for (let i = 0; i < a.key.length; i++) if (a.key[i] !== b.key[i]) return a.key[i]! - b.key[i]!
  return 0
}
