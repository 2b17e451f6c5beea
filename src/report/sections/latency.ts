/** One-way latencies: `verbena bench latency`. */
import { join } from 'node:path'
import { z } from 'zod'
import { readTimestamps } from '../csv.ts'
import { formatCount, formatNs, formatNsTick } from '../format.ts'
import { latencies } from '../latencies.ts'
import { comparison, describe, type Headline, pairText, repeatsText } from '../page/headline.ts'
import { folded, section } from '../page/page.ts'
import {
  type Cell,
  comparisonTable,
  constantSettings,
  count,
  type Head,
  type Row,
  setCell,
  settingCell,
  settingHeads,
  table,
} from '../page/tables.ts'
import { type DistributionSource, distributions } from '../plots/distributions.ts'
import { type InlinePair, inlineChart, inlinePairs } from '../plots/inline.ts'
import { medianCharts } from '../plots/medians.ts'
import { countText, middleSets } from '../repeats.ts'
import type { LatencySummary, PlotSettings, ResultsOf, Setting } from '../results.ts'
import { count as counter, error, id, resultsSchema, settings, summary } from '../schema-parts.ts'
import type { Canvas, ReportSection } from '../section.ts'
import { type Entry, namesOf, settingNames, settingOf, settingsOf } from '../settings.ts'

export interface LatencySet {
  /** Number of three digits; the raw timestamps are in `${id}.csv`. */
  id: string
  /**
   * Settings, with the names of the command line: device, service, op, size, poll, pollComp, inline, unsignaled, burst, pause, stamp,
   * engine, pin, repeat.
   */
  settings: Record<string, Setting>
  /** t_recv − t_subm (or − t_send when `settings.stamp` is `send`). */
  lat: LatencySummary
  /** t_comp − t_subm; null when the work requests were unsignaled. */
  comp: LatencySummary | null
  sent: number
  lost: number
  /** Messages that arrived but have no latency, since the second in which they left is not known; absent if there are none. */
  untimed?: number
  /** Reason why the set stopped early, if it did: the figures are then those measured before. */
  error?: string
}

export type LatencyResults = ResultsOf<'latency', 'ns', LatencySet>

type LatencyEntry = Entry<LatencySet>

const set = z.object({
  id,
  settings,
  lat: summary,
  comp: summary.nullable(),
  sent: counter,
  lost: counter,
  error: error,
})

/** Settings that make good axes, being numbers: the message size if it varies, else another one that does. */
const AXES = ['size', 'pause', 'burst']

function plot(all: readonly Readonly<Record<string, Setting>>[]): PlotSettings {
  const keys = [...new Set(all.flatMap((settings) => Object.keys(settings)))]
  const vary = keys.filter((key) => new Set(all.map((settings) => settings[key])).size > 1)
  const over = AXES.find((key) => vary.includes(key)) ?? vary[0] ?? 'size'
  return {
    figure: { width: 900, height: 420 },
    histogram: { title: 'One-way latency', range: [0, 10_000], bins: 200, values: ['lat', 'comp'] },
    medians: { title: 'Median latency', over, lines: [], logarithmic: over === 'size' },
  }
}

