/** Keys and certificates, which are in files, and what others on the network can read. */
import { note } from '../../cli/terminal/index.ts'
import { fileOf, isLoopback, UsageError } from '../kit/index.ts'

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
