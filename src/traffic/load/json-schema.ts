/** The shape of a configuration file for editors, and for what to say about keys that it does not have. */
import { z } from 'zod'
import { configurationSchema } from './schema.ts'

/** The JSON schema, draft 2020-12. */
export function jsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configurationSchema, { io: 'input' }) as Record<string, unknown>
}
