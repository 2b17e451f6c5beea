/** The token that whoever calls a server of a command must know: that of a file, or one that is made. */
import { readFileSync } from 'node:fs'
import { newToken } from '../../web/index.ts'
import { isLoopback } from './listening.ts'
import { UsageError } from './usage.ts'

const leastToken = 16

/** The first line of a text; `flag` is where it comes from. */
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
  /** Null: there is none, as it was asked for. */
  readonly token: string | null
  /** It was made now, so that somebody has to be told. */
  readonly isMade: boolean
}

export interface ServerTokenOptions {
  /** "--token-file" and "--no-token", or the names that stand for them. */
  flags: { file: string; none: string }
  file: string | undefined
  /** Without a token, as the other option asks for. */
  isOpen: boolean
  /** The server can be without a token only where others on the network do not reach it. Undefined: anywhere. */
  host?: string
}

/** Throws UsageError if a file has none, or if there may not be none. */
export function serverToken({ flags, file, isOpen, host }: ServerTokenOptions): ServerToken {
  if (isOpen && file !== undefined) throw new UsageError(flags.none, `excludes ${flags.file}`)
  if (isOpen && host !== undefined && !isLoopback(host))
    throw new UsageError(flags.none, `is for loopback, and others can reach ${host}`)
  if (isOpen) return { token: null, isMade: false }
  if (file !== undefined) return { token: tokenIn(flags.file, fileOf(flags.file, file)), isMade: false }
  return { token: newToken(), isMade: true }
}

/** What a person is told of metrics that they serve. */
export function scrapesText(what: string, url: string, { token, isMade }: ServerToken, flag: string): string {
  const how = isMade
    ? ` (credentials: the token ${token}; ${flag} is for one that stays)`
    : token === null
      ? ' (without a token: whoever reaches it can read them)'
      : ''
  return `Serving ${what} at ${url}${how}`
}
