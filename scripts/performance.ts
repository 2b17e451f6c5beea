/**
 * Writes the tables of docs/performance.md and README.md from one run of all comparisons:
 *
 *     npm run --silent bench -- --json > build/performance.json
 *     node --import tsx scripts/performance.ts build/performance.json
 *
 * or the tables of programs under `verbena run` alone, from a run of these:
 *
 *     npm run --silent bench -- --only run,busy-run --json > build/performance.json
 *     node --import tsx scripts/performance.ts build/performance.json programs
 *
 * A table stands between `<!-- figures: NAME -->` and `<!-- end of figures -->`. Where a row of the README or a whole table has no
 * figures in the run, nothing is written, and the names of what is missing are printed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Comparison } from '../bench/comparison.ts'

export interface Run {
  date: string
  machine: { cpu: string; cores: number; os: string; load: number }
  versions: Record<string, string>
  comparisons: Comparison[]
}

/** In the order of the tables. What has a page of its own is not in them. */
const groups = {
  memory:
    /^(one-way latency, RC SEND, [\d,]+ bytes, (average|median)|bandwidth, RC SEND, 64 KiB|message rate, .*, shm)$/,
  network: /, roce$/,
  sockets: /^TCP_(RR|STREAM)|^HTTP|^connecting|idle connections|^start under|^a process that starts/,
  cpu: /^alone: /,
  collectives: / on two cores, shm$/,
  'one core': /^one core: /,
  busy: /^busy: /,
  programs: /^(busy: )?verbena run/,
} as const
export type Group = keyof typeof groups

/** The first group that a comparison fits; sockets on `roce` are among the sockets. */
export function groupOf({ name }: Comparison): Group | undefined {
  const order: Group[] = ['programs', 'one core', 'busy', 'cpu', 'collectives', 'sockets', 'memory', 'network']
  return order.find((group) => groups[group].test(name))
}

function figure(value: number | null, unit: string): string {
  if (value === null) return '–'
  const text = value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(value)
  return unit.startsWith('%') ? `${text} ${unit}` : `${text} ${unit}`
}

/** Rows of one table, as Markdown. */
export function table(run: Run, chosen: readonly Group[]): string {
  const rows = chosen.flatMap((group) => run.comparisons.filter((one) => groupOf(one) === group))
  if (rows.length === 0) throw new Error(`the run has nothing of: ${chosen.join(', ')}`)
  const lines = rows.map(({ name, ours, peer, theirs, unit, ratio, target }) => {
    const their = peer === null ? '' : `${peer}: ${figure(theirs, unit)}`
    return `| ${name.replace(/^alone: /, '')} | ${figure(ours, unit)} | ${their} | ${ratio ?? ''} | ${target ?? ''} |`
  })
  return ['| | Verbena | peer | ratio | to reach |', '| --- | ---: | ---: | ---: | ---: |', ...lines].join('\n')
}

/** Of which run all tables are. */
export function heading({ date, machine, versions, comparisons }: Run): string {
  const day = new Date(date).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
  const reached = comparisons.filter(({ met }) => met).length
  const all = comparisons.filter(({ target }) => target !== undefined).length
  return [
    `One run of ${day}: ${machine.cores} cores of ${machine.cpu}, ${machine.os}, a load of ${machine.load.toFixed(1)} at its start, Node.js`,
    `${versions.node}, ICRC by ${versions.crc32}. ${reached} of ${all} rows with a ratio to reach are there.`,
  ].join('\n')
}

