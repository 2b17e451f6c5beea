/** Tokens and keys, which are in files. */
import { readFileSync } from 'node:fs'
import { note } from '../../cli/terminal/index.ts'
import { isLoopback, UsageError } from '../kit/index.ts'

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

/** The token in the file of an option. Null without a file, which only a server that nobody else can reach may do. */
export function tokenOfServer(flag: string, file: string | undefined, host: string): string | null {
  if (file !== undefined) return tokenIn(flag, fileOf(flag, file))
  if (isLoopback(host)) return null
  throw new UsageError(flag, `is needed, since others can reach ${host}: a file with one line`)
}

/** What is in the files of the options `…-key` and `…-cert`; undefined without them. */
export function tlsOfServer(
  flag: string,
  key: string | undefined,
  cert: string | undefined,
): { key: string; cert: string } | undefined {
  if (key === undefined && cert === undefined) return undefined
  if (key === undefined || cert === undefined)
    throw new UsageError(`${flag}-key`, `a key needs a certificate (${flag}-cert), and the other way round`)
  return { key: fileOf(`${flag}-key`, key), cert: fileOf(`${flag}-cert`, cert) }
}

/** What a connection of an agent has besides. */
export const seedInClear = 'the token and the seed of the sketches, and change windows'

/** Says what others on the network can read. */
export function noteIfInClear(
  isSecure: boolean,
  host: string,
  more: string,
  what = 'the token and all that is shown',
): void {
  if (isSecure || isLoopback(host)) return
  note(`Without TLS, who is on the way can read ${what}: ${more}`)
}
