/**
 * Cardinality, entropy and distribution of sizes from an Elastic Sketch (section 5 of the paper).
 *
 * Of the counters only the first row is looked at: each row has all keys. Counters at which keys of the buckets have counts are left out where flows among the counters are estimated, and the others
 * scaled up: which counter a key has does not depend on the other keys. (The paper counts what those keys have there as flows.)
 */
import type { Estimate, SizeCount } from './answers.ts'
import { expectedFlows } from './mrac.ts'

/** Counters have 8 bits. */
export const saturated = 255

export interface ElasticParts {
  /** Amounts of keys that are in the buckets only. */
  exact: number[]
  /** Votes of keys that may have counts at counters, too: their counter of the first row, and the least one of all rows. */
  shared: { votes: number; counter: number; least: number }[]
  /** The first row of counters. */
  light: Uint8Array
  /** What the counters took. */
  lightTotal: number
  total: number
}

const confidence = 0.99
/** Standard deviations, from which 0.99 and more of a normal distribution are not farther away. */
const deviations = 3

/** How many of the counters that only small flows have are at each value, and how many those counters are. */
function histogram({ shared, light }: ElasticParts): { values: Float64Array; counters: number } {
  const left = new Uint8Array(light.length)
  for (const { counter } of shared) left[counter] = 1
  const values = new Float64Array(saturated + 1)
  let counters = 0
  for (let i = 0; i < light.length; i++) {
    if (left[i] === 1) continue
    values[light[i]!]!++
    counters++
  }
  return { values, counters }
}

/** Keys that have counts only at the counters: linear counting (Whang, Vander-Zanden and Taylor, TODS 15, 1990). */
function lightCardinality(parts: ElasticParts): Estimate {
  const { values, counters } = histogram(parts)
  const width = parts.light.length
  // Without an empty counter there are more flows than linear counting can tell.
  const load = counters === 0 ? 0 : Math.log(counters / Math.max(1, values[0]!))
  const value = width * load
  const sigma = width * Math.sqrt((Math.exp(load) - load - 1) / Math.max(1, counters))
  const unknown = counters === 0 || values[0] === 0
  const upper = unknown ? parts.lightTotal : Math.min(parts.lightTotal, value + deviations * sigma)
  return { value, lower: Math.max(0, value - deviations * sigma), upper, confidence }
}

export function cardinalityOf(parts: ElasticParts): Estimate {
  const heavy = parts.exact.length + parts.shared.length
  const { value, lower, upper } = lightCardinality(parts)
  return { value: heavy + value, lower: heavy + lower, upper: heavy + upper, confidence }
}

export function distributionOf(parts: ElasticParts): SizeCount[] {
  const { values, counters } = histogram(parts)
  const sizes = new Map<number, number>()
  const add = (size: number, flows: number) => sizes.set(size, (sizes.get(size) ?? 0) + flows)
  for (const size of parts.exact) add(size, 1)
  for (const { votes, least } of parts.shared) add(votes + least, 1)
  if (counters > 0) {
    const scale = parts.light.length / counters
    // A saturated counter has a flow of its value or more, whose split is not known.
    const large = values[saturated]!
    values[saturated] = 0
    for (const [size, flows] of expectedFlows(values, counters).entries()) if (flows > 0) add(size, flows * scale)
    if (large > 0) add(saturated, large * scale)
  }
  return [...sizes].map(([size, flows]) => ({ size, flows })).sort((a, b) => a.size - b.size)
}

/**
 * Upper bound: amounts split further have no less entropy, so the buckets count as keys of their own, and what the counters took is
 * spread evenly over the upper bound of their keys. Lower bound: amounts put together have no more, so all keys of a counter
 * count as one, with the votes of the keys of buckets that have counts there, and all saturated counters as one.
 */
export function entropyOf(parts: ElasticParts): Estimate {
  const { exact, shared, light, lightTotal, total } = parts
  if (total === 0) return { value: 0, lower: 0, upper: 0, confidence: 1 }
  const bits = (amount: number) => (amount > 0 ? (amount / total) * Math.log2(total / amount) : 0)
  let value = 0
  for (const { size, flows } of distributionOf(parts)) value += flows * bits(size)
  const sure = exact.reduce((sum, amount) => sum + bits(amount), 0)

  const lightKeys = lightCardinality(parts).upper + shared.length
  let upper = sure + shared.reduce((sum, { votes }) => sum + bits(votes), 0)
  if (lightTotal > 0) upper += (lightTotal / total) * Math.log2((total * Math.max(1, lightKeys)) / lightTotal)

  const groups = Float64Array.from(light)
  let rest = lightTotal
  for (const amount of light) if (amount < saturated) rest -= amount
  for (const { votes, counter } of shared)
    if (light[counter]! < saturated) groups[counter]! += votes
    else rest += votes
  let lower = sure + bits(rest)
  for (const [counter, amount] of groups.entries()) if (light[counter]! < saturated) lower += bits(amount)
  return { value: Math.min(upper, Math.max(lower, value)), lower, upper, confidence }
}
