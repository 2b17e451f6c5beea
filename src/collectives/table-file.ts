/** Rules in a file. */
import { readFileSync } from 'node:fs'
import type { DecisionTable } from './choose.ts'
import { CollectiveError } from './error.ts'

/** Returns the table that VERBENA_TABLE names; null without one. Throws a CollectiveError (EINVAL) if the file contains no valid table. */
export function tableOfEnvironment(): DecisionTable | null {
  const path = process.env.VERBENA_TABLE
  if (!path) return null
  try {
    const table = JSON.parse(readFileSync(path, 'utf8')) as DecisionTable | null
    if (table === null) throw new TypeError('it has no table')
    return table
  } catch (cause) {
    throw new CollectiveError('EINVAL', `VERBENA_TABLE, ${path}: ${(cause as Error).message}`, -1, { cause })
  }
}
