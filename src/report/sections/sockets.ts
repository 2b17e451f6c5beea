/** Sockets: `verbena bench rsocket`. Rsockets beside TCP of the kernel, all sets, and the profiles. */
import { z } from 'zod'
import { medianOf } from '../../stats/index.ts'
import { MAX_LINES } from '../charts/lines.ts'
import type { ChartSpec, Line, LineSpec } from '../charts/spec.ts'
import { csvField } from '../csv.ts'
import { formatBytes, formatCount, formatNs, formatRate, gigabits, type Quantity } from '../format.ts'
import type { Headline } from '../page/headline.ts'
import { section } from '../page/page.ts'
import {
  type Cell,
  constantSettings,
  count,
  type Head,
  NONE,
  setCell,
  settingCell,
  settingHeads,
  table,
} from '../page/tables.ts'
import { middleSets } from '../repeats.ts'
import type { LatencySummary, PlotSettings, ResultsOf, Setting } from '../results.ts'
import { count as counter, error, figure, id, resultsSchema, settings, summary } from '../schema-parts.ts'
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
import { profileSections, type SocketProfile, socketProfilesSchema } from './socket-profiles.ts'

/** One measurement of `verbena bench rsocket`: TCP_RR or TCP_STREAM over rsockets or TCP of the kernel. */
export interface SocketSet {
  id: string
  /** test (rr, stream), transport (rsocket, tcp), device (rsocket only), size, poll, buffer, extensions, pin, repeat. */
  settings: Record<string, Setting>
  /** Carrier of the data: `verbs`; for TCP `system calls`, or `node:net` where these cannot be made. */
  via: string
  /** Messages sent; for rr, requests that were answered. */
  messages: number
  seconds: number
  messagesPerSecond: number
  /** Bytes per second; for rr in each direction. */
  bytesPerSecond: number
  /** Round trips of rr, nanoseconds, timed one by one after the measurement. Their values are in `${id}.csv`. */
  roundTrip: LatencySummary | null
  /** Cores that were busy: with each end's thread, and with the whole process. Null where it cannot be known. */
  cpu: { client: number | null; server: number | null; process: number | null }
  /** Counters of each end, by name. */
  counters: { client: Record<string, number>; server: Record<string, number> }
  error?: string
}

export interface SocketResults extends ResultsOf<'rsocket', 'bytes/s', SocketSet> {
  profiles: SocketProfile[]
}

type SocketEntry = Entry<SocketSet>

const share = figure.nullable()
const counters = z.record(z.string(), z.number())

const set = z.object({
  id,
  settings,
  via: z.string(),
  messages: counter,
  seconds: figure,
  messagesPerSecond: figure,
  bytesPerSecond: figure,
  roundTrip: summary.nullable(),
  cpu: z.object({ client: share, server: share, process: share }),
  counters: z.object({ client: counters, server: counters }),
  error: error,
})

function headline(entries: readonly SocketEntry[]): Headline {
  const measured = entries.filter((entry) => entry.set.messages > 0)
  if (measured.length === 0) return { sentence: 'No sockets were measured.', figures: [] }
  const best = (test: string, transport: string): SocketEntry | undefined => {
    const some = measured.filter(({ set }) => set.settings.test === test && set.settings.transport === transport)
    const figure = ({ set }: SocketEntry): number => (test === 'rr' ? set.messagesPerSecond : set.bytesPerSecond)
    return middleSets(some, figure).toSorted((a, b) => figure(b) - figure(a))[0]
  }
  const sentences: string[] = []
  const figures: [string, string][] = []
  for (const [test, what] of [
    ['stream', 'stream'],
    ['rr', 'transaction'],
  ] as const) {
    const parts: string[] = []
    for (const [transport, name] of [
      ['rsocket', 'rsockets'],
      ['tcp', 'TCP of the kernel'],
    ] as const) {
      const entry = best(test, transport)
      if (!entry) continue
      const size = formatBytes(Number(entry.set.settings.size))
      const text = test === 'rr' ? formatNs(1e9 / entry.set.messagesPerSecond) : gigabits(entry.set.bytesPerSecond)
      parts.push(test === 'rr' ? `${text} over ${name}` : `${text} over ${name} (${size})`)
      figures.push([`${name}, best ${what}`, text])
    }
    if (parts.length === 0) continue
    sentences.push(test === 'rr' ? `A transaction takes ${parts.join(', ')}.` : `Up to ${parts.join(', ')}.`)
  }
  return { sentence: sentences.join(' '), figures }
}

