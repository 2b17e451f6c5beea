/** Comparison of the recorded with the performed traffic: messages and bytes exactly, times by the distance of their distributions. */

import type { TraceMessage } from '../../replay/index.ts'
import { ksOfSamples, percentile } from '../../stats/index.ts'
import type { EndReport, Performed } from './end.ts'

export interface OpComparison {
  op: string
  recorded: { messages: number; bytes: number }
  performed: { messages: number; bytes: number }
}

export interface TimeComparison {
  what: 'gaps between messages' | 'request to completion'
  recorded: Quantiles
  performed: Quantiles
  /** Distance of Kolmogorov and Smirnov, 0 to 1; null without values. */
  ks: number | null
}

/** Quantiles in nanoseconds. */
export interface Quantiles {
  count: number
  medianNs: number
  p99Ns: number
}

export interface Comparison {
  connections: number
  operations: OpComparison[]
  /** Counts of the receiving ends: completions with their bytes, and WRITEs seen in memory. */
  received: { messages: number; bytes: number; writes: number }
  /** Nanoseconds from the first to the last message; of the capture, as the speed scales it. */
  spanNs: { recorded: number; performed: number }
  times: TimeComparison[]
  /** Nanoseconds by which messages were late. */
  late: Quantiles
  wrongSizes: number
  lost: number
  impatient: number
  failed: number
  failures: string[]
  /** True if all messages were performed, with the sizes of the capture. */
  same: boolean
}

export function compare(
  messages: readonly Pick<TraceMessage, 'id' | 'connection' | 'op' | 'bytes' | 'atNs' | 'doneNs'>[],
  reports: readonly EndReport[],
  connections: number,
  speed: number,
): Comparison {
  const performed = new Map<number, Performed>()
  for (const report of reports) for (const one of report.performed) performed.set(one.id, one)
  const operations = new Map<string, OpComparison>()
  const recordedGaps: number[] = []
  const performedGaps: number[] = []
  const recordedTimes: number[] = []
  const performedTimes: number[] = []
  const late: number[] = []
  const lastOf = new Map<number, { recorded: number; performed: number }>()
  let recordedSpan = 0
  let performedFrom = Number.POSITIVE_INFINITY
  let performedTo = 0
  const scale = Number.isFinite(speed) ? speed : 1
  for (const { id, connection, op, bytes, atNs, doneNs } of messages) {
    let row = operations.get(op)
    if (row === undefined) {
      row = { op, recorded: { messages: 0, bytes: 0 }, performed: { messages: 0, bytes: 0 } }
      operations.set(op, row)
    }
    row.recorded.messages++
    row.recorded.bytes += bytes
    recordedSpan = Math.max(recordedSpan, (doneNs ?? atNs) / scale)
    const done = performed.get(id)
    if (done === undefined) continue
    late.push(Math.max(0, done.atNs - done.dueNs))
    performedFrom = Math.min(performedFrom, done.atNs)
    performedTo = Math.max(performedTo, done.doneNs ?? done.atNs)
    const before = lastOf.get(connection)
    if (before !== undefined) {
      recordedGaps.push((atNs - before.recorded) / scale)
      performedGaps.push(Math.max(0, done.atNs - before.performed))
    }
    lastOf.set(connection, { recorded: atNs, performed: done.atNs })
    if (done.doneNs === null) continue
    row.performed.messages++
    row.performed.bytes += bytes
    if (doneNs === null) continue
    recordedTimes.push(doneNs - atNs)
    performedTimes.push(done.doneNs - done.atNs)
  }
  const sum = (of: (report: EndReport) => number): number => reports.reduce((total, report) => total + of(report), 0)
  const counts = {
    wrongSizes: sum((report) => report.wrongSizes),
    lost: sum((report) => report.lost),
    impatient: sum((report) => report.impatient),
    failed: sum((report) => report.failed),
  }
  const rows = [...operations.values()]
  const all = rows.every(
    ({ recorded, performed: here }) => recorded.messages === here.messages && recorded.bytes === here.bytes,
  )
  return {
    connections,
    operations: rows,
    received: {
      messages: sum((report) => report.received.messages),
      bytes: sum((report) => report.received.bytes),
      writes: sum((report) => report.seenWrites),
    },
    spanNs: { recorded: recordedSpan, performed: performedTo === 0 ? 0 : performedTo - performedFrom },
    times: [
      timesOf('gaps between messages', recordedGaps, performedGaps),
      timesOf('request to completion', recordedTimes, performedTimes),
    ],
    late: quantiles(late),
    ...counts,
    failures: reports.flatMap(({ failure }) => failure ?? []),
    same: all && counts.wrongSizes === 0 && counts.lost === 0 && counts.failed === 0,
  }
}

function timesOf(
  what: TimeComparison['what'],
  recorded: readonly number[],
  performed: readonly number[],
): TimeComparison {
  const ks = ksOfSamples(recorded, performed)
  return { what, recorded: quantiles(recorded), performed: quantiles(performed), ks: Number.isNaN(ks) ? null : ks }
}

function quantiles(values: readonly number[]): Quantiles {
  const sorted = Float64Array.from(values).sort()
  return { count: values.length, medianNs: percentile(sorted, 50), p99Ns: percentile(sorted, 99) }
}
