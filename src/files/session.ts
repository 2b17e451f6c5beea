/** The folder of a session, as `verbena collect` makes it: which of its files are the trace. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The document that says what a session is. */
export const sessionFile = 'session.json'
/** Its `kind`. */
export const sessionKind = 'verbena session'

export const sessionTraceName: RegExp = /^trace(-\d+)?\.pcapng(\.gz|\.zst)?$/

/** The paths of the trace's files, in their order; undefined if the folder is no session. */
export function sessionTraces(path: string): string[] | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined
  try {
    const { kind } = JSON.parse(readFileSync(join(path, sessionFile), 'utf8')) as { kind?: unknown }
    if (kind !== sessionKind) return undefined
  } catch {
    return undefined
  }
  const names = readdirSync(path).filter((name) => sessionTraceName.test(name))
  return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).map((name) => join(path, name))
}
