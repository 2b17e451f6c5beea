/** Saved form of traffic: its part of run.json, and the file of its histograms. */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { LogHistogram, type PlainHistogram } from '../../stats/index.ts'
import { qpTypes, sizeClasses, type TrafficRecord, type TrafficSummary, verbs } from '../../traffic/index.ts'
import { readJson, replaceFile } from '../json-files.ts'
import type { ResultsOf, Schema, Setting } from '../results.ts'
import { count, error, figure, id, settings } from '../schema-parts.ts'
import type { Entry } from '../settings.ts'

/** Results of the requests of a client of `verbena traffic`, or of several that were merged. */
export interface TrafficSet extends TrafficSummary {
  id: string
  /** configuration (name of the file), device, arrival, load or requests, bandwidth, flow, qps, servers, clients, seed. */
  settings: Record<string, Setting>
  /** Counters of each server, by its address, including flows from the measurement of the fastest small request. */
  counted: Record<string, { requests: number; bytes: number; messages: number }>
  error?: string
}

export type TrafficResults = ResultsOf<'traffic', 'ns', TrafficSet>

export type TrafficEntry = Entry<TrafficSet>

const share = z.number().min(0).max(1)
const amounts = z.array(figure)
const texts = z.record(z.string(), z.string())
const curve = z.array(z.tuple([figure, share]))

const series = z
  .object({ binSeconds: figure.positive(), due: amounts, dueBytes: amounts, done: amounts, doneBytes: amounts })
  .refine(
    ({ due, dueBytes, done, doneBytes }) => [dueBytes, done, doneBytes].every(({ length }) => length === due.length),
    'all lists of a series must be of one length',
  )

const times = z.object({
  ...{ mean: figure, min: figure, p50: figure, p90: figure, p99: figure, p999: figure, max: figure },
})
const figures = z.object({
  ...{ done: count, bytes: figure, lost: count, failed: count },
  fct: times.nullable(),
  slowdown: times.nullable(),
})
const byName = z.record(z.string(), figures)
const distribution = z.object({
  ...{ total: count, min: figure, max: figure, precision: count.min(1).max(20), buckets: amounts },
})
const generated = z
  .object({ asked: curve.nullable(), generated: distribution, ks: share.nullable(), limit: figure.nullable() })
  .nullable()

export const trafficSetSchema: Schema<TrafficSet> = z.object({
  id,
  settings,
  clients: z.array(count).min(1),
  seconds: figure,
  asked: z.object({ requests: count, bytes: figure, perSecond: figure, bitsPerSecond: figure }),
  reached: z.object({ perSecond: figure, bitsPerSecond: figure }),
  latestNs: figure,
  all: figures,
  sizes: byName,
  verbs: byName,
  types: byName,
  servers: byName,
  fct: z.record(z.string(), distribution),
  generated: z.object({ sizes: generated, gaps: generated }),
  series,
  failures: texts,
  unreachable: texts,
  counted: z.record(z.string(), z.object({ requests: count, bytes: figure, messages: count })),
  error,
})

const histogram: z.ZodType<PlainHistogram> = z
  .object({
    precision: count.min(1).max(20),
    bits: count.max(53),
    count,
    min: figure,
    max: figure,
    mean: figure,
    squares: figure,
    buckets: z.array(count),
  })
  .superRefine((plain, context) => {
    try {
      LogHistogram.fromPlain(plain)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
    }
  })

const values = z.object({
  phase: count,
  verb: z.enum(verbs).nullable(),
  asked: curve.nullable(),
  slack: figure,
  draws: count,
  generated: histogram,
})

const trafficRecordSchema: z.ZodType<TrafficRecord> = z.object({
  configuration: z.record(z.string(), z.json()),
  clients: z.array(count).min(1),
  requests: count,
  bytes: figure,
  askedNs: figure,
  doneNs: figure,
  latestNs: figure,
  cells: z.array(
    z.object({
      server: z.string(),
      type: z.enum(qpTypes),
      verb: z.enum(verbs),
      sizeClass: z.enum(sizeClasses),
      ...{ done: count, bytes: figure, lost: count, failed: count },
      fct: histogram,
      slowdown: histogram,
    }),
  ),
  sizes: z.array(values),
  gaps: z.array(values),
  series,
  failures: texts,
  unreachable: texts,
})

function trafficPath(dir: string, id: string): string {
  return join(dir, `${id}.traffic.json`)
}

export function saveTrafficRecord(dir: string, id: string, record: TrafficRecord): void {
  mkdirSync(dir, { recursive: true })
  replaceFile(trafficPath(dir, id), `${JSON.stringify(record)}\n`)
}

/** @throws ReportError as loadResults does */
export function loadTrafficRecord(dir: string, id: string): TrafficRecord {
  return readJson(trafficPath(dir, id), trafficRecordSchema, 'send the traffic again, or restore the file')
}
