/** Addresses of hosts by their names. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { EndError } from './wire.ts'

/** Returns the IP address of a host. Throws EndError ADDRESS. */
export async function hostAddress(host: string): Promise<string> {
  if (isIP(host) !== 0) return host
  try {
    return (await lookup(host)).address
  } catch (error) {
    throw new EndError(
      'ADDRESS',
      `'${host}' is no IP address, and no name that can be looked up (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}
