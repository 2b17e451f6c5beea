/** Saved JSON documents: read and checked, or replaced as a whole. */

import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { z } from 'zod'
import { type Issue, issueText } from '../spelling/index.ts'
import { ReportError } from './errors.ts'

/** Replaces a file: the old one stays until the new one is on the disk, whatever stops in between; several processes do not mix theirs. */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.new`
  try {
    writeFileSync(temporary, text, { flag: 'wx', flush: true })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

export function readJson<T>(path: string, schema: z.ZodType<T>, advice: string): T {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ReportError('ERR_REPORT_NO_RESULTS', `${path}: ${(cause as Error).message}`, { cause })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const why = (cause as Error).message
    throw new ReportError('ERR_REPORT_JSON', `${path}: not valid JSON (${why}); ${advice}`, { cause })
  }
  return check(path, schema, value, advice)
}

/** Number of problems that are shown, each with its path in the document: a damaged file has hundreds, too many to read. */
const PROBLEMS_SHOWN = 3

export function check<T>(path: string, schema: z.ZodType<T>, value: unknown, advice: string): T {
  const parsed = schema.safeParse(value, { reportInput: true })
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const shown = issues.slice(0, PROBLEMS_SHOWN).map((issue) => `${pathText(issue.path)}: ${issueText(issue as Issue)}`)
  const more = issues.length > PROBLEMS_SHOWN ? ` (and ${issues.length - PROBLEMS_SHOWN} more)` : ''
  throw new ReportError('ERR_REPORT_SCHEMA', `${path}: ${shown.join('; ')}${more}; ${advice}`, { cause: parsed.error })
}

/** Formats a path: `sets[3].lat.median`. */
function pathText(path: readonly PropertyKey[]): string {
  let text = ''
  for (const key of path) text += typeof key === 'number' ? `[${key}]` : `${text ? '.' : ''}${String(key)}`
  return text || 'the document'
}
