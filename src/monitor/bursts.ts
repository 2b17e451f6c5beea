/**
 * Microbursts: times of some microseconds in which much more goes to a host, or to a queue pair, than in the rest of the window. The rates
 * of all of them are in a WaveSketch; the keys that are examined come from the CocoSketch of bytes.
 */
import type { RateCurve } from '../sketch/index.ts'
import { bitText } from '../text/index.ts'
import { type Burst, highest } from './burst.ts'
import { type KeyFields, rateKey, rateKeyBytes, Word, wordsOf } from './key.ts'
import { query } from './query.ts'
import { leastQpBytes } from './rate-block.ts'
import type { Window } from './window.ts'

const looked = 8
const factor = 4
const leastPeak = 1e9
/** Maximum length of a microburst, as a fraction of a window. */
const longest = 1 / 8

/**
 * Returns the rates of a window to a host, or a QP of it, as `query` names it; undefined if the window has none, or spans several times.
 */
export function curveOf(window: Window, where: Partial<KeyFields>): RateCurve | undefined {
  const { destination, destinationQp } = where
  const { rates } = window.sketches
  if (destination === undefined || window.isLong) return undefined
  const [row] = query(window, { by: ['destination'], of: 'bytes', where: { destination }, top: 1 }).keys
  if (row === undefined) return undefined
  const words = wordsOf(row)
  words[Word.destinationQp] = destinationQp ?? 0
  const key = new Uint8Array(rateKeyBytes)
  rateKey(words, destinationQp !== undefined, key)
  const curve = rates.curve(key)
  // Each part left out smaller amounts in a bin.
  const left = window.parts.length * (leastQpBytes - 1)
  if (destinationQp !== undefined) for (let t = 0; t < (curve?.upper.length ?? 0); t++) curve!.upper[t]! += left
  return curve
}

/** Returns the bursts of a window, the highest first. */
export function burstsOf(window: Window): Burst[] {
  if (window.isLong || window.sketches.rates.total === 0) return window.bursts
  const found: Burst[] = []
  for (const by of ['qp', 'destination'] as const)
    for (const { fields, name } of query(window, { by, of: 'bytes', top: looked }).rows) {
      const curve = curveOf(window, fields)
      if (curve !== undefined) found.push(...burstsIn(curve, window.startMs, name, fields))
    }
  return highest([...window.bursts, ...found])
}

function burstsIn(
  { values, lower, upper, windowNs, confidence }: RateCurve,
  startMs: number,
  name: string,
  fields: Partial<KeyFields>,
): Burst[] {
  const sum = (all: Float64Array, from = 0, to = all.length): number => {
    let total = 0
    for (let t = from; t < to; t++) total += all[t]!
    return total
  }
  const mean = sum(values) / values.length
  const toRate = 8e9 / windowNs
  const least = Math.max(factor * mean, leastPeak / toRate)
  const bursts: Burst[] = []
  for (let t = 0; t < values.length; t++) {
    if (lower[t]! < least) continue
    const from = t
    while (t < values.length && lower[t]! >= least) t++
    if (t - from > longest * values.length) continue
    bursts.push({
      ...{ name, fields, startMs: startMs + (from * windowNs) / 1e6, microseconds: ((t - from) * windowNs) / 1000 },
      bytes: { value: sum(values, from, t), lower: sum(lower, from, t), upper: sum(upper, from, t), confidence },
      ...{ peak: Math.max(...values.subarray(from, t)) * toRate, mean: mean * toRate },
    })
  }
  return highest(bursts).slice(0, 4)
}

/** Returns a burst as text. */
export function burstText({ name, microseconds, bytes, peak, mean }: Burst): string {
  return `${name}: ${Math.round(bytes.value)} bytes in ${Math.round(microseconds)} µs, ${bitText(peak)} at its peak, ${bitText(mean)} on average`
}
