/** Merging of the records of several clients into one. Histograms and counts add up exactly. */
import { LogHistogram, type PlainHistogram } from '../stats/index.ts'
import { TrafficError } from './error.ts'
import type { Json, RecordedCell, RecordedSeries, RecordedValues, TrafficRecord } from './record.ts'

/** Maximum number of intervals of a series; with more, their length doubles. */
export const mostBins = 2048

export interface NamedRecord {
  /** Name for error messages. */
  name: string
  record: TrafficRecord
}

/**
 * Merges records. All clients count from their own start; the merged rates are those of all together as if they had begun at once. Throws a
 * `TrafficError` that names the records if they do not belong together: different configurations, or one client twice.
 */
export function mergeRecords(all: readonly NamedRecord[]): TrafficRecord {
  const [first, ...others] = all
  if (first === undefined) throw new TrafficError('ERR_TRAFFIC_MERGE', 'there are no results to merge')
  const owners = new Map<number, string>()
  for (const { name, record } of all) {
    const different = difference(first.record.configuration, record.configuration, '')
    if (different !== undefined)
      throw new TrafficError(
        'ERR_TRAFFIC_MERGE',
        `${first.name} and ${name} are of different configurations: ${different}`,
      )
    for (const client of record.clients) {
      const owner = owners.get(client)
      if (owner !== undefined)
        throw new TrafficError(
          'ERR_TRAFFIC_MERGE',
          `${owner} and ${name} are both of client ${client}: each client needs a number of its own (--client)`,
        )
      owners.set(client, name)
    }
  }
  return others.reduce((sum, { record }) => merged(sum, record), first.record)
}

function merged(a: TrafficRecord, b: TrafficRecord): TrafficRecord {
  return {
    configuration: a.configuration,
    clients: [...a.clients, ...b.clients].sort((x, y) => x - y),
    requests: a.requests + b.requests,
    bytes: a.bytes + b.bytes,
    askedNs: Math.max(a.askedNs, b.askedNs),
    doneNs: Math.max(a.doneNs, b.doneNs),
    latestNs: Math.max(a.latestNs, b.latestNs),
    cells: joined(a.cells, b.cells, ({ server, type, verb, sizeClass }) => [server, type, verb, sizeClass], mergedCell),
    sizes: joined(a.sizes, b.sizes, ({ phase, verb }) => [phase, verb], mergedValues),
    gaps: joined(a.gaps, b.gaps, ({ phase, verb }) => [phase, verb], mergedValues),
    series: mergedSeries(a.series, b.series),
    failures: mergedTexts(a.failures, b.failures),
    unreachable: mergedTexts(a.unreachable, b.unreachable),
  }
}

function joined<T>(a: readonly T[], b: readonly T[], keyOf: (item: T) => unknown[], merge: (a: T, b: T) => T): T[] {
  const all = new Map(a.map((item) => [JSON.stringify(keyOf(item)), item]))
  for (const item of b) {
    const key = JSON.stringify(keyOf(item))
    const before = all.get(key)
    all.set(key, before === undefined ? item : merge(before, item))
  }
  return [...all.values()]
}

function mergedCell(a: RecordedCell, b: RecordedCell): RecordedCell {
  return {
    ...a,
    done: a.done + b.done,
    bytes: a.bytes + b.bytes,
    lost: a.lost + b.lost,
    failed: a.failed + b.failed,
    fct: mergedHistogram(a.fct, b.fct),
    slowdown: mergedHistogram(a.slowdown, b.slowdown),
  }
}

function mergedValues(a: RecordedValues, b: RecordedValues): RecordedValues {
  return { ...a, draws: a.draws + b.draws, generated: mergedHistogram(a.generated, b.generated) }
}

function mergedHistogram(a: PlainHistogram, b: PlainHistogram): PlainHistogram {
  const sum = LogHistogram.fromPlain(a)
  sum.merge(LogHistogram.fromPlain(b))
  return sum.toPlain()
}

function mergedSeries(a: RecordedSeries, b: RecordedSeries): RecordedSeries {
  if (a.binSeconds < b.binSeconds) return mergedSeries(coarser(a), b)
  if (b.binSeconds < a.binSeconds) return mergedSeries(a, coarser(b))
  const sum = (x: readonly number[], y: readonly number[]): number[] =>
    Array.from({ length: Math.max(x.length, y.length) }, (_, i) => (x[i] ?? 0) + (y[i] ?? 0))
  return {
    binSeconds: a.binSeconds,
    due: sum(a.due, b.due),
    dueBytes: sum(a.dueBytes, b.dueBytes),
    done: sum(a.done, b.done),
    doneBytes: sum(a.doneBytes, b.doneBytes),
  }
}

function coarser({ binSeconds, due, dueBytes, done, doneBytes }: RecordedSeries): RecordedSeries {
  const pairs = (values: readonly number[]): number[] =>
    Array.from({ length: Math.ceil(values.length / 2) }, (_, i) => values[2 * i]! + (values[2 * i + 1] ?? 0))
  return {
    ...{ binSeconds: 2 * binSeconds, due: pairs(due), dueBytes: pairs(dueBytes) },
    ...{ done: pairs(done), doneBytes: pairs(doneBytes) },
  }
}

function mergedTexts(a: Record<string, string>, b: Record<string, string>): Record<string, string> {
  const all = new Map(Object.entries(a))
  for (const [key, text] of Object.entries(b)) {
    const before = all.get(key)
    all.set(key, before === undefined || before === text ? text : `${before}; ${text}`)
  }
  return Object.fromEntries(all)
}

/** Returns the first difference of two documents, with its path; undefined if there is none. */
function difference(a: Json | undefined, b: Json | undefined, path: string): string | undefined {
  if (isGroup(a) && isGroup(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const place = Array.isArray(a) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
      const found = difference(a[key], b[key], place)
      if (found !== undefined) return found
    }
    return undefined
  }
  return a === b ? undefined : `${path} is ${shown(a)} and ${shown(b)}`
}

function isGroup(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null
}

function shown(value: Json | undefined): string {
  if (value === undefined) return 'missing'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
