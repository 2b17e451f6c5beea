/** Answers of sketches. */

/** Number with its bounds: the true number is within them with at least this confidence (0 to 1; 1 is certainty). */
export interface Estimate {
  value: number
  lower: number
  upper: number
  confidence: number
}

/** Estimate of a key. */
export interface KeyEstimate extends Estimate {
  key: Uint8Array
}

/** Number of flows of a size: rows in increasing order of size. */
export interface SizeCount {
  size: number
  /** Number of flows: an expectation, so not an integer. */
  flows: number
}

/** Compares for decreasing order of values; equal ones by their keys, so that the order does not depend on the storage. */
export function descending(a: KeyEstimate, b: KeyEstimate): number {
  if (a.value !== b.value) return b.value - a.value
  for (let i = 0; i < a.key.length; i++) if (a.key[i] !== b.key[i]) return a.key[i]! - b.key[i]!
  return 0
}
