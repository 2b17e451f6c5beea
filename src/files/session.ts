/** The folder of a session, as `verbena collect` creates it: selection of the trace among its files. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Document that describes the session. */
export const sessionFile = 'session.json'
/** Value of `kind` in that document. */
export const sessionKind = 'verbena session'

export const sessionTraceName: RegExp = /^trace(-\d+)?\.pcapng(\.gz|\.zst)?$/

/** Returns the paths of the trace's files, in their order; undefined if the folder is not a session. */
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
