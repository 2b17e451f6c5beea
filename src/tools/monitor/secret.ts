/** Keys and certificates, which are in files, and notes on what is readable on the network. */
import { note } from '../../cli/terminal/index.ts'
import { fileOf, isLoopback, UsageError } from '../kit/index.ts'

/** Reads the files of the options `…-key` and `…-cert`; undefined without them. */
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

/** Data that a connection of an agent also exposes. */
export const seedInClear = 'the token and the seed of the sketches, and change windows'

/** Prints what is readable on the network without TLS. */
export function noteIfInClear(
  isSecure: boolean,
  host: string,
  more: string,
  what = 'the token and all that is shown',
): void {
  if (isSecure || isLoopback(host)) return
  note(`Without TLS, who is on the way can read ${what}: ${more}`)
}
