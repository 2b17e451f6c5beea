/**
 * Saved format as zod schemas, kept equal to the types in results.ts by the compiler.
 *
 * run.json is written by programs: fields that this version does not know are ignored, so that a newer writer may add
 * some. plot.json is edited by people: an unknown field is a typing error and rejected, and a missing field has a default.
 */

import { z } from 'zod'
import { defaultPlotSettings } from './plot-settings.ts'
import type { FlameNode, PlotSettings, Results } from './results.ts'
import { count, figure, id, settings } from './schema-parts.ts'
import { trafficSetSchema } from './traffic-schema.ts'

const summaryOf = (value: z.ZodNumber) =>
  z.object({ count, min: value, p10: value, median: value, p90: value, p99: value, p999: value, max: value })
const summary = summaryOf(figure)

const latencySet = z.object({
  id,
  settings,
  lat: summary,
  comp: summary.nullable(),
  sent: count,
  lost: count,
  error: z.string().exactOptional(),
})

const throughputSet = z.object({
  id,
  settings,
  messages: count,
  seconds: figure,
  messagesPerSecond: figure,
  bytesPerSecond: figure,
  error: z.string().exactOptional(),
})

const share = figure.nullable()
const counters = z.record(z.string(), z.number())

const socketSet = z.object({
  id,
  settings,
  via: z.string(),
  messages: count,
  seconds: figure,
  messagesPerSecond: figure,
  bytesPerSecond: figure,
  roundTrip: summary.nullable(),
  cpu: z.object({ client: share, server: share, process: share }),
  counters: z.object({ client: counters, server: counters }),
  error: z.string().exactOptional(),
})

const counts = z.record(z.string(), z.number()).readonly()

const nodeSet = z.object({
  id,
  settings,
  // Stamps are times of day, and the clock may be set back meanwhile.
  lat: summaryOf(z.number()),
  limit: count,
  steps: count,
  missed: z.number().int(),
  missing: z.number().int(),
  notTransmitted: count,
  notTransmittedConnected: count,
  counts: z.object({ sender: counts, receiver: counts }),
  error: z.string().exactOptional(),
})

const collectiveSet = z.object({
  id,
  settings,
  time: summary,
  mean: figure,
  sent: count,
  received: count,
  lost: z.number().min(0).max(1),
  error: z.string().exactOptional(),
})

const algorithmSet = z.object({
  id,
  settings,
  time: summary,
  mean: figure,
  interval: z.tuple([figure, figure]),
  error: z.string().exactOptional(),
})

const socketProfile = z.object({
  id,
  end: z.enum(['client', 'server']),
  settings,
  messagesPerSecond: figure,
  bytesPerSecond: figure,
  samples: count,
  components: z.array(z.object({ component: z.string(), share: figure })),
  functions: z.array(z.object({ name: z.string(), module: z.string(), component: z.string(), share: figure })),
})

export const flameSchema: z.ZodType<FlameNode> = z.object({
  name: z.string(),
  module: z.string(),
  component: z.string(),
  samples: count,
  get children() {
    return z.array(flameSchema)
  },
})

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

export const resultsSchema: z.ZodType<Results> = z
  .discriminatedUnion('tool', [
    z.object({ ...head, tool: z.literal('latency'), unit: z.literal('ns'), sets: z.array(latencySet) }),
    z.object({ ...head, tool: z.literal('throughput'), unit: z.literal('messages/s'), sets: z.array(throughputSet) }),
    z.object({
      ...head,
      tool: z.literal('rsocket'),
      unit: z.literal('bytes/s'),
      sets: z.array(socketSet),
      profiles: z.array(socketProfile),
    }),
    z.object({ ...head, tool: z.literal('node'), unit: z.literal('ns'), sets: z.array(nodeSet) }),
    z.object({ ...head, tool: z.literal('traffic'), unit: z.literal('ns'), sets: z.array(trafficSetSchema) }),
    z.object({ ...head, tool: z.literal('collective'), unit: z.literal('ns'), sets: z.array(collectiveSet) }),
    z.object({ ...head, tool: z.literal('algorithms'), unit: z.literal('ns'), sets: z.array(algorithmSet) }),
  ])
  .superRefine((results, context) => {
    const seen = new Set<string>()
    for (const [index, set] of results.sets.entries()) {
      const message = `set "${set.id}" occurs twice; each set needs an id of its own`
      if (seen.has(set.id)) context.addIssue({ code: 'custom', path: ['sets', index, 'id'], message })
      seen.add(set.id)
    }
  })

const pixels = z.number().int().min(200).max(10_000)

export const plotSchema: z.ZodType<PlotSettings> = z.strictObject({
  figure: z
    .strictObject({ width: pixels.default(900), height: pixels.default(420) })
    .default(() => defaultPlotSettings().figure),
  histogram: z
    .strictObject({
      title: z.string().default('Latency'),
      range: z
        .tuple([figure, figure])
        .refine(([low, high]) => low < high, 'expected the lower limit first: [0, 10000]')
        .default([0, 10_000]),
      bins: z.number().int().min(1).max(5000).default(200),
      values: z
        .array(z.enum(['lat', 'comp']))
        .min(1)
        .default(['lat', 'comp']),
      logarithmic: z.boolean().exactOptional(),
    })
    .default(() => defaultPlotSettings().histogram),
  medians: z
    .strictObject({
      title: z.string().default('Median latency'),
      over: z.string().min(1).default('size'),
      lines: z.array(z.string()).default([]),
      logarithmic: z.boolean().default(true),
    })
    .default(() => defaultPlotSettings().medians),
})
