/** Heavy changers: keys whose amounts differ between two windows. */
import type { Estimate, KeyEstimate } from './answers.ts'
import { SketchError, wrongNumber } from './error.ts'
import type { AmountSketch } from './sketch.ts'

/**
 * Returns the keys that either sketch keeps and whose estimates differ by `threshold` or more, the largest change first; values are `after`
 * minus `before`. The sketches may differ in kind, seed and size. The bounds are those of both (an interval for each), and both hold with
 * a confidence of at least 1 minus the sum of their error probabilities (Bonferroni).
 */
export function heavyChanges(before: AmountSketch, after: AmountSketch, threshold: number): KeyEstimate[] {
  if (!(typeof threshold === 'number' && threshold > 0)) throw wrongNumber('threshold', threshold, 'a number above 0')
  if (before.keyBytes !== after.keyBytes)
    throw new SketchError('ERR_SKETCH_MISMATCH', `keys of ${before.keyBytes} and of ${after.keyBytes} bytes`)
  const keys = new Map<string, Uint8Array>()
  for (const sketch of [before, after])
    for (const { key } of sketch.topK(2 ** 31)) keys.set(String.fromCharCode(...key), key)
  return [...keys.values()]
    .map((key) => ({ key, ...difference(after.estimate(key), before.estimate(key)) }))
    .filter(({ value }) => Math.abs(value) >= threshold)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
}

function difference(a: Estimate, b: Estimate): Estimate {
  return {
    value: a.value - b.value,
    lower: a.lower - b.upper,
    upper: a.upper - b.lower,
    confidence: Math.max(0, a.confidence + b.confidence - 1),
  }
}
