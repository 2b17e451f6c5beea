/** Headers between IP and what it carries: IPv6 extension headers, and the authentication header, which IPv4 has, too. */
import { IpProtocol } from './headers.ts'

/** Is this a header that another one follows? */
export function isIpExtension(next: number): boolean {
  return (
    next === IpProtocol.hopByHop ||
    next === IpProtocol.routing ||
    next === IpProtocol.destinationOptions ||
    next === IpProtocol.authentication ||
    next === IpProtocol.fragment
  )
}

/** Its bytes; two of them are read at `at`. The first one says what follows it. */
export function ipExtensionLength(next: number, b: Uint8Array, at: number): number {
  if (next === IpProtocol.fragment) return 8
  return next === IpProtocol.authentication ? 4 * (b[at + 1]! + 2) : 8 * (b[at + 1]! + 1)
}
