/** Rates to a host or a queue pair within a window, with their bounds, in as many bins as a page can show. */
import { curveOf, type KeyFields, type Window } from '../index.ts'

export interface CurveView {
  /** Beginning of the first bin, and length of each, in nanoseconds from the beginning of the window. */
  startNs: number
  binNs: number
  /** Number of bins of the sketch in each bin. */
  together: number
  /** Bits per second. If a bin has several of the sketch, the highest of them. */
  values: number[]
  lower: number[]
  upper: number[]
  /** Confidence of the lower bound of each bin of the sketch; it does not apply to several together. Upper bounds always hold. */
  confidence: number
  /** Average rate of the whole window. */
  mean: number
}

export const mostBins = 512

/** Returns the rates between two times, in nanoseconds from the beginning of the window. Undefined if there are no rates. */
export function curveView(
  window: Window,
  where: Pick<Partial<KeyFields>, 'destination' | 'destinationQp'>,
  fromNs = 0,
  toNs: number = Number.POSITIVE_INFINITY,
): CurveView | undefined {
  const curve = curveOf(window, where)
  if (curve === undefined) return undefined
  const { values, lower, upper, windowNs, confidence } = curve
  const first = clip(Math.floor(fromNs / windowNs), 0, values.length - 1)
  const last = clip(Math.ceil(toNs / windowNs), first + 1, values.length)
  const together = Math.ceil((last - first) / mostBins)
  const toRate = 8e9 / windowNs
  const highest = (all: Float64Array): number[] => {
    const found: number[] = []
    for (let t = first; t < last; t += together) {
      let most = 0
      for (let i = t; i < Math.min(last, t + together); i++) most = Math.max(most, all[i]!)
      found.push(most * toRate)
    }
    return found
  }
  return {
    ...{ startNs: first * windowNs, binNs: together * windowNs, together, confidence },
    ...{ values: highest(values), lower: highest(lower), upper: highest(upper) },
    mean: (values.reduce((sum, value) => sum + value, 0) / values.length) * toRate,
  }
}

function clip(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
