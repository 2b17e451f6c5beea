/** Counts at the end of a run, as a table of columns. Programs that only have verbs do not see those of the RDMA CM and of management. */
import type { CountersRecord, RunCounts } from './records.ts'

type Column = readonly [title: string, name: keyof RunCounts]

const allColumns: readonly Column[] = [
  ['commands', 'commands'],
  ['failures', 'failures'],
  ['requests', 'requests'],
  ['bytes', 'requestBytes'],
  ['received', 'received'],
  ['bytes', 'receivedBytes'],
  ['completions', 'completions'],
  ['CM events', 'cmEvents'],
  ['MADs', 'madsSent'],
  ['received', 'madsReceived'],
  ['errors', 'errors'],
  ['drops', 'drops'],
]

/** Columns that are shown if one of them has a count. */
const ofSome: readonly (readonly (keyof RunCounts)[])[] = [['cmEvents'], ['madsSent', 'madsReceived']]

export function countsTable({ adapters, programs }: CountersRecord): string[] {
  const all: readonly RunCounts[] = [...programs, ...adapters]
  const hidden = ofSome.filter((names) => !all.some((counts) => names.some((name) => counts[name] > 0))).flat()
  const columns = allColumns.filter(([, name]) => !hidden.includes(name))
  const rowOf = (title: string, counts: RunCounts): string[] => [title, ...columns.map(([, name]) => `${counts[name]}`)]
  const rows = [
    ['', ...columns.map(([title]) => title)],
    ...programs.map((counts) => rowOf(`${counts.program}[${counts.pid}]`, counts)),
    ...adapters.map((counts) => rowOf(`${counts.name} (${counts.device})`, counts)),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
  for (const { name, counters } of adapters) {
    const own = Object.entries(counters)
    if (own.length > 0) lines.push(`${name} has counted: ${own.map(([key, value]) => `${key} ${value}`).join(', ')}`)
  }
  return lines
}
