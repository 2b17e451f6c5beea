/** Common parts of the schemas of saved results. */

import { z } from 'zod'
import type { Setting } from './results.ts'

export const count: z.ZodNumber = z.number().int().nonnegative()
export const figure: z.ZodNumber = z.number().nonnegative()
export const id: z.ZodString = z.string().regex(/^\d{3,}$/, 'expected three digits or more, such as "007"')
export const settings: z.ZodType<Record<string, Setting>> = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()]),
)
