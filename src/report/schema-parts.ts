/** Common parts of the schemas of saved results. */

import { z } from 'zod'
import type { ResultsOf, Schema, Setting } from './results.ts'

export const count: z.ZodNumber = z.number().int().nonnegative()
export const figure: z.ZodNumber = z.number().nonnegative()
export const id: z.ZodString = z.string().regex(/^\d{3,}$/, 'expected three digits or more, such as "007"')
export const settings: z.ZodType<Record<string, Setting>> = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()]),
)
export const error: z.ZodExactOptional<z.ZodString> = z.string().exactOptional()

type Summary<V extends z.ZodType> = z.ZodObject<{
  count: z.ZodNumber
  min: V
  p10: V
  median: V
  p90: V
  p99: V
  p999: V
  max: V
}>

export function summaryOf(value: z.ZodNumber): Summary<z.ZodNumber> {
  return z.object({ count, min: value, p10: value, median: value, p90: value, p99: value, p999: value, max: value })
}

export const summary: Summary<z.ZodNumber> = summaryOf(figure)

const head = {
  format: z.literal('verbena-results'),
  version: z.literal(1, 'this version of verbena reads version 1 only; use the verbena that wrote it'),
  command: z.array(z.string()),
  startedAt: z.string().refine((text) => !Number.isNaN(Date.parse(text)), 'expected a date in ISO 8601'),
  durationSeconds: figure,
  complete: z.boolean(),
  machine: z.object({
    cpu: z.string(),
    cores: count,
    boundTo: z.array(count).exactOptional(),
    memoryBytes: count,
    os: z.string(),
    load: figure,
    stolen: figure.exactOptional(),
    others: figure.exactOptional(),
    pollingThreads: count.exactOptional(),
    permitted: z.record(z.string(), z.boolean()),
  }),
  versions: z.record(z.string(), z.string()),
}

/** Returns the schema of a tool's results; `more`: what they have beside the sets. */
export function resultsSchema<R extends ResultsOf>(
  tool: R['tool'],
  unit: R['unit'],
  set: Schema<R['sets'][number]>,
  more: Readonly<Record<string, Schema<unknown>>> = {},
): Schema<R> {
  const sets = z.array(set as z.ZodType)
  const whole = z.object({
    ...head,
    tool: z.literal(tool),
    unit: z.literal(unit),
    sets,
    ...(more as unknown as z.ZodRawShape),
  })
  return whole as unknown as Schema<R>
}
