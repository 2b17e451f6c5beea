/** One-to-many and many-to-one communication: `verbena bench collective`. */
import { significant } from '../../text/index.ts'
import { formatBytes, formatCount, formatNs, formatShare } from '../format.ts'
import type { Headline } from '../page/headline.ts'
import { folded, section } from '../page/page.ts'
import {
  type Cell,
  constantSettings,
  count,
  type Head,
  MOST_OPEN,
  type Row,
  settingCell,
  table,
} from '../page/tables.ts'
import { middleSets } from '../repeats.ts'
import type { LatencySummary } from '../results.ts'
import { resultsSchema } from '../schema-parts.ts'
import type { Canvas, ReportSection } from '../section.ts'
import { groupBy, settingNames, settingOf, settingsOf } from '../settings.ts'
import { callCharts, readCharts, roundTripCharts } from './collective-charts.ts'
import { paperTimes } from './collective-paper.ts'
import {
  type CollectiveEntry,
  type CollectiveResults,
  collectiveSetSchema,
  kindOf,
  numberOf,
  roundTrips,
} from './collective-set.ts'
import { best, median, recommendations, winnerMap } from './collective-winners.ts'

function headline(entries: readonly CollectiveEntry[]): Headline {
  const measured = entries.filter(({ set }) => set.time.count > 0)
  const trips = roundTrips(measured)
  const of = trips.length > 0 ? trips : measured
  if (of.length === 0) return { sentence: 'Nothing was measured.', figures: [] }
  const { varying } = settingNames(of)
  const size = Math.min(...of.map((entry) => numberOf(entry, 'size')))
  const most = Math.max(...of.map((entry) => numberOf(entry, 'processes')))
  const there = of.filter((entry) => numberOf(entry, 'size') === size && numberOf(entry, 'processes') === most)
  const compared = middleSets(there, ({ set }) => set.time.median).toSorted(
    (a, b) => a.set.time.median - b.set.time.median,
  )
  const [first] = compared as [CollectiveEntry]
  const what = trips.length > 0 ? 'round trip' : String(first.set.settings.measure)
  const remote = `${most} remote ${most === 1 ? 'process' : 'processes'}`
  const sent = measured.reduce((sum, { set }) => sum + set.sent, 0)
  const received = measured.reduce((sum, { set }) => sum + set.received, 0)
  return {
    sentence: `With ${formatBytes(size)} and ${remote}, ${kindOf(first, varying)} has the shortest ${what}: ${formatNs(first.set.time.median)} (median).`,
    figures: [
      ['Its best', formatNs(first.set.time.min)],
      ['Slowest there', formatNs(compared.at(-1)!.set.time.median)],
      ['Sets', formatCount(entries.length)],
      ['Messages', formatCount(sent)],
      ['Lost', formatShare(sent > 0 ? Math.max(0, sent - received) / sent : 0)],
    ],
  }
}

function parts(entries: readonly CollectiveEntry[], canvas: Canvas): string[] {
  const { plot } = canvas
  const byMedian = winnerMap(entries, median, 'winners-median')
  const advice = recommendations(entries)
  const paper = paperTable(entries)
  const losses = lossTable(entries)
  return [
    section('round-trips', 'One to many and back', canvas.charts(roundTripCharts(entries, plot))),
    section('reads', 'RDMA READ and its parts', canvas.charts(readCharts(entries, plot))),
    section(
      'winners',
      'The fastest, by size and processes',
      winnerMap(entries, best, 'winners-best') === ''
        ? ''
        : '<p class="faint">By the best round trip, as the study of 2006 compares; all but RDMA READ, whose time has other parts.</p>',
      winnerMap(entries, best, 'winners-best'),
      folded('By the median', byMedian),
    ),
    section(
      'recommendation',
      'What to use',
      advice === ''
        ? ''
        : '<p class="faint">By the median round trip. What UC, UD and multicast lose, the program has to send again; the last column is how many times as long the fastest reliable one takes.</p>',
      advice,
    ),
    section(
      'paper',
      'Beside the study of 2006',
      paper === ''
        ? ''
        : '<p class="faint">Best times that its text names, with 64 hosts on InfiniBand, and this run’s with the same settings. Microseconds.</p>',
      paper,
    ),
    section('losses', 'What was lost', losses),
    section('calls', 'What single calls take', canvas.charts(callCharts(entries, plot))),
    section(
      'collective-sets',
      'All sets',
      '<p class="faint">Nanoseconds. Press a heading to sort.</p>',
      constantSettings(entries),
      entries.length > MOST_OPEN ? folded(`The table of ${entries.length} sets`, setTable(entries)) : setTable(entries),
    ),
  ]
}

