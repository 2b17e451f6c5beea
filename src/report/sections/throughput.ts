/**
 * Throughput: `verbena bench throughput`. Two charts: the techniques over the number of concurrent messages, and the effect of the batch
 * size at 64 concurrent messages, both with messages of 8 bytes. If these were not measured, the nearest values are drawn and the title
 * names them.
 */
import { z } from 'zod'
import { medianOf } from '../../stats/index.ts'
import { MAX_LINES } from '../charts/lines.ts'
import type { LineSpec } from '../charts/spec.ts'
import { formatBytes, formatCount, formatRate } from '../format.ts'
import { comparison, describe, type Headline, repeatsText, setsText } from '../page/headline.ts'
import { section } from '../page/page.ts'
import {
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
import { middleSets } from '../repeats.ts'
import type { PlotSettings, ResultsOf, Setting } from '../results.ts'
import { count as counter, error, figure, id, resultsSchema, settings } from '../schema-parts.ts'
import type { Canvas, ReportSection } from '../section.ts'
import {
  compareSettings,
  type Entry,
  groupBy,
  keyOf,
  labelOf,
  namesOf,
  settingNames,
  settingOf,
  settingsOf,
  sharedLabel,
} from '../settings.ts'

export interface ThroughputSet {
  id: string
  /** technique, concurrent, batch, size, service, device, engine, repeat, … */
  settings: Record<string, Setting>
  messages: number
  seconds: number
  messagesPerSecond: number
  bytesPerSecond: number
  error?: string
}

export type ThroughputResults = ResultsOf<'throughput', 'messages/s', ThroughputSet>

type ThroughputEntry = Entry<ThroughputSet>

const set = z.object({
  id,
  settings,
  messages: counter,
  seconds: figure,
  messagesPerSecond: figure,
  bytesPerSecond: figure,
  error: error,
})

function headline(entries: readonly ThroughputEntry[]): Headline {
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

function parts(entries: readonly ThroughputEntry[], canvas: Canvas): string[] {
  const several = new Set(entries.map((entry) => entry.run.label)).size > 1
  const rows = several ? comparisonTable(entries, (entry) => entry.set.messagesPerSecond, 'throughput-comparison') : ''
  return [
    section(
      'throughput',
      'Throughput',
      canvas.charts(throughputCharts(entries, canvas.plot)),
      rows === '' ? '' : `<h3>The runs side by side</h3>\n<p class="faint">Messages/s.</p>\n${rows}`,
    ),
    section(
      'throughput-table',
      'All throughput sets',
      '<p class="faint">Press a heading to sort.</p>',
      constantSettings(entries),
      setTable(entries),
    ),
  ]
}

function setTable(entries: readonly ThroughputEntry[]): string {
  const { varying } = settingNames(entries)
  const names = namesOf(entries, varying)
  const heads: Head[] = [
    { text: 'set' },
    ...['messages/s', 'bytes/s', 'Gbit/s'].map((text) => ({ text, number: true })),
    ...settingHeads(entries, varying),
    ...['messages', 'seconds'].map((text) => ({ text, number: true, extra: true })),
  ]
  const rows = entries.map((entry): Row => {
    const { messages, seconds, messagesPerSecond, bytesPerSecond } = entry.set
    const gbit = (bytesPerSecond * 8) / 1e9
    return {
      settings: settingsOf(entry, varying),
      cells: [
        setCell(entry, names),
        count(messagesPerSecond),
        { text: formatRate(bytesPerSecond, 'B'), value: bytesPerSecond, number: true },
        { text: gbit >= 10 ? gbit.toFixed(1) : gbit.toFixed(3), value: gbit, number: true },
        ...varying.map((key) => settingCell(settingOf(entry, key))),
        count(messages),
        { text: seconds.toFixed(2), value: seconds, number: true },
      ],
    }
  })
  return table(heads, rows, 'throughput-sets')
}

const SIZE = 8
const CONCURRENT = 64
/** Batch size of the first chart. */
const BATCH = 4

function throughputCharts(entries: readonly ThroughputEntry[], plot: PlotSettings): LineSpec[] {
  const measured = entries.filter((entry) => entry.set.messages > 0)
  const size = nearest(measured, 'size', SIZE)
  const small = measured.filter((entry) => size === null || entry.set.settings.size === size)
  const sizeText = size === null ? '' : `, messages of ${formatBytes(size)}`

  const batched = techniquesWithBatches(small)
  const batch = nearest(
    small.filter((entry) => batched.has(technique(entry))),
    'batch',
    BATCH,
  )
  const atOneBatch = small.filter((entry) => !batched.has(technique(entry)) || entry.set.settings.batch === batch)
  const batchText = batched.size > 0 && batch !== null ? `; ${[...batched].join(' and ')}: batches of ${batch}` : ''

  const many = small.filter((entry) => batched.has(technique(entry)))
  const concurrent = nearest(many, 'concurrent', CONCURRENT)
  const atOneDepth = many.filter((entry) => concurrent === null || entry.set.settings.concurrent === concurrent)
  const depthText = concurrent === null ? '' : `, ${concurrent} concurrent messages`

  return [
    ...charts(
      atOneBatch,
      'concurrent',
      'throughput-concurrent',
      `Throughput over concurrent messages${sizeText}${batchText}`,
      plot,
    ),
    ...charts(
      atOneDepth,
      'batch',
      'throughput-batch',
      `Throughput over batch size${batched.size === 1 ? ` (${[...batched][0]})` : ''}${sizeText}${depthText}`,
      plot,
    ),
  ]
}

function technique(entry: ThroughputEntry): string {
  return String(entry.set.settings.technique ?? '')
}

/** Returns the techniques that were measured with more than one batch size. */
function techniquesWithBatches(entries: readonly ThroughputEntry[]): Set<string> {
  const groups = groupBy(entries, technique)
  const result = new Set<string>()
  for (const [name, group] of groups) {
    if (new Set(group.map((entry) => entry.set.settings.batch)).size > 1) result.add(name)
  }
  return result
}

/** Returns the wanted value of a setting if it was measured, otherwise the one with the smallest ratio to it. */
function nearest(entries: readonly ThroughputEntry[], key: string, wanted: number): number | null {
  let best: number | null = null
  const ratio = (value: number): number => Math.abs(Math.log(value / wanted))
  for (const entry of entries) {
    const value = entry.set.settings[key]
    if (typeof value === 'number' && value > 0 && (best === null || ratio(value) < ratio(best))) best = value
  }
  return best
}

function charts(
  entries: readonly ThroughputEntry[],
  over: string,
  name: string,
  title: string,
  plot: PlotSettings,
): LineSpec[] {
  const placed = entries.filter((entry) => entry.set.settings[over] !== undefined)
  if (new Set(placed.map((entry) => entry.set.settings[over])).size < 2) return []
  const { varying } = settingNames(placed)
  const keys = varying.filter((key) => key !== over && key !== 'batch' && key !== 'repeat')
  const groups = [...groupBy(placed, (entry) => keyOf(entry, keys)).values()].map((group) => ({
    group,
    label: labelOf(group[0]!, keys) || technique(group[0]!) || 'throughput',
  }))
  // Lines of one technique in several runs stand side by side and stay in one chart.
  groups.sort((a, b) => compareSettings(a.label, b.label))
  const runs = new Set(placed.map((entry) => entry.run.label)).size
  const least = Math.ceil(groups.length / MAX_LINES)
  const each = Math.ceil(groups.length / least / runs) * runs
  const count = Math.ceil(groups.length / each)
  return Array.from({ length: count }, (_, index) => {
    const part = groups.slice(index * each, (index + 1) * each)
    const apart = settingNames(part.flatMap(({ group }) => group)).varying
    const own = keys.filter((key) => apart.includes(key))
    return {
      kind: 'lines',
      name: count > 1 ? `${name}-${index + 1}` : name,
      title: count > 1 ? `${title} (${index + 1} of ${count})` : title,
      subtitle: [
        sharedLabel(
          part.flatMap(({ group }) => group),
          [over, 'size', 'concurrent', 'batch', ...(part.length === 1 ? ['technique'] : [])],
        ),
        ...(part.some(({ group }) => settingNames(group).varying.includes('repeat'))
          ? ['Medians of repetitions; bars from the lowest to the highest']
          : []),
      ]
        .filter((text) => text !== '')
        .join('. '),
      over,
      xName: over === 'concurrent' ? 'concurrent messages' : 'messages in a batch',
      yName: 'messages/s',
      x: 'plain',
      y: 'messages/s',
      width: plot.figure.width,
      height: plot.figure.height,
      lines: part.map(({ group, label }) => ({
        label: labelOf(group[0]!, own) || label,
        settings: settingsOf(group[0]!, keys),
        points: [...groupBy(group, (entry) => keyOf(entry, [over])).values()].map((sets) => ({
          x: sets[0]!.set.settings[over]!,
          ...middle(sets.map((entry) => entry.set.messagesPerSecond)),
        })),
      })),
      logarithmic: plot.medians.logarithmic,
      linearY: true,
    }
  })
}

/** Returns the median of repetitions, with bars from the smallest to the largest of them. */
function middle(rates: readonly number[]): { y: number; low?: number; high?: number } {
  const sorted = rates.toSorted((a, b) => a - b)
  return { y: medianOf(sorted), ...(sorted.length > 1 && { low: sorted[0]!, high: sorted.at(-1)! }) }
}

export const throughput: ReportSection<ThroughputResults> = {
  tool: 'throughput',
  schema: resultsSchema<ThroughputResults>('throughput', 'messages/s', set),
  plot: () => ({
    figure: { width: 900, height: 420 },
    histogram: { title: 'Latency', range: [0, 10_000], bins: 200, values: ['lat', 'comp'] },
    medians: { title: 'Messages per second', over: 'concurrent', lines: ['technique'], logarithmic: true },
  }),
  headline,
  parts,
}
