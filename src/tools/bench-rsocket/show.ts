/** Runs a plan of socket sets at the terminal: progress, then the tables, or one JSON document. */

import { paint, print, table } from '../../cli/terminal/index.ts'
import {
  formatBytes,
  formatCount,
  formatRate,
  formatShare,
  medianOf,
  type SocketProfile,
  type SocketResults,
  type SocketSet,
} from '../../report/index.ts'
import { measure, settingText, varying } from '../bench-kit/index.ts'
import { runSockets, type SocketRun } from './run.ts'

/** Returns the exit code. */
export async function measureSockets(run: Omit<SocketRun, 'command'>, json: boolean): Promise<number> {
  return await measure({
    ...{
      outDir: run.outDir,
      json,
      plannedSets: run.plan.sets.length,
      plannedSteps: run.plan.sets.length + run.profiles.length,
    },
    run: (hooks) => runSockets({ ...run, ...hooks }),
    describe: ({ settings }) => `${settings.test} over ${settings.transport}, ${settings.size} bytes`,
    ...{ document: socketDocument, show },
  })
}

/** Returns the document that `--json` prints. */
function socketDocument({ sets, profiles, unit }: SocketResults): object {
  return {
    runs: sets.map(({ id: _, ...set }) => set),
    profiles: profiles.map(({ id: _, ...profile }) => profile),
    unit,
  }
}

function show({ sets, profiles }: SocketResults, outDir: string): void {
  const keys = varying(sets.map(({ settings }) => settings)).filter((key) => !shown.includes(key) && key !== 'repeat')
  for (const [test, title] of [
    ['rr', 'TCP_RR'],
    ['stream', 'TCP_STREAM'],
  ] as const) {
    const rows = [...groups(sets, test, keys)].map((group) => row(group, keys))
    if (rows.length === 0) continue
    const repeats = Math.max(...[...groups(sets, test, keys)].map((group) => group.length))
    print(paint('bold', title) + (repeats > 1 ? paint('dim', ` (medians of ${repeats})`) : ''))
    const columns = test === 'rr' ? ['transactions/s', 'time, ns', 'p99, ns'] : ['messages/s', 'bit/s']
    const cost = test === 'rr' ? 'CPU ns each' : 'CPU s/GB'
    print(`${table(['transport', ...keys, 'size', ...columns, 'CPU client', 'server', 'process', cost], rows)}\n`)
  }
  if (profiles.length > 0) showProfiles(profiles)
  print(`Results: ${outDir}`)
  print(paint('dim', `Report:  verbena report ${outDir}`))
}

const shown = ['test', 'transport', 'size']

/** Groups the repetitions of the same settings, in the order of the plan. */
function groups(sets: readonly SocketSet[], test: string, keys: readonly string[]): Iterable<SocketSet[]> {
  const found = new Map<string, SocketSet[]>()
  for (const set of sets) {
    if (set.settings.test !== test || set.messages === 0) continue
    const key = JSON.stringify([set.settings.transport, set.settings.size, ...keys.map((key) => set.settings[key])])
    const group = found.get(key)
    if (group) group.push(set)
    else found.set(key, [set])
  }
  return found.values()
}

function row(group: readonly SocketSet[], keys: readonly string[]): string[] {
  const { settings, via } = group[0]!
  const rate = medianOf(group.map((set) => set.messagesPerSecond))
  const bits = medianOf(group.map((set) => set.bytesPerSecond * 8))
  const figures =
    settings.test === 'rr'
      ? [formatCount(rate), formatCount(1e9 / rate), formatCount(medianOf(group.map((set) => set.roundTrip?.p99 ?? 0)))]
      : [formatRate(rate), formatRate(bits)]
  const cpu = (['client', 'server', 'process'] as const).map((end) => {
    const values = group.flatMap((set) => set.cpu[end] ?? [])
    return values.length > 0 ? medianOf(values).toFixed(2) : '–'
  })
  const cost = group.flatMap(({ cpu, messagesPerSecond, bytesPerSecond }) => {
    if (cpu.client === null || cpu.server === null) return []
    return ((cpu.client + cpu.server) * 1e9) / (settings.test === 'rr' ? messagesPerSecond : bytesPerSecond)
  })
  const middle = medianOf(cost)
  const costText = settings.test === 'rr' || middle >= 100 ? formatCount(middle) : middle.toPrecision(3)
  const transport = settings.transport === 'tcp' ? (via === 'node:net' ? 'TCP (node:net)' : 'kernel TCP') : 'rsocket'
  return [
    transport,
    ...keys.map((key) => settingText(settings[key])),
    formatBytes(Number(settings.size)),
    ...figures,
    ...cpu,
    cost.length > 0 ? costText : '–',
  ]
}

function showProfiles(profiles: readonly SocketProfile[]): void {
  print(paint('bold', 'Where the time went') + paint('dim', ' (shares of the samples of each thread)'))
  const vary = varying(profiles.map(({ settings }) => settings)).filter((key) => !shown.includes(key))
  const names = profiles.map(({ settings, end }) => {
    const over = settings.transport === 'tcp' ? 'kernel TCP' : 'rsocket'
    const others = vary.filter((key) => settings[key] !== undefined).map((key) => settingText(settings[key]))
    return [`${settings.test} ${formatBytes(Number(settings.size))}`, over, ...others, end].join(', ')
  })
  const width = Math.max(...names.map(({ length }) => length))
  for (const [i, { components }] of profiles.entries()) {
    const parts = components.slice(0, 6).map(({ component, share }) => `${component} ${formatShare(share)}`)
    print(`${names[i]!.padEnd(width)}  ${parts.join(', ')}`)
  }
  print('')
}
