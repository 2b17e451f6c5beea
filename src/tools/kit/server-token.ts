/** The token that a client of a command's server must present: read from a file, or generated. */
import { readFileSync } from 'node:fs'
import { newToken } from '../../web/index.ts'
import { isLoopback } from './listening.ts'
import { UsageError } from './usage.ts'

const leastToken = 16

/** Returns the first line of a text; `flag` is the option it comes from. */
export function tokenIn(flag: string, text = ''): string {
  const [line = ''] = text.split('\n').map((one) => one.trim())
  if (line === '')
    throw new UsageError(flag, 'a token is needed: a file with one line, for example of `openssl rand -hex 32`')
  if (line.length < leastToken || /\s/.test(line))
    throw new UsageError(flag, `the token must have ${leastToken} characters at least, and no spaces`)
  return line
}

export function fileOf(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(flag, `'${path}' cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

export interface ServerToken {
  /** Token; null if the user requested a server without one. */
  readonly token: string | null
  /** True if the token was generated now, so that it has to be shown to the user. */
  readonly isMade: boolean
}

export interface ServerTokenOptions {
  /** Options "--token-file" and "--no-token", or the names that stand for them. */
  flags: { file: string; none: string }
  file: string | undefined
  /** True for a server without a token, as the other option requests. */
  isOpen: boolean
  /** Host on which the server listens: without a token it must be loopback. Undefined: no token is needed anywhere. */
  host?: string
}

/** Returns the token. Throws UsageError if a file has none, or if the server must not be without one. */
export function serverToken({ flags, file, isOpen, host }: ServerTokenOptions): ServerToken {
  if (isOpen && file !== undefined) throw new UsageError(flags.none, `excludes ${flags.file}`)
  if (isOpen && host !== undefined && !isLoopback(host))
    throw new UsageError(flags.none, `is for loopback, and others can reach ${host}`)
  if (isOpen) return { token: null, isMade: false }
  if (file !== undefined) return { token: tokenIn(flags.file, fileOf(flags.file, file)), isMade: false }
  return { token: newToken(), isMade: true }
}

/** Returns the text that announces metrics to the user who serves them. */
export function scrapesText(what: string, url: string, { token, isMade }: ServerToken, flag: string): string {
  const how = isMade
    ? ` (credentials: the token ${token}; ${flag} is for one that stays)`
    : token === null
      ? ' (without a token: whoever reaches it can read them)'
      : ''
  return `Serving ${what} at ${url}${how}`
}