function parts(entries: readonly SocketEntry[], canvas: Canvas): string[] {
  const [throughput = '', cpu = '', rest = ''] = grouped(socketCharts(entries, canvas.plot), canvas)
  return [
    section('sockets', 'Rsockets beside TCP', throughput, cpu, rest, sideBySide(entries)),
    ...canvas.runs.flatMap((run) => profileSections(run, canvas)),
    section(
      'socket-sets',
      'All sets',
      '<p class="faint">CPU: cores that were busy with the thread of the client, of the server, and with the whole process. Press a heading to sort.</p>',
      constantSettings(entries),
      socketTable(entries),
    ),
  ]
}

function grouped(charts: readonly ChartSpec[], canvas: Canvas): string[] {
  const of = (name: string): string => canvas.charts(charts.filter((chart) => chart.name.startsWith(name)))
  return [of('socket-throughput'), of('socket-cpu'), of('socket-round-trips')]
}

/** Tabulates the medians of both transports for each test and size, and the factor by which rsockets are faster. */
function sideBySide(entries: readonly SocketEntry[]): string {
  const measured = entries.filter((entry) => entry.set.messages > 0)
  const keys = lineKeys(measured)
  const names = [...groupBy(measured, (entry) => socketLabel(entry, keys)).keys()]
  const tcp = names.filter((name) => !name.startsWith('rsocket'))
  if (names.length < 2) return ''
  const rows = [...groupBy(measured, (entry) => keyOf(entry, ['test', 'size'])).values()]
    .toSorted((a, b) => compareSettings(place(a[0]!), place(b[0]!)))
    .map((group): Cell[] => {
      const { test, size } = group[0]!.set.settings
      const values = names.map((name) => {
        const sets = group.filter((entry) => socketLabel(entry, keys) === name)
        return sets.length > 0 ? medianOf(sets.map(({ set }) => figureOf(set))) : null
      })
      const theirs = values[names.indexOf(tcp[0] ?? '')] ?? null
      const cells = values.map((value): Cell => (value === null ? NONE : figureCell(value, test === 'rr')))
      const ratios = names
        .filter((name) => name !== tcp[0])
        .map((name): Cell => {
          const value = values[names.indexOf(name)] ?? null
          if (value === null || theirs === null) return NONE
          return { text: `× ${(value / theirs).toFixed(2)}`, value: value / theirs, number: true }
        })
      return [{ text: test === 'rr' ? 'TCP_RR' : 'TCP_STREAM' }, sizeCell(size), ...cells, ...(tcp[0] ? ratios : [])]
    })
  const number = (text: string) => ({ text, number: true })
  const heads = [
    { text: 'test' },
    number('size'),
    ...names.map(number),
    ...(tcp[0] ? names.filter((name) => name !== tcp[0]).map((name) => number(`${name} / ${tcp[0]}`)) : []),
  ]
  return `<h3>Side by side</h3>\n<p class="faint">TCP_RR: transactions/s. TCP_STREAM: bit/s. Medians of repeats; above 1 rsockets are faster.</p>\n${table(heads, rows, 'socket-comparison')}`
}

function place({ set }: SocketEntry): number {
  return (set.settings.test === 'rr' ? 0 : 1e9) + Number(set.settings.size)
}

function figureOf(set: SocketSet): number {
  return set.settings.test === 'rr' ? set.messagesPerSecond : set.bytesPerSecond * 8
}

function figureCell(value: number, requests: boolean): Cell {
  return { text: requests ? formatCount(value) : formatRate(value), value, number: true }
}

function sizeCell(size: unknown): Cell {
  return { text: formatBytes(Number(size)), value: Number(size), number: true }
}

