/**
 * Selection of the generator's arrivals with the most similar gaps: each is fitted by its mean and its other parameters, and the nearest is
 * chosen.
 */
import { ksLimit, ksOfSample } from '../stats/index.ts'
import { exponential, lognormal } from './arrival-cdf.ts'
import type { Arrival } from './config.ts'

export interface ArrivalFit {
  arrival: Exclude<Arrival, { type: 'closed' }>
  ks: number
  /** Distance that gaps of this distribution exceed with a probability of 5 %. */
  limit: number
  /** All arrivals that were tried, the nearest first. */
  tried: { type: string; ks: number }[]
}

type Open = ArrivalFit['arrival']

/** Minimum length of a pause of a source that is on and off, in usual gaps. */
const pauseFactor = 10

/** Fits arrivals to `gaps` in nanoseconds; without any, Poisson with a distance of 1. */
export function fitArrivals(gaps: readonly number[]): ArrivalFit {
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  if (!(mean > 0)) return { arrival: { type: 'poisson' }, ks: 1, limit: 1, tried: [] }
  const candidates: [Open, (x: number) => number, ((x: number) => number)?][] = [
    [{ type: 'poisson' }, (x) => exponential(x, mean)],
    [{ type: 'fixed' }, (x) => (x >= mean ? 1 : 0), (x) => (x > mean ? 1 : 0)],
    [{ type: 'uniform' }, (x) => Math.min(1, Math.max(0, x / (2 * mean)))],
  ]
  const sigma = deviationOfLogs(gaps)
  if (sigma > 0) {
    candidates.push([{ type: 'lognormal', sigma }, (x) => lognormal(x, mean, sigma)])
  }
  const bursts = burstsOf(gaps, mean)
  if (bursts !== undefined) candidates.push(bursts)
  const tried = candidates
    .map(([arrival, below, under = below]) => ({ arrival, ks: ksOfSample(gaps, below, under) }))
    .sort((a, b) => a.ks - b.ks)
  const limit = ksLimit(gaps.length)
  // The simplest of those that fit: they are listed in this order.
  const simplest = candidates.find(([arrival]) => tried.find((one) => one.arrival === arrival)!.ks < limit)
  const best = tried.find(({ arrival }) => arrival === simplest?.[0]) ?? tried[0]!
  return { ...best, limit, tried: tried.map(({ arrival, ks }) => ({ type: arrival.type, ks })) }
}

function deviationOfLogs(gaps: readonly number[]): number {
  const logs = gaps.filter((gap) => gap > 0).map(Math.log)
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length
  return Math.sqrt(logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length)
}

/** Returns a mixture of the gaps within bursts and those between them; undefined if there are no pauses. */
function burstsOf(gaps: readonly number[], mean: number): [Open, (x: number) => number] | undefined {
  const median = [...gaps].sort((a, b) => a - b)[gaps.length >> 1]!
  const within = gaps.filter((gap) => gap <= pauseFactor * median)
  const pauses = gaps.length - within.length
  if (pauses === 0 || median === 0) return undefined
  const inside = within.reduce((sum, gap) => sum + gap, 0)
  const insideMean = inside / within.length
  const offNs = (mean * gaps.length - inside) / pauses - insideMean
  const onNs = (inside + pauses * insideMean) / (pauses + 1)
  if (!(offNs > 0 && onNs > 0)) return undefined
  const share = pauses / gaps.length
  const below = (x: number): number =>
    (1 - share) * exponential(x, insideMean) + share * exponential(x - insideMean, offNs)
  return [{ type: 'onoff', onNs, offNs }, below]
}