function paperTable(entries: readonly CollectiveEntry[]): string {
  const rows = paperTimes.flatMap(({ us, ...wanted }): Cell[][] => {
    const found = entries.filter(
      ({ set }) => set.time.count > 0 && Object.entries(wanted).every(([key, value]) => set.settings[key] === value),
    )
    if (found.length === 0) return []
    const ours = Math.min(...found.map(best)) / 1000
    const figure = (value: number): Cell => ({ text: significant(value, 3), value, number: true })
    return [
      [
        { text: `${wanted.transport} ${wanted.mode}` },
        { text: wanted.measure },
        { text: formatBytes(wanted.size), value: wanted.size },
        count(wanted.processes),
        figure(us),
        figure(ours),
        { text: `× ${(ours / us).toFixed(3)}`, value: ours / us, number: true },
      ],
    ]
  })
  if (rows.length === 0) return ''
  const number = (text: string): Head => ({ text, number: true })
  const heads = [
    { text: 'operation' },
    { text: 'measure' },
    { text: 'size' },
    ...['remote processes', 'in 2006', 'here', 'ratio'].map(number),
  ]
  return table(heads, rows, 'paper-table')
}

function lossTable(entries: readonly CollectiveEntry[]): string {
  const unreliable = entries.filter(({ set }) => set.settings.transport !== 'RC')
  if (unreliable.length === 0) return ''
  const { varying } = settingNames(unreliable)
  const rows = [...groupBy(unreliable, (entry) => kindOf(entry, varying))].map(([kind, group]): Cell[] => {
    const sum = (key: 'sent' | 'received'): number => group.reduce((all, { set }) => all + set[key], 0)
    const [sent, received] = [sum('sent'), sum('received')]
    const share = sent > 0 ? Math.max(0, sent - received) / sent : 0
    const worst = Math.max(...group.map(({ set }) => set.lost))
    return [
      { text: kind },
      count(sent),
      count(Math.max(0, sent - received)),
      { text: formatShare(share), value: share, number: true },
      { text: formatShare(worst), value: worst, number: true },
    ]
  })
  const number = (text: string): Head => ({ text, number: true })
  return table(
    [{ text: 'operation' }, ...['messages', 'lost', 'share', 'most in a set'].map(number)],
    rows,
    'loss-table',
  )
}

const FIGURES = { min: 'best', median: 'median', p90: 'p90', p99: 'p99', max: 'max' } as const

function setTable(entries: readonly CollectiveEntry[]): string {
  const { varying } = settingNames(entries)
  const shown = ['transport', 'mode', 'measure', 'size', 'processes', 'posts'].filter((key) => varying.includes(key))
  const others = varying.filter((key) => !shown.includes(key))
  const number = (text: string): Head => ({ text, number: true })
  const heads: Head[] = [
    { text: 'set', number: true },
    ...shown.map((text) => ({ text })),
    ...['best', 'mean', 'median', 'p90', 'p99', 'max', 'lost'].map(number),
    ...[...others, 'n', 'sent', 'received'].map((text) => ({ text, extra: true })),
  ]
  const rows = entries.map((entry): Row => {
    const { id, time, mean, sent, received, lost } = entry.set
    const figure = (key: keyof typeof FIGURES): Cell => count(time.count > 0 ? time[key as keyof LatencySummary] : null)
    return {
      settings: settingsOf(entry, varying),
      cells: [
        { text: id, value: Number(id), number: true },
        ...shown.map((key) => settingCell(settingOf(entry, key))),
        ...[figure('min'), count(time.count > 0 ? Math.round(mean) : null)],
        ...(['median', 'p90', 'p99', 'max'] as const).map(figure),
        { text: formatShare(lost), value: lost, number: true },
        ...others.map((key) => settingCell(settingOf(entry, key))),
        ...[time.count, sent, received].map(count),
      ],
    }
  })
  return table(heads, rows, 'collective-table')
}

export const collective: ReportSection<CollectiveResults> = {
  tool: 'collective',
  schema: resultsSchema<CollectiveResults>('collective', 'ns', collectiveSetSchema),
  // Plots as Viertel (2006) draws round trips.
  plot: () => ({
    figure: { width: 900, height: 420 },
    histogram: { title: 'Round trips', range: [0, 100_000], bins: 200, values: ['lat'] },
    medians: { title: 'Best round trip', over: 'processes', lines: [], logarithmic: false },
  }),
  headline,
  parts,
}
