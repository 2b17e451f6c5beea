/** Shape of a configuration file, for editors, and for messages about unknown keys. */
import { z } from 'zod'
import { configurationSchema } from './schema.ts'

/** Returns the JSON schema, draft 2020-12. */
export function jsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configurationSchema, { io: 'input' }) as Record<string, unknown>
}
