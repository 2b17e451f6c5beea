/** Counts at the end of a run, as a table of columns. */
import type { CountersRecord, RunCounts } from './records.ts'

const columns: readonly (readonly [title: string, name: keyof RunCounts])[] = [
  ['commands', 'commands'],
  ['failures', 'failures'],
  ['requests', 'requests'],
  ['bytes', 'requestBytes'],
  ['received', 'received'],
  ['bytes', 'receivedBytes'],
  ['completions', 'completions'],
  ['errors', 'errors'],
  ['drops', 'drops'],
]

export function countsTable({ adapters, programs }: CountersRecord): string[] {
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
