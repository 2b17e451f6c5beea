/** Cumulative distributions as points, in the form in which they are saved, and compared with the generated values. */
import { LogHistogram } from '../stats/index.ts'

/** Point: a value, and the share of all values that are at most so large, from 0 to 1. */
export type CurvePoint = readonly [value: number, share: number]

/** Number of points of one octave. */
const perOctave = 16
/** Maximum number of jumps and bends that are kept: half of them the highest, half of them evenly among all. */
const mostKnots = 500

/**
 * Returns points of a distribution of whole numbers, dense enough to be straight between them. `below(x)` is the share of values that are
 * at most x; at `knots` it jumps or bends.
 */
export function curveOf(below: (x: number) => number, knots: readonly number[]): CurvePoint[] {
  const sorted = [...new Set(knots.map(Math.ceil))].sort((a, b) => a - b)
  const kept = sorted.length <= mostKnots ? sorted : thinned(sorted, (x) => below(x) - below(x - 1))
  const [low, high] = [Math.max(0, kept[0]! - 1), kept.at(-1)!]
  const xs = new Set(kept.flatMap((x) => [Math.max(0, x - 1), x]))
  for (let x = Math.max(1, low); x < high; x = Math.max(x + 1, Math.ceil(x * 2 ** (1 / perOctave)))) xs.add(x)
  return [...xs].sort((a, b) => a - b).map((x): CurvePoint => [x, Math.min(1, below(x))])
}

/** Returns a part of the knots. Without the high jumps, the curve would be a ramp between their neighbours. */
function thinned(knots: readonly number[], heightOf: (x: number) => number): number[] {
  const step = Math.ceil(knots.length / (mostKnots / 2))
  const heights = new Map(knots.map((x) => [x, heightOf(x)]))
  const highest = [...knots].sort((a, b) => heights.get(b)! - heights.get(a)!).slice(0, mostKnots / 2)
  const kept = new Set([...highest, ...knots.filter((_, i) => i % step === 0), knots.at(-1)!])
  return [...kept].sort((a, b) => a - b)
}

/** Returns the share at `x`: straight between points, 0 before them and 1 after them. */
export function curveAt(points: readonly CurvePoint[], x: number): number {
  let from = 0
  let to = points.length
  while (from < to) {
    const middle = (from + to) >> 1
    if (points[middle]![0] <= x) from = middle + 1
    else to = middle
  }
  if (from === 0) return 0
  if (from === points.length) return 1
  const [x0, y0] = points[from - 1]!
  const [x1, y1] = points[from]!
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0)
}

/** Values that were drawn, and the configured distribution. */
export interface Drawn {
  asked: readonly CurvePoint[]
  generated: LogHistogram
}

/** Returns the mixture of the configured distributions, each with the weight of the values generated from it. */
export function mixtureOf(parts: readonly Drawn[]): CurvePoint[] {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return [...only.asked]
  const total = parts.reduce((sum, { generated }) => sum + generated.count, 0)
  const xs = [...new Set(parts.flatMap(({ asked }) => asked.map(([x]) => x)))].sort((a, b) => a - b)
  const at = (x: number): number =>
    parts.reduce((sum, { asked, generated }) => sum + curveAt(asked, x) * (generated.count / total), 0)
  return xs.map((x) => [x, Math.min(1, at(x))])
}

/**
 * Returns the Kolmogorov–Smirnov distance between the mixture and all generated values, at the limits of the histogram's buckets. `slack`:
 * maximum deviation of values by rounding.
 */
export function distanceOf(parts: readonly Drawn[], slack: number): number {
  const [first] = parts
  if (first === undefined) return Number.NaN
  const all = parts.slice(1).reduce((sum, { generated }) => {
    sum.merge(generated)
    return sum
  }, LogHistogram.fromPlain(first.generated.toPlain()))
  const asked = mixtureOf(parts)
  let largest = 0
  let seen = 0
  const compare = (x: number): void => {
    const share = seen / all.count
    largest = Math.max(largest, curveAt(asked, x - slack) - share, share - curveAt(asked, x + slack))
  }
  for (const { index, count } of all.filled()) {
    const [low, high] = LogHistogram.limitsOf(index, all.precision)
    compare(Math.max(low, all.min) - 1)
    seen += count
    compare(Math.min(high, all.max))
  }
  return largest
}
