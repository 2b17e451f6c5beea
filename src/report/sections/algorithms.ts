/** Algorithms of collectives: `verbena collective measure`. */
import { z } from 'zod'
import type { LineSpec } from '../charts/spec.ts'
import { formatCount, formatNs } from '../format.ts'
import type { Headline } from '../page/headline.ts'
import { folded, section } from '../page/page.ts'
import { constantSettings, count, type Head, MOST_OPEN, type Row, settingCell, table } from '../page/tables.ts'
import type { LatencySummary, PlotSettings, ResultsOf, Setting } from '../results.ts'
import { error, figure, id, resultsSchema, settings, summary } from '../schema-parts.ts'
import type { Canvas, ReportSection } from '../section.ts'
import { type Entry, groupBy, keyOf, RUN, settingNames, settingOf, settingsOf } from '../settings.ts'

/** One set of `verbena collective measure`: an algorithm of a collective. */
export interface AlgorithmSet {
  id: string
  /** device, collective, algorithm, ranks, size (bytes: of what `Task.bytes` counts), repetitions. */
  settings: Record<string, Setting>
  /** Time of the calls: the longest at any rank for each call; each is in `${id}.csv`. */
  time: LatencySummary
  /** Mean, nanoseconds. */
  mean: number
  /** Interval in which the median of another run is expected, nanoseconds: from the medians of the rounds, with 99 % or more. */
  interval: [number, number]
  error?: string
}

export type AlgorithmResults = ResultsOf<'algorithms', 'ns', AlgorithmSet>

type AlgorithmEntry = Entry<AlgorithmSet>

const set = z.object({
  id,
  settings,
  time: summary,
  mean: figure,
  interval: z.tuple([figure, figure]),
  error: error,
})

/** Groups the sets that are compared: those that differ in the algorithm alone. */
function points(entries: readonly AlgorithmEntry[]): AlgorithmEntry[][] {
  return [...groupBy(entries, (entry) => keyOf(entry, ['device', 'collective', 'ranks', 'size', RUN])).values()]
}

function headline(entries: readonly AlgorithmEntry[]): Headline {
  const spreads = points(entries).map((group) => {
    const medians = group.map(({ set }) => set.time.median)
    return { group, spread: Math.max(...medians) / Math.max(1, Math.min(...medians)) }
  })
  const widest = spreads.reduce((a, b) => (b.spread > a.spread ? b : a))
  const sorted = widest.group.toSorted((a, b) => a.set.time.median - b.set.time.median)
  const [first, last] = [sorted[0]!.set, sorted.at(-1)!.set]
  const { collective, ranks, size } = first.settings
  return {
    sentence: `The choice of the algorithm matters most for ${collective} of ${size} bytes among ${ranks} ranks: ${first.settings.algorithm} takes ${formatNs(first.time.median)} (median), ${last.settings.algorithm} ${formatNs(last.time.median)}.`,
    figures: [
      ['Sets', formatCount(entries.length)],
      ['Calls', formatCount(entries.reduce((sum, { set }) => sum + set.time.count, 0))],
    ],
  }
}

function parts(entries: readonly AlgorithmEntry[], canvas: Canvas): string[] {
  const rows = setTable(entries)
  return [
    section(
      'algorithms',
      'Algorithms of collectives',
      '<p class="faint">Medians; the bars are where the median of another run may be expected (99 %).</p>',
      canvas.charts(charts(entries, canvas.plot)),
    ),
    section(
      'algorithm-sets',
      'All sets',
      '<p class="faint">Nanoseconds. Press a heading to sort.</p>',
      constantSettings(entries),
      entries.length > MOST_OPEN ? folded(`The table of ${entries.length} sets`, rows) : rows,
    ),
  ]
}

/** Draws a chart for each collective and number of ranks; a collective with a single size has the table alone. */
function charts(entries: readonly AlgorithmEntry[], plot: PlotSettings): LineSpec[] {
  const apart = ['collective', 'ranks', 'device', RUN]
  const { varying } = settingNames(entries)
  return [...groupBy(entries, (entry) => keyOf(entry, apart)).values()].flatMap((part, index): LineSpec[] => {
    const lines = [...groupBy(part, (entry) => keyOf(entry, ['algorithm'])).values()].map((group) => ({
      label: String(group[0]!.set.settings.algorithm),
      settings: settingsOf(group[0]!, [...apart, 'algorithm']),
      points: group.map(({ set }) => ({
        ...{ x: set.settings.size!, y: set.time.median, low: set.interval[0], high: set.interval[1] },
      })),
    }))
    if (lines.every((line) => line.points.length < 2)) return []
    const { collective, ranks } = part[0]!.set.settings
    const where = ['device', RUN].filter((key) => varying.includes(key)).map((key) => settingOf(part[0]!, key))
    const title = [`${collective} among ${ranks} ranks`, ...where].join(', ')
    return [
      {
        ...{ kind: 'lines', name: `algorithms-${index + 1}`, title, subtitle: 'Median of the calls', over: 'size' },
        ...{ lines, xName: 'bytes', x: 'bytes', yName: 'median time', y: 'ns' },
        ...{ width: plot.figure.width, height: plot.figure.height },
        ...{ logarithmic: plot.medians.logarithmic, linearY: false },
      },
    ]
  })
}

function setTable(entries: readonly AlgorithmEntry[]): string {
  const { varying } = settingNames(entries)
  const shown = ['collective', 'ranks', 'size', 'algorithm'].filter((key) => varying.includes(key))
  const others = varying.filter((key) => !shown.includes(key))
  const figures = ['min', 'median', 'p90', 'p99', 'max'] as const
  const heads: Head[] = [
    { text: 'set', number: true },
    ...shown.map((text) => ({ text })),
    ...[...figures, 'low', 'high', 'mean'].map((text) => ({ text, number: true })),
    ...[...others, 'n'].map((text) => ({ text, extra: true })),
  ]
  const rows = entries.map((entry): Row => {
    const { id, time, interval, mean } = entry.set
    return {
      settings: settingsOf(entry, varying),
      cells: [
        { text: id, value: Number(id), number: true },
        ...shown.map((key) => settingCell(settingOf(entry, key))),
        ...[...figures.map((key) => time[key]), ...interval, mean].map((ns) => count(Math.round(ns))),
        ...others.map((key) => settingCell(settingOf(entry, key))),
        count(time.count),
      ],
    }
  })
  return table(heads, rows, 'algorithm-table')
}

export const algorithms: ReportSection<AlgorithmResults> = {
  tool: 'algorithms',
  schema: resultsSchema<AlgorithmResults>('algorithms', 'ns', set),
  plot: () => ({
    figure: { width: 900, height: 420 },
    histogram: { title: 'Calls', range: [0, 100_000], bins: 200, values: ['lat'] },
    medians: { title: 'Median time', over: 'size', lines: ['algorithm'], logarithmic: true },
  }),
  headline,
  parts,
}
