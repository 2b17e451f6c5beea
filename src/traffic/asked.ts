/** Configured distributions of a phase, as points: sizes of flows, and gaps between requests. */
import { gapCdf } from './arrival-cdf.ts'
import { atomicBytes, fanoutsOf, isAtomic, type Phase, requestRate, type SizeSource, type Verb } from './config.ts'
import { type CurvePoint, curveOf } from './curve.ts'

/** Maximum gap that has a point of its own: 18 minutes. */
const longestNs = 2 ** 50

/** Returns the sizes of the flows of a verb, in bytes. Null for a collective, which determines them itself. */
export function sizesAsked(phase: Phase, verb: Verb): CurvePoint[] | null {
  if (phase.collective !== null) return null
  if (isAtomic(verb)) return curveOf((x) => (x >= atomicBytes ? 1 : 0), [atomicBytes])
  const own = phase.verbs.find((share) => share.verb === verb)
  const sizes = (own?.sizes ?? phase.sizes).filter(({ weight }) => weight > 0)
  const weight = sizes.reduce((sum, entry) => sum + entry.weight, 0)
  const below = (bytes: number): number =>
    sizes.reduce((sum, entry) => sum + shareOf(entry.value, bytes) * (entry.weight / weight), 0)
  const knots = sizes.flatMap(({ value }) => (typeof value === 'number' ? [value] : value.points.map(([x]) => x)))
  if (phase.fanoutSize === 'each') return curveOf(below, knots)
  // If k flows share a size, each has the k-th part, and there are k of them.
  const fanouts = fanoutsOf(phase).filter((fanout) => fanout.weight > 0)
  const flows = fanouts.reduce((sum, fanout) => sum + fanout.weight * fanout.value, 0)
  const split = (bytes: number): number =>
    fanouts.reduce((sum, { value: k, weight }) => sum + below(bytes * k) * ((k * weight) / flows), 0)
  return curveOf(
    split,
    fanouts.flatMap(({ value: k }) => knots.map((x) => x / k)),
  )
}

/** Returns the fraction of a source's sizes that are at most `bytes`; a size of a distribution is rounded up to whole bytes. */
function shareOf(source: SizeSource, bytes: number): number {
  return typeof source === 'number' ? (bytes >= source ? 1 : 0) : source.below(bytes)
}

/** Returns the maximum deviation of sizes from the distribution, in bytes: those of fan-outs that share a size are rounded once more. */
export function sizeSlack(phase: Phase): number {
  return phase.fanoutSize === 'split' && fanoutsOf(phase).some(({ value, weight }) => weight > 0 && value > 1) ? 1 : 0
}

/** Returns the gaps between requests, in nanoseconds. Null if none are configured: for a closed loop, and for a collective. */
export function gapsAsked(phase: Phase, bandwidthBps: number): CurvePoint[] | null {
  const rate = requestRate(phase, bandwidthBps)
  const cdf = phase.collective === null && rate > 0 ? gapCdf(phase.arrival, rate) : undefined
  if (cdf === undefined) return null
  let last = 1
  while (cdf(last) < 1 - 1e-9 && last < longestNs) last *= 2
  const jumps = phase.arrival.type === 'fixed' ? [1e9 / rate] : []
  return curveOf(cdf, [0, ...jumps, last])
}
