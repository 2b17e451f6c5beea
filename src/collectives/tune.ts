/** Derivation of rules that choose algorithms from measurements of these. */
import { medianOf } from '../stats/index.ts'
import { Chooser, type DecisionTable, defaultRules, type Rule } from './choose.ts'
import { algorithmsOf, type Collective, collectives } from './schedule/index.ts'

/** Measured time of one algorithm. */
export interface Measurement {
  collective: Collective
  algorithm: string
  ranks: number
  /** Bytes as `Task.bytes` counts them. */
  bytes: number
  /** Median of the calls, nanoseconds. */
  medianNs: number
  /** Interval in which the median would lie if it were measured again. */
  lowNs: number
  highNs: number
}

/** Result of the rules at a point that was measured. */
export interface Decision {
  collective: Collective
  ranks: number
  bytes: number
  /** Algorithm of the default rules, and its median; null if it was not measured. */
  standard: string
  standardNs: number | null
  chosen: string
  chosenNs: number
}

export interface Tuning {
  table: DecisionTable
  /** Decisions for all points, in the order of collectives, ranks and bytes. */
  decisions: Decision[]
}

/** Share of the time below which a difference between algorithms is ignored, whatever the noise. */
const clearly = 0.03

/**
 * Returns the default rules, except for those numbers of ranks and bytes for which another algorithm was faster beyond the noise: its
 * interval lies below that of the default one, and its median is 3 % lower. Between two lengths the rules change at the geometric mean of
 * these, and the rules of the last length apply beyond it. Between two numbers of ranks the rules of the larger one apply; a measurement
 * with n ranks implies nothing about more ranks, or, if it is the smallest number, about n/2 and fewer. For several runs of the same
 * measurement, the median of their medians is used, and the interval that contains all of theirs.
 */
export function tune(measurements: readonly Measurement[]): Tuning {
  const rules: Rule[] = []
  const decisions: Decision[] = []
  for (const collective of collectives) {
    const mine = measurements.filter((one) => one.collective === collective)
    const counts = ascending(mine.map(({ ranks }) => ranks))
    const found: Clipped[] = []
    let fewer = Math.floor((counts[0] ?? 0) / 2)
    if (fewer > 1) found.push(...defaultsWithin(collective, 0, Number.POSITIVE_INFINITY, fewer))
    for (const ranks of counts) {
      const points = decide(collective, ranks, mine)
      decisions.push(...points)
      found.push(...rulesFor(points, fewer))
      fewer = ranks
    }
    // The default rules follow these.
    while (found.at(-1)?.isDefault) found.pop()
    rules.push(...found.map(({ rule }) => rule))
  }
  return { table: { version: 1, rules }, decisions }
}

/** Returns the decision for each measured length at one number of ranks. */
function decide(collective: Collective, ranks: number, measured: readonly Measurement[]): Decision[] {
  const here = measured.filter((one) => one.ranks === ranks)
  const defaults = new Chooser(ranks)
  const decisions: Decision[] = []
  for (const bytes of ascending(here.map((one) => one.bytes))) {
    const all = merged(here.filter((one) => one.bytes === bytes))
    const standard = defaults.choose(collective, bytes)
    const chosen = winner(all, standard, decisions.at(-1)?.chosen)
    const times = { standardNs: all.get(standard)?.medianNs ?? null, chosenNs: all.get(chosen)!.medianNs }
    decisions.push({ collective, ranks, bytes, standard, chosen, ...times })
  }
  return decisions
}

/**
 * Returns the default unless other algorithms are clearly faster; of these the one of the previous, shorter length unless another is
 * clearly faster.
 */
function winner(all: ReadonlyMap<string, Measurement>, standard: string, before: string | undefined): string {
  const known = all.get(standard)
  const better = [...all.values()].filter((one) => known === undefined || beats(one, known))
  if (better.length === 0) return standard
  const fastest = better.reduce((a, b) => (b.medianNs < a.medianNs ? b : a))
  const kept = better.find(({ algorithm }) => algorithm === before)
  return kept !== undefined && !beats(fastest, kept) ? kept.algorithm : fastest.algorithm
}

function beats(one: Measurement, other: Measurement): boolean {
  return one.highNs < other.lowNs && one.medianNs * (1 + clearly) < other.medianNs
}

/** Returns one measurement for each algorithm, combined from all runs. */
function merged(measured: readonly Measurement[]): Map<string, Measurement> {
  const all = new Map<string, Measurement>()
  for (const { algorithm } of measured) {
    const same = measured.filter((one) => one.algorithm === algorithm)
    all.set(algorithm, {
      ...same[0]!,
      medianNs: medianOf(same.map(({ medianNs }) => medianNs)),
      lowNs: Math.min(...same.map(({ lowNs }) => lowNs)),
      highNs: Math.max(...same.map(({ highNs }) => highNs)),
    })
  }
  return all
}

interface Clipped {
  rule: Rule
  isDefault: boolean
}

/** Returns the rules for more than `fewer` ranks, up to those of the points. */
function rulesFor(points: readonly Decision[], fewer: number): Clipped[] {
  const rules: Clipped[] = []
  let from = 0
  for (const [i, { collective, ranks, bytes, standard, chosen }] of points.entries()) {
    const next = points[i + 1]
    const isDefault = chosen === standard
    const nextIsDefault = next?.chosen === next?.standard
    // The next rule continues this one.
    if (next !== undefined && nextIsDefault === isDefault && (isDefault || next.chosen === chosen)) continue
    const to = next === undefined ? Number.POSITIVE_INFINITY : Math.round(Math.sqrt(Math.max(1, bytes) * next.bytes))
    if (!isDefault) rules.push({ rule: clip({ collective, algorithm: chosen }, to, ranks), isDefault })
    // Some algorithms exist only for certain numbers of ranks.
    const everywhere = range(fewer + 1, ranks).every((size) => algorithmsOf(collective, size).includes(chosen))
    if (isDefault || !everywhere) rules.push(...defaultsWithin(collective, from, to, ranks))
    from = to
  }
  return rules
}

/** Returns the default rules for more than `from` bytes, up to `to`, and up to so many ranks. */
function defaultsWithin(collective: Collective, from: number, to: number, ranks: number): Clipped[] {
  return defaultRules
    .filter((rule) => rule.collective === collective && (rule.maxBytes ?? to) > from)
    .map((rule) => ({ rule: clip(rule, to, ranks), isDefault: true }))
}

function clip(rule: Rule, to: number, ranks: number): Rule {
  const maxBytes = Math.min(rule.maxBytes ?? to, to)
  const maxRanks = Math.min(rule.maxRanks ?? ranks, ranks)
  const { collective, algorithm } = rule
  return { collective, algorithm, maxRanks, ...(Number.isFinite(maxBytes) && { maxBytes }) }
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b)
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}
