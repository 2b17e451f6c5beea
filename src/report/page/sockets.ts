/** Page of the socket benchmark: headline, rsockets beside TCP, all sets, and the profiles. */

import { medianOf } from '../../stats/index.ts'
import { componentColour, flameSvg } from '../charts/flame.ts'
import type { ChartSpec } from '../charts/index.ts'
import { ReportError } from '../errors.ts'
import { escapeHtml, formatBytes, formatCount, formatNs, formatRate, formatShare } from '../format.ts'
import { type LoadedRun, loadFlame } from '../load.ts'
import { lineKeys, socketCharts, socketLabel } from '../plots/sockets.ts'
import { middleSets } from '../repeats.ts'
import type { PlotSettings, SocketProfile, SocketSet } from '../results.ts'
import {
  compareSettings,
  groupBy,
  keyOf,
  namesOf,
  type SocketEntry,
  settingNames,
  settingOf,
  settingsOf,
} from '../settings.ts'
import type { Headline } from './headline.ts'
import { folded, section } from './page.ts'
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
} from './tables.ts'

type Draw = (charts: readonly ChartSpec[]) => string
/** Puts a picture that is drawn already beside the charts. */
type Keep = (name: string, svg: string) => string

export function socketHeadline(entries: readonly SocketEntry[]): Headline {
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

function gigabits(bytesPerSecond: number): string {
  return formatRate(bytesPerSecond * 8, 'bit/s')
}

export function socketSections(
  entries: readonly SocketEntry[],
  runs: readonly LoadedRun[],
  plot: PlotSettings,
  draw: Draw,
  keep: Keep,
  notes: string[],
): string[] {
  const [throughput = '', cpu = '', rest = ''] = grouped(socketCharts(entries, plot), draw)
  return [
    section('sockets', 'Rsockets beside TCP', throughput, cpu, rest, sideBySide(entries)),
    ...runs.flatMap((run) => profileSections(run, runs.length > 1, plot, keep, notes)),
    section(
      'socket-sets',
      'All sets',
      '<p class="faint">CPU: cores that were busy with the thread of the client, of the server, and with the whole process. Press a heading to sort.</p>',
      constantSettings(entries),
      socketTable(entries),
    ),
  ]
}

function grouped(charts: readonly ChartSpec[], draw: Draw): string[] {
  const of = (name: string): string => draw(charts.filter((chart) => chart.name.startsWith(name)))
  return [of('socket-throughput'), of('socket-cpu'), of('socket-round-trips')]
}

// --- tables ------------------------------------------------------------------------------------------------------------

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

// --- where the time went -----------------------------------------------------------------------------------------------

const PROFILE_TEXT = `<p>Each end was measured once more while its thread was sampled; a sample belongs to the function it
fell into. <b>waiting</b> is polling while nothing comes, and sleeping; <b>copies</b> and <b>system calls</b> count
wherever they are made. Other names are folders of Verbena.</p>`

function profileSections(run: LoadedRun, several: boolean, plot: PlotSettings, keep: Keep, notes: string[]): string[] {
  if (run.results.tool !== 'rsocket' || run.results.profiles.length === 0) return []
  const profiles = run.results.profiles.toSorted((a, b) => order(a) - order(b))
  const title = several ? `Where the time went: ${run.label}` : 'Where the time went'
  const naming = { devices: varies(profiles, 'device'), polls: varies(profiles, 'poll') }
  const graphs = profiles.map((profile, index) => {
    const name = profileName(profile, naming)
    const picture = flameOf(run, profile, name, plot, several, keep, notes)
    const details = `${picture}\n${functionTable(profile, `functions-${idOf(run, profile, several)}`)}`
    return index === 0 ? `<h3>${escapeHtml(name)}</h3>\n${details}` : folded(name, details)
  })
  const id = several ? `cost-${run.label.replace(/\W+/g, '-')}` : 'cost'
  return [section(id, title, PROFILE_TEXT, costTable(profiles, naming, `${id}-table`), ...graphs)]
}

function order({ settings, id, end }: SocketProfile): number {
  const transport = settings.transport === 'tcp' ? 1 : 0
  return (
    transport * 1e12 +
    (settings.test === 'rr' ? 0 : 1e10) +
    Number(settings.size) +
    (end === 'server' ? 0.5 : 0) +
    Number(id) * 1e-6
  )
}

interface Naming {
  /** True if the profiles are of more than one device. */
  devices: boolean
  polls: boolean
}

function profileName({ settings, end }: SocketProfile, { devices, polls }: Naming): string {
  const test = settings.test === 'rr' ? 'TCP_RR' : 'TCP_STREAM'
  const device = devices && settings.device !== undefined ? ` on ${settings.device}` : ''
  const over = settings.transport === 'tcp' ? 'kernel TCP' : `rsocket${device}`
  return `${test}, ${formatBytes(Number(settings.size))}, ${over}${polls ? `, ${settings.poll} polling` : ''}, ${end}`
}

function varies(profiles: readonly SocketProfile[], key: string): boolean {
  return new Set(profiles.flatMap(({ settings }) => settings[key] ?? [])).size > 1
}

function idOf(run: LoadedRun, { id, end }: SocketProfile, several: boolean): string {
  return `${several ? `${run.label.replace(/\W+/g, '-')}-` : ''}${id}-${end}`
}

function costTable(profiles: readonly SocketProfile[], naming: Naming, id: string): string {
  const totals = new Map<string, number>()
  for (const { components } of profiles)
    for (const { component, share } of components) totals.set(component, (totals.get(component) ?? 0) + share)
  const names = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name)
  const rows = profiles.map((profile): Cell[] => [
    { text: profileName(profile, naming) },
    profile.settings.test === 'rr'
      ? { text: formatRate(profile.messagesPerSecond, '/s'), value: profile.messagesPerSecond, number: true }
      : { text: gigabits(profile.bytesPerSecond), value: profile.bytesPerSecond, number: true },
    ...names.map((name): Cell => {
      const share = profile.components.find(({ component }) => component === name)?.share ?? 0
      return share === 0
        ? NONE
        : { text: formatShare(share), value: share, number: true, bar: { share, colour: componentColour(name) } }
    }),
  ])
  const heads = [
    { text: 'measurement' },
    { text: 'rate', number: true },
    ...names.map((text) => ({ text, number: true })),
  ]
  return table(heads, rows, id)
}

function functionTable({ functions }: SocketProfile, id: string): string {
  const heads = [{ text: 'share', number: true }, { text: 'function' }, { text: 'module' }, { text: 'component' }]
  const rows = functions.map(({ name, module, component, share }): Cell[] => [
    { text: formatShare(share), value: share, number: true },
    { text: name },
    { text: module },
    { text: component },
  ])
  return table(heads, rows, id)
}

function flameOf(
  run: LoadedRun,
  profile: SocketProfile,
  name: string,
  plot: PlotSettings,
  several: boolean,
  keep: Keep,
  notes: string[],
): string {
  try {
    const root = loadFlame(run.dir, profile.id, profile.end)
    const file = `flame-${idOf(run, profile, several)}`
    return keep(file, flameSvg({ name: file, title: name, width: plot.figure.width, root }))
  } catch (error) {
    if (!(error instanceof ReportError)) throw error
    notes.push(`No flame graph of ${name}: ${error.message}.`)
    return ''
  }
}
