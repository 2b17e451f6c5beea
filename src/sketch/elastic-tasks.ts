/**
 * Cardinality, entropy and distribution of sizes from an Elastic Sketch (section 5 of the paper).
 *
 * Each row of counters has all keys: bounds use the first row only, and the distribution is that of all rows together, which has less of
 * the chance of one. Counters at which keys of the buckets have counts are left out where flows among the counters are estimated, and
 * the result is scaled up: the counter of a key does not depend on the other keys. (The paper counts the amounts of those keys there as flows.)
 */
import type { Estimate, SizeCount } from './answers.ts'
import { expectedFlows } from './mrac.ts'

/** Value of a saturated counter: counters have 8 bits. */
export const saturated = 255

export interface ElasticParts {
  /** Amounts of keys that are in the buckets only. */
  exact: number[]
  /** Votes of keys that may have counts at counters, too: their counter of each row (an index in `light`), and the smallest of these. */
  shared: { votes: number; counters: number[]; least: number }[]
  /** Rows of counters, one after the other. */
  light: Uint8Array
  /** Counters of a row. */
  width: number
  /** Total of the amounts that were added to the counters. */
  lightTotal: number
  total: number
}

const confidence = 0.99
/** Number of standard deviations within which a normal distribution has at least 0.99. */
const deviations = 3

/** Returns the histogram of those counters of `rows` that only small flows have, and their number. */
function histogram({ shared, light, width }: ElasticParts, rows: number): { values: Float64Array; counters: number } {
  const left = new Uint8Array(light.length)
  for (const { counters } of shared) for (const counter of counters) left[counter] = 1
  const values = new Float64Array(saturated + 1)
  let counters = 0
  for (let i = 0; i < rows * width; i++) {
    if (left[i] === 1) continue
    values[light[i]!]!++
    counters++
  }
  return { values, counters }
}

/** Returns the number of keys that have counts only at the counters: linear counting (Whang, Vander-Zanden and Taylor, TODS 15, 1990). */
function lightCardinality(parts: ElasticParts): Estimate {
  const { values, counters } = histogram(parts, 1)
  const { width } = parts
  // Without an empty counter there are more flows than linear counting can estimate.
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
  const { values, counters } = histogram(parts, parts.light.length / parts.width)
  const sizes = new Map<number, number>()
  const add = (size: number, flows: number) => sizes.set(size, (sizes.get(size) ?? 0) + flows)
  for (const size of parts.exact) add(size, 1)
  for (const { votes, least } of parts.shared) add(votes + least, 1)
  if (counters > 0) {
    const scale = parts.width / counters
    // A saturated counter has a flow of its value or more, whose split is not known.
    const large = values[saturated]!
    values[saturated] = 0
    for (const [size, flows] of expectedFlows(values, counters).entries()) if (flows > 0) add(size, flows * scale)
    if (large > 0) add(saturated, large * scale)
  }
  return [...sizes].map(([size, flows]) => ({ size, flows })).sort((a, b) => a.size - b.size)
}

/**
 * Returns the entropy with bounds.
 *
 * Upper bound: amounts split further have no less entropy, so the buckets count as keys of their own, and the total of the counters is
 * spread evenly over the upper bound of their keys. Lower bound: merged amounts have no more entropy, so all keys of a counter count as
 * one, with the votes of the keys of buckets that have counts there, and all saturated counters as one.
 */
export function entropyOf(parts: ElasticParts): Estimate {
  const { exact, shared, lightTotal, total } = parts
  const light = parts.light.subarray(0, parts.width)
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
  for (const { votes, counters } of shared) {
    const counter = counters[0]!
    if (light[counter]! < saturated) groups[counter]! += votes
    else rest += votes
  }
  let lower = sure + bits(rest)
  for (const [counter, amount] of groups.entries()) if (light[counter]! < saturated) lower += bits(amount)
  return { value: Math.min(upper, Math.max(lower, value)), lower, upper, confidence }
}