/** The rows of README.md: what stands in a cell, by the name of the comparison and of its peer. */
export function summary({ comparisons }: Run): string {
  const missing: string[] = []
  const cell = (name: string, peer: RegExp, peerName: string): string => {
    const found = comparisons.find((one) => one.name === name && one.peer !== null && peer.test(one.peer))
    if (found === undefined) missing.push(name)
    const [ours, theirs] = [found?.ours ?? 0, found?.theirs ?? 0]
    const unit =
      found?.unit === 'ns'
        ? (ns: number) => (ns < 1000 ? `${Math.round(ns)} ns` : `${(ns / 1000).toFixed(1)} µs`)
        : (value: number) => Math.round(value).toLocaleString('en-US')
    return `${unit(ours)} | ${peerName}: ${unit(theirs)}`
  }
  const latency = 'one-way latency, RC SEND, 8 bytes, median'
  const http = (connections: number, on: string) =>
    `HTTP under verbena/preload, ${connections} connection${connections > 1 ? 's' : ''}, ${on}`
  const busy = (connections: number, on: string) =>
    `busy: HTTP, ${connections} connection${connections > 1 ? 's' : ''}, ${on}`
  const row = (title: string, ...cells: string[]) => `| ${title} | ${cells.join(' | ')} |`
  const lines = [
    '| | `shm` | peer | `roce` on loopback | peer |',
    '| --- | ---: | ---: | ---: | ---: |',
    row(
      'SEND of 8 bytes, half of a round trip',
      cell(latency, /^UCX/, 'UCX'),
      cell(`${latency}, roce`, /^UCX/, 'UCX over TCP'),
    ),
    row(
      'HTTP under the preload, 1 connection, requests/s',
      cell(http(1, 'shm'), /TCP/, 'TCP'),
      cell(http(1, 'roce'), /TCP/, 'TCP'),
    ),
    row(
      'the same, 16 (`shm`) and 50 (`roce`) connections',
      cell(http(16, 'shm'), /TCP/, 'TCP'),
      cell(http(50, 'roce'), /TCP/, 'TCP'),
    ),
    row(
      'the same, 16 connections, while four processes compute',
      cell(busy(16, 'shm'), /TCP/, 'TCP'),
      cell(busy(16, 'roce, one adapter'), /TCP/, 'TCP'),
    ),
  ]
  if (missing.length > 0) throw new Error(`the run has nothing of: ${missing.join('; ')}`)
  return lines.join('\n')
}

/** Programs under `verbena run`: of which run they are, which may be another one, and a row for each comparison. */
export function programs(run: Run): string {
  const comparisons = run.comparisons.filter((one) => groupOf(one) === 'programs')
  return `${heading({ ...run, comparisons })}\n\n${table(run, ['programs'])}`
}

/** A few of them for README.md. */
export function programsSummary(run: Run): string {
  const chosen = [
    ['`ib_send_lat -e`, 8 bytes, half of a round trip', 'verbena run: ib_send_lat -e, 8 bytes, typical'],
    ['`ib_write_bw`, 64 KiB', 'verbena run: ib_write_bw, 64 KiB'],
    ['`ib_write_bw`, 64 KiB, `roce` on loopback', 'verbena run on roce: ib_write_bw, 64 KiB'],
    ['`make` of 50 files', 'verbena run: make of 50 files'],
  ] as const
  const lines = chosen.map(([title, name]) => {
    const found = run.comparisons.find((one) => one.name === name)
    if (found === undefined) throw new Error(`the run has nothing of: ${name}`)
    const { ours, peer, theirs, unit } = found
    return `| ${title} | ${figure(ours, unit)} | ${peer}: ${figure(theirs, unit)} |`
  })
  return ['| program under `verbena run` | | peer |', '| --- | ---: | ---: |', ...lines].join('\n')
}

/** `text` with what stands between the marks of `name` replaced. */
export function replaced(text: string, name: string, figures: string): string {
  const [from, to] = [`<!-- figures: ${name} -->`, '<!-- end of figures -->']
  const start = text.indexOf(from)
  const end = text.indexOf(to, start)
  if (start < 0 || end < 0) throw new Error(`there is no ${from} with an end`)
  return `${text.slice(0, start + from.length)}\n\n${figures}\n\n${text.slice(end)}`
}

type Part = readonly [name: string, figures: (run: Run) => string]

const pages: readonly (readonly [page: string, parts: readonly Part[]])[] = [
  [
    'docs/performance.md',
    [
      ['run', heading],
      ['alone', (run) => table(run, ['memory', 'network', 'sockets', 'cpu', 'collectives'])],
      ['busy', (run) => table(run, ['busy', 'one core'])],
      ['programs', programs],
    ],
  ],
  [
    'README.md',
    [
      ['summary', summary],
      ['programs', programsSummary],
    ],
  ],
]

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [file, only] = process.argv.slice(2)
  if (file === undefined) throw new Error('usage: node --import tsx scripts/performance.ts RESULT.json [TABLE]')
  const run = JSON.parse(readFileSync(file, 'utf8')) as Run
  for (const [page, all] of pages) {
    const parts = all.filter(([name]) => only === undefined || name === only)
    const path = fileURLToPath(new URL(`../${page}`, import.meta.url))
    const text = parts.reduce(
      (before, [name, figures]) => replaced(before, name, figures(run)),
      readFileSync(path, 'utf8'),
    )
    writeFileSync(path, text)
    console.log(`${page}: ${parts.map(([name]) => name).join(', ')}`)
  }
}
