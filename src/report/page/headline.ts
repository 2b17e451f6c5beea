/** First sentence of a report and the figures below it. */

import { medianOf } from '../../stats/index.ts'
import { formatBytes, formatCount, formatNs } from '../format.ts'
import { type Entry, groupBy, keyOf, labelOf, namesOf, RUN, settingNames } from '../settings.ts'

export interface Headline {
  sentence: string
  /** Names and figures. */
  figures: [string, string][]
}

/** Returns ", the median of 3 repetitions", for the end of a description; empty where there is one set of each setting. */
export function repeatsText(settings: number, sets: number): string {
  return settings === sets ? '' : `, the median of ${Math.round(sets / settings)} repetitions`
}

/** Returns "22", or "66 (22 × 3)". */
export function setsText(settings: number, sets: number): string {
  const repeats = sets / settings
  return `${formatCount(sets)}${repeats > 1 && Number.isInteger(repeats) ? ` (${settings} × ${repeats})` : ''}`
}

/** Formats two times, with the unit once where it is the same: "125 to 156 ns", "120 ns to 267 µs". */
export function pairText(low: number, high: number, between: string): string {
  const [from, to] = [formatNs(low), formatNs(high)]
  const [figure = '', unit] = from.split(' ')
  return `${to.endsWith(` ${unit}`) ? figure : from}${between}${to}`
}

/** Returns ": 8 B, RC send, poll busy": the difference of this set from the others, with the size in any case. */
export function describe(entry: Entry, all: readonly Entry[]): string {
  const { size } = entry.set.settings
  const parts: string[] = []
  if (typeof size === 'number') parts.push(`${formatBytes(size)} messages`)
  const keys = settingNames(all).varying.filter((key) => key !== 'size' && key !== 'repeat')
  const always = ['service', 'op', 'technique'].filter((key) => !keys.includes(key))
  const label = labelOf(entry, [...always, ...namesOf(all, keys).keysOf(entry)])
  if (label) parts.push(label)
  return parts.length > 0 ? `, ${parts.join(', ')}` : ''
}

/** Returns, with two runs, the middle ratio of the sets that both have. */
export function comparison<E extends Entry>(entries: readonly E[], figure: (entry: E) => number, what: string): string {
  const runs = [...new Set(entries.map((entry) => entry.run.label))]
  const [first, second] = runs
  if (first === undefined || second === undefined || runs.length !== 2) return ''
  const keys = settingNames(entries).varying.filter((key) => key !== RUN && key !== 'repeat')
  const ratios: number[] = []
  for (const group of groupBy(entries, (entry) => keyOf(entry, keys)).values()) {
    const of = (run: string): number => {
      const entry = group.find((candidate) => candidate.run.label === run)
      return entry ? figure(entry) : 0
    }
    if (of(first) > 0 && of(second) > 0) ratios.push(of(second) / of(first))
  }
  if (ratios.length === 0) return `${first} and ${second} have no settings in common.`
  const sets = ratios.length === 1 ? 'the set' : `${ratios.length} sets`
  return `${second} has ${medianOf(ratios).toFixed(2)} times the ${what} of ${first} (median over ${sets} that both have).`
}
