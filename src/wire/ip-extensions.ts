/** Headers between IP and its payload: IPv6 extension headers, and the authentication header, which IPv4 has, too. */
import { IpProtocol } from './headers.ts'

/** True if this is the protocol number of a header that another header follows. */
export function isIpExtension(next: number): boolean {
  return (
    next === IpProtocol.hopByHop ||
    next === IpProtocol.routing ||
    next === IpProtocol.destinationOptions ||
    next === IpProtocol.authentication ||
    next === IpProtocol.fragment
  )
}

/** Returns the length of the header in bytes; its first two bytes are read at `at`. The first one is the next header. */
export function ipExtensionLength(next: number, b: Uint8Array, at: number): number {
  if (next === IpProtocol.fragment) return 8
  return next === IpProtocol.authentication ? 4 * (b[at + 1]! + 2) : 8 * (b[at + 1]! + 1)
}