function headline(entries: readonly LatencyEntry[]): Headline {
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

const source: DistributionSource<LatencySet> = {
  summaryOf: (set, value) => set[value],
  raw({ run, set }) {
    const path = join(run.dir, `${set.id}.csv`)
    const { tSubm, tRecv, tComp } = readTimestamps(path)
    return { path, values: (value) => latencies(tSubm, value === 'lat' ? tRecv : tComp) }
  },
  labelOf: (value) => `t_${value}`,
}

/** Number of sets above which folded pictures would make the page several megabytes large. */
const MOST_STILL = 48

function parts(entries: readonly LatencyEntry[], canvas: Canvas): string[] {
  const { plot } = canvas
  const drawn = distributions(entries, plot, source)
  canvas.notes.push(...drawn.notes)
  const over = canvas.over(entries)
  const pairs = inlinePairs(entries)
  const [low, high] = plot.histogram.range
  const range = `All pictures show ${formatNsTick(low)} to ${formatNsTick(high)} unless they say otherwise; the box says what lies beyond. The red lines are the medians.`
  return [
    section(
      'medians',
      'Medians',
      over === null ? '' : canvas.charts(medianCharts(entries, over, plot)),
      sideBySide(entries),
    ),
    section(
      'distributions',
      'Distributions',
      drawn.main.length > 0 ? `<p class="faint">${range}</p>` : '',
      canvas.charts(drawn.main),
      canvas.charts(drawn.zoomed),
      folded(`Histograms of all ${entries.length} sets`, canvas.charts(drawn.all, entries.length > MOST_STILL)),
    ),
    pairs.length === 0
      ? ''
      : section(
          'delta-inline',
          'Δ inline: what sending inline would save',
          INLINE_TEXT,
          inlineTable(pairs),
          canvas.charts([inlineChart(pairs, plot)]),
        ),
    section(
      'sets',
      'All sets',
      '<p class="faint">Latencies in nanoseconds. Press a heading to sort.</p>',
      constantSettings(entries),
      setTable(entries),
    ),
  ]
}

const INLINE_TEXT = `<p>t<sub>lat</sub> is t<sub>recv</sub> − t<sub>subm</sub>. With the timestamp taken when the adapter
copies the data (<b>stamp send</b>) instead of before the work request is posted (<b>stamp submit</b>), the same message
shows a smaller latency: median(send) − median(submit) is negative, and its size, <b>Δt<sub>inline</sub> ≈ median(submit) −
median(send)</b>, is about the time that is saved when the data travels inside the work request. Nanoseconds.</p>`

function sideBySide(entries: readonly LatencyEntry[]): string {
  if (new Set(entries.map((entry) => entry.run.label)).size < 2) return ''
  const rows = comparisonTable(entries, (entry) => entry.set.lat.median, 'comparison')
  return rows === '' ? '' : `<h3>The runs side by side</h3>\n<p class="faint">Median latency, ns.</p>\n${rows}`
}

const FIGURES = { median: 'median', p90: 'p90', p99: 'p99', p999: 'p99.9', max: 'max' } as const
const MORE_FIGURES = { min: 'min', p10: 'p10' } as const

function setTable(entries: readonly LatencyEntry[]): string {
  const { varying } = settingNames(entries)
  const names = namesOf(entries, varying)
  const withComp = entries.some((entry) => entry.set.comp)
  const number = (text: string): Head => ({ text, number: true })
  const extra = (text: string): Head => ({ text, number: true, extra: true })
  const heads = [
    { text: 'set' },
    ...[...Object.values(FIGURES), 'lost'].map(number),
    ...settingHeads(entries, varying),
    ...['n', ...Object.values(MORE_FIGURES)].map(extra),
    ...(withComp ? [extra('t_comp median')] : []),
  ]
  const rows = entries.map((entry): Row => {
    const { lat, comp, lost } = entry.set
    const figures = (names: object): Cell[] =>
      Object.keys(names).map((key) => count(lat.count > 0 ? lat[key as keyof LatencySummary] : null))
    return {
      settings: settingsOf(entry, varying),
      cells: [
        setCell(entry, names),
        ...figures(FIGURES),
        count(lost),
        ...varying.map((key) => settingCell(settingOf(entry, key))),
        count(lat.count),
        ...figures(MORE_FIGURES),
        ...(withComp ? [count(comp && comp.count > 0 ? comp.median : null)] : []),
      ],
    }
  })
  return table(heads, rows, 'sets-table')
}

function inlineTable(pairs: readonly InlinePair[]): string {
  const measured = pairs.some((pair) => pair.inline !== null)
  const number = (text: string) => ({ text, number: true })
  const heads = [
    { text: 'settings' },
    ...['median, stamp submit', 'median, stamp send', 'Δt inline'].map(number),
    ...(measured ? [number('median, sent inline'), number('saved in fact')] : []),
  ]
  const rows = pairs.map((pair) => ({
    settings: pair.settings,
    cells: [
      { text: pair.label },
      count(pair.submit),
      count(pair.send),
      count(pair.saved),
      ...(measured ? [count(pair.inline), count(pair.inline === null ? null : pair.submit - pair.inline)] : []),
    ],
  }))
  return table(heads, rows, 'inline')
}

export const latency: ReportSection<LatencyResults> = {
  tool: 'latency',
  schema: resultsSchema<LatencyResults>('latency', 'ns', set),
  plot,
  headline,
  parts,
}
