/**
 * Saved format as zod schemas, kept equal to the types by the compiler. Those of sets are in `sections/`.
 *
 * run.json is written by programs: fields that this version does not know are ignored, so that a newer writer may add
 * some. plot.json is edited by people: an unknown field is a typing error and rejected, and a missing field has a default.
 */

import { z } from 'zod'
import { defaultPlotSettings } from './plot-settings.ts'
import type { PlotSettings } from './results.ts'
import { figure } from './schema-parts.ts'
import { type Results, sections } from './sections/registry.ts'

type Schemas = readonly [
  z.ZodObject<{ tool: z.ZodLiteral<string>; sets: z.ZodArray<z.ZodObject<{ id: z.ZodString }>> }>,
]

export const resultsSchema: z.ZodType<Results> = z
  .discriminatedUnion('tool', sections.map(({ schema }) => schema) as unknown as Schemas)
  .superRefine((results, context) => {
    const seen = new Set<string>()
    for (const [index, set] of results.sets.entries()) {
      const message = `set "${set.id}" occurs twice; each set needs an id of its own`
      if (seen.has(set.id)) context.addIssue({ code: 'custom', path: ['sets', index, 'id'], message })
      seen.add(set.id)
    }
  }) as unknown as z.ZodType<Results>

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