function socketTable(entries: readonly SocketEntry[]): string {
  const { varying } = settingNames(entries)
  const names = namesOf(entries, varying)
  const number = (text: string): Head => ({ text, number: true })
  const heads: Head[] = [
    { text: 'set' },
    ...['messages/s', 'Gbit/s', 'round trip', 'p99', 'CPU s/GB'].map(number),
    ...settingHeads(entries, varying),
    ...['CPU client', 'server', 'process'].map((text) => ({ ...number(text), extra: true })),
  ]
  const rows = entries.map((entry) => {
    const { messagesPerSecond, bytesPerSecond, roundTrip, cpu } = entry.set
    const gbit = (bytesPerSecond * 8) / 1e9
    const ends = cpu.client === null || cpu.server === null ? null : cpu.client + cpu.server
    return {
      settings: settingsOf(entry, varying),
      cells: [
        setCell(entry, names),
        count(messagesPerSecond),
        { text: gbit >= 10 ? gbit.toFixed(1) : gbit.toFixed(3), value: gbit, number: true },
        time(roundTrip?.median),
        time(roundTrip?.p99),
        cores(ends === null || bytesPerSecond === 0 ? null : (ends * 1e9) / bytesPerSecond),
        ...varying.map((key) => settingCell(settingOf(entry, key))),
        ...[cpu.client, cpu.server, cpu.process].map(cores),
      ],
    }
  })
  return table(heads, rows, 'socket-table')
}

function time(ns: number | undefined): Cell {
  return ns === undefined ? NONE : { text: formatNs(ns), value: ns, number: true }
}

function cores(value: number | null): Cell {
  return value === null ? NONE : { text: value.toFixed(2), value, number: true }
}

/** Returns all sets as a table, one line each: for spreadsheets. */
function csv({ sets }: SocketResults): string {
  const names = [...new Set(sets.flatMap(({ settings }) => Object.keys(settings)))]
  const heads = ['set', ...names, 'via', 'messages', 'seconds', 'messages_per_second', 'bytes_per_second']
  heads.push('round_trip_median_ns', 'round_trip_p99_ns', 'cpu_client', 'cpu_server', 'cpu_process', 'error')
  const rows = sets.map((set) => [
    ...[set.id, ...names.map((name) => set.settings[name]), set.via, set.messages, set.seconds],
    ...[set.messagesPerSecond, set.bytesPerSecond, set.roundTrip?.median, set.roundTrip?.p99],
    ...[set.cpu.client, set.cpu.server, set.cpu.process, set.error],
  ])
  return `${[heads, ...rows].map((row) => row.map(csvField).join(',')).join('\n')}\n`
}

/*
 * Charts over the message size: throughput, and the cores that both ends kept busy, with rsockets and TCP of the kernel in each. Repetitions
 * are one point: their median, and bars from the smallest to the largest.
 */

function socketCharts(entries: readonly SocketEntry[], plot: PlotSettings): LineSpec[] {
  const measured = entries.filter((entry) => entry.set.messages > 0)
  const streams = measured.filter((entry) => entry.set.settings.test === 'stream')
  const requests = measured.filter((entry) => entry.set.settings.test === 'rr')
  return [
    ...charts(streams, plot, {
      name: 'socket-throughput',
      title: 'TCP_STREAM: throughput over message size',
      yName: 'bit/s',
      y: 'bit/s',
      values: [{ label: '', of: ({ set }) => set.bytesPerSecond * 8 }],
    }),
    ...(plot.medians.logarithmic
      ? charts(streams, plot, {
          name: 'socket-throughput-linear',
          title: 'TCP_STREAM: throughput over message size, linear',
          yName: 'bit/s',
          linear: true,
          y: 'bit/s',
          values: [{ label: '', of: ({ set }) => set.bytesPerSecond * 8 }],
        })
      : []),
    ...charts(streams, plot, {
      name: 'socket-cpu',
      title: 'TCP_STREAM: CPU use of both ends over message size',
      yName: 'cores',
      linear: true,
      y: 'cores',
      values: [
        { label: 'client', of: ({ set }) => set.cpu.client },
        { label: 'server', of: ({ set }) => set.cpu.server },
      ],
    }),
    ...charts(requests, plot, {
      name: 'socket-round-trips',
      title: 'TCP_RR: time of a transaction over message size',
      yName: 'time',
      y: 'ns',
      values: [{ label: '', of: ({ set }) => 1e9 / set.messagesPerSecond }],
    }),
  ]
}

