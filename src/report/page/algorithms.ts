/** Part of a report about the algorithms of collectives. */
import type { ChartSpec, LineSpec } from '../charts/spec.ts'
import { formatCount, formatNs } from '../format.ts'
import type { PlotSettings } from '../results.ts'
import { type AlgorithmEntry, groupBy, keyOf, RUN, settingNames, settingOf, settingsOf } from '../settings.ts'
import type { Headline } from './headline.ts'
import { folded, section } from './page.ts'
import { constantSettings, count, type Head, type Row, settingCell, table } from './tables.ts'

/** Maximum length of an open table: a longer one would hide the content below it. */
const MOST_OPEN = 60

/** Groups the sets that are compared: those that differ in the algorithm alone. */
function points(entries: readonly AlgorithmEntry[]): AlgorithmEntry[][] {
  return [...groupBy(entries, (entry) => keyOf(entry, ['device', 'collective', 'ranks', 'size', RUN])).values()]
}

export function algorithmHeadline(entries: readonly AlgorithmEntry[]): Headline {
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

export function algorithmSections(
  entries: readonly AlgorithmEntry[],
  plot: PlotSettings,
  draw: (specs: readonly ChartSpec[]) => string,
): string[] {
  const rows = setTable(entries)
  return [
    section(
      'algorithms',
      'Algorithms of collectives',
      '<p class="faint">Medians; the bars are where the median of another run may be expected (99 %).</p>',
      draw(algorithmCharts(entries, plot)),
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
function algorithmCharts(entries: readonly AlgorithmEntry[], plot: PlotSettings): LineSpec[] {
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
