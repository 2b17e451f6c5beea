/** First sentence of a report and the figures below it. */

import { medianOf } from '../../stats/index.ts'
import { formatBytes, formatCount, formatNs, formatRate } from '../format.ts'
import { countText, middleSets } from '../repeats.ts'
import {
  type Entry,
  groupBy,
  keyOf,
  type LatencyEntry,
  labelOf,
  namesOf,
  RUN,
  settingNames,
  type ThroughputEntry,
} from '../settings.ts'

export interface Headline {
  sentence: string
  /** Names and figures. */
  figures: [string, string][]
}

export function latencyHeadline(entries: readonly LatencyEntry[]): Headline {
  // With the stamp at sending, a part of the path is not measured: such sets are compared only among themselves.
  const withLatency = entries.filter((entry) => entry.set.lat.count > 0)
  const whole = withLatency.filter((entry) => entry.set.settings.stamp !== 'send')
  const measured = whole.length > 0 ? whole : withLatency
  if (measured.length === 0) return { sentence: 'No latency was measured.', figures: [] }
  const medianOfSet = (entry: LatencyEntry): number => entry.set.lat.median
  const middle = middleSets(measured, medianOfSet)
  const byMedian = middle.toSorted((a, b) => a.set.lat.median - b.set.lat.median)
  const best = byMedian[0]!
  const { lat } = best.set
  const which = describe(best, measured)
  const sentence =
    middle.length === 1
      ? `A message takes ${formatNs(lat.median)} (median${which}${repeatsText(1, measured.length)}).`
      : `The fastest of ${countText(middle.length, measured.length)}${measured.length < withLatency.length ? ' timed from submission' : ''} takes ${formatNs(lat.median)} (median${which}); the slowest ${formatNs(byMedian.at(-1)!.set.lat.median)}.`
  const sent = entries.reduce((sum, entry) => sum + entry.set.sent, 0)
  const lost = entries.reduce((sum, entry) => sum + entry.set.lost, 0)
  return {
    sentence: [sentence, comparison(middle, medianOfSet, 'latency')].join(' ').trim(),
    figures: [
      [middle.length === 1 ? 'Median latency' : 'Best median', formatNs(lat.median)],
      ['Its central 80 %', pairText(lat.p10, lat.p90, ' to ')],
      ['Its p99 / p99.9', pairText(lat.p99, lat.p999, ' / ')],
      ['Messages', formatCount(sent)],
      ['Lost', formatCount(lost)],
    ],
  }
}

/** Returns ", the median of 3 repetitions", for the end of a description; empty where there is one set of each setting. */
function repeatsText(settings: number, sets: number): string {
  return settings === sets ? '' : `, the median of ${Math.round(sets / settings)} repetitions`
}

/** Returns "22", or "66 (22 × 3)". */
function setsText(settings: number, sets: number): string {
  const repeats = sets / settings
  return `${formatCount(sets)}${repeats > 1 && Number.isInteger(repeats) ? ` (${settings} × ${repeats})` : ''}`
}

/** Formats two times, with the unit once where it is the same: "125 to 156 ns", "120 ns to 267 µs". */
export function pairText(low: number, high: number, between: string): string {
  const [from, to] = [formatNs(low), formatNs(high)]
  const [figure = '', unit] = from.split(' ')
  return `${to.endsWith(` ${unit}`) ? figure : from}${between}${to}`
}

export function throughputHeadline(entries: readonly ThroughputEntry[]): Headline {
  const measured = entries.filter((entry) => entry.set.messages > 0)
  if (measured.length === 0) return { sentence: 'No throughput was measured.', figures: [] }
  const rateOf = (entry: ThroughputEntry): number => entry.set.messagesPerSecond
  const middle = middleSets(measured, rateOf)
  const most = middle.reduce((a, b) => (rateOf(b) > rateOf(a) ? b : a))
  const widest = middle.reduce((a, b) => (b.set.bytesPerSecond > a.set.bytesPerSecond ? b : a))
  const rate = formatRate(most.set.messagesPerSecond, ' messages/s')
  const bytes = formatRate(widest.set.bytesPerSecond, 'B/s')
  const sentence = `Up to ${rate}${describe(most, measured).replace(', ', ' with ')}${repeatsText(middle.length, measured.length)}.`
  return {
    sentence: [sentence, comparison(middle, rateOf, 'rate')].join(' ').trim(),
    figures: [
      ['Messages/s', formatRate(most.set.messagesPerSecond)],
      ['Most data', bytes],
      ['Sets', setsText(middle.length, measured.length)],
      ['Messages', formatCount(measured.reduce((sum, entry) => sum + entry.set.messages, 0))],
    ],
  }
}

/** Returns ": 8 B, RC send, poll busy": the difference of this set from the others, with the size in any case. */
function describe(entry: Entry, all: readonly Entry[]): string {
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
function comparison<E extends Entry>(entries: readonly E[], figure: (entry: E) => number, what: string): string {
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