interface Spec {
  name: string
  title: string
  yName: string
  linear?: boolean
  y: Quantity
  values: { label: string; of: (entry: SocketEntry) => number | null }[]
}

function charts(entries: readonly SocketEntry[], plot: PlotSettings, spec: Spec): LineSpec[] {
  if (new Set(entries.map((entry) => entry.set.settings.size)).size < 2) return []
  const keys = lineKeys(entries)
  const lines: Line[] = []
  for (const group of groupBy(entries, (entry) => keyOf(entry, keys)).values()) {
    for (const { label, of } of spec.values) {
      const points = pointsOf(group, of)
      const name = [socketLabel(group[0]!, keys), label].filter((part) => part !== '').join(', ')
      if (points.length > 0) lines.push({ label: name, settings: settingsOf(group[0]!, keys), points })
    }
  }
  const count = Math.ceil(lines.length / MAX_LINES)
  const each = Math.ceil(lines.length / count)
  return Array.from({ length: count }, (_, index) => ({
    kind: 'lines',
    name: count > 1 ? `${spec.name}-${index + 1}` : spec.name,
    title: count > 1 ? `${spec.title} (${index + 1} of ${count})` : spec.title,
    subtitle: sharedLabel(entries, ['test', 'size', 'transport']),
    over: 'size',
    xName: 'message size',
    yName: spec.yName,
    x: 'bytes',
    y: spec.y,
    width: plot.figure.width,
    height: plot.figure.height,
    lines: lines.slice(index * each, (index + 1) * each),
    logarithmic: plot.medians.logarithmic,
    linearY: spec.linear === true,
  }))
}

/** Returns the settings that distinguish lines, which always include the transport. */
function lineKeys(entries: readonly SocketEntry[]): string[] {
  const { varying } = settingNames(entries)
  const devices = new Set(entries.flatMap((entry) => entry.set.settings.device ?? []))
  const several = (key: string): boolean => {
    if (key === 'device') return devices.size > 1
    const values = new Set(entries.flatMap((entry) => entry.set.settings[key] ?? []))
    return key === 'run' || values.size > 1
  }
  const others = varying.filter((key) => !['test', 'transport', 'size', 'repeat'].includes(key) && several(key))
  return ['transport', ...others]
}

/** Returns "rsocket roce:127.0.0.1,roce:127.0.0.2, poll busy" or "kernel TCP". */
function socketLabel(entry: SocketEntry, keys: readonly string[]): string {
  const tcp = entry.set.settings.transport === 'tcp'
  const own = keys.filter((key) => key !== 'transport')
  const rest = labelOf(entry, own)
  const name = tcp ? (entry.set.via === 'node:net' ? 'node:net' : 'kernel TCP') : 'rsocket'
  const device = keys.includes('device') && !tcp
  return [name, rest].filter((part) => part !== '').join(device ? ' ' : ', ')
}

function pointsOf(group: readonly SocketEntry[], of: (entry: SocketEntry) => number | null): Line['points'] {
  const places = [...groupBy(group, (entry) => keyOf(entry, ['size'])).values()]
  return places
    .map((sets) => ({ size: sets[0]!.set.settings.size!, values: sets.flatMap((entry) => of(entry) ?? []) }))
    .filter(({ values }) => values.length > 0)
    .map(({ size, values }) => ({
      x: size,
      y: medianOf(values),
      ...(values.length > 1 ? { low: Math.min(...values), high: Math.max(...values) } : {}),
    }))
    .sort((a, b) => compareSettings(a.x, b.x))
}

export const sockets: ReportSection<SocketResults> = {
  tool: 'rsocket',
  schema: resultsSchema<SocketResults>('rsocket', 'bytes/s', set, { profiles: socketProfilesSchema }),
  plot: () => ({
    figure: { width: 900, height: 420 },
    histogram: { title: 'Round trips', range: [0, 100_000], bins: 200, values: ['lat', 'comp'] },
    medians: { title: 'Throughput', over: 'size', lines: [], logarithmic: true },
  }),
  headline,
  parts,
  csv,
}
