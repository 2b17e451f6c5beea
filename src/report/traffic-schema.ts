/** Saved form of traffic: its part of run.json, and the file of its histograms. */

import { z } from 'zod'
import { LogHistogram, type PlainHistogram } from '../stats/index.ts'
import { qpTypes, sizeClasses, type TrafficRecord, verbs } from '../traffic/index.ts'
import type { TrafficSet } from './results.ts'
import { count, figure, id, settings } from './schema-parts.ts'

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

export const trafficSetSchema: z.ZodType<TrafficSet> = z.object({
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
  error: z.string().exactOptional(),
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

export const trafficRecordSchema: z.ZodType<TrafficRecord> = z.object({
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
