/**
 * GIDs and IP addresses, as bytes and as text. The GID of an IPv4 address a.b.c.d is ::ffff:a.b.c.d, that of an IPv6
 * address is the address (annex A17, 17.4.1.1).
 */
import { parseIp } from '../text/index.ts'
import { WireError } from './errors.ts'

export { parseIp }

/** IBA A17.4.1.1: the GID of an address, 16 bytes. `address` has 4 or 16; another length throws. */
export function gidOfIp(address: Uint8Array): Uint8Array {
  const gid = new Uint8Array(16)
  if (address.length === 16) gid.set(address)
  else if (address.length === 4) {
    gid[10] = gid[11] = 0xff
    gid.set(address, 12)
  } else throw new WireError('ERR_WIRE_VALUE', `gidOfIp: an address has 4 or 16 bytes, not ${address.length}`)
  return gid
}

export function isIpv4Gid(gid: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (gid[i] !== 0) return false
  return gid[10] === 0xff && gid[11] === 0xff
}

/** Returns 4 bytes for the GID of an IPv4 address, otherwise 16; always a copy. */
export function ipOfGid(gid: Uint8Array): Uint8Array {
  return isIpv4Gid(gid) ? gid.slice(12, 16) : gid.slice(0, 16)
}

/** Formats an address of 4 or 16 bytes: 10.0.0.7, or fe80::1 (RFC 5952). */
export function formatIp(address: Uint8Array): string {
  if (address.length === 4) return address.join('.')
  if (address.length !== 16)
    throw new WireError('ERR_WIRE_VALUE', `formatIp: an address has 4 or 16 bytes, not ${address.length}`)
  if (isIpv4Gid(address)) return `::ffff:${address.subarray(12).join('.')}`
  const groups = Array.from({ length: 8 }, (_, i) => (address[2 * i]! << 8) | address[2 * i + 1]!)
  const [from, to] = longestZeros(groups)
  const text = (part: number[]): string => part.map((group) => group.toString(16)).join(':')
  return to - from < 2 ? text(groups) : `${text(groups.slice(0, from))}::${text(groups.slice(to))}`
}

/** Formats a GID as eight groups of four digits, as the programs of libibverbs do: fe80:0000:0000:0000:0202:c9ff:fe11:2233. */
export function formatGid(gid: Uint8Array): string {
  const group = (i: number): string => ((gid[2 * i]! << 8) | gid[2 * i + 1]!).toString(16).padStart(4, '0')
  return Array.from({ length: 8 }, (_, i) => group(i)).join(':')
}

/** Parses a GID in any form of an IPv6 address, an IPv4 address, or 32 hexadecimal digits; undefined if it has none of these forms. */
export function parseGid(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{32}$/i.test(text))
    return Uint8Array.from({ length: 16 }, (_, i) => Number(`0x${text.slice(2 * i, 2 * i + 2)}`))
  const address = parseIp(text)
  return address && gidOfIp(address)
}

/** Finds the longest run of zero groups, the first of equal ones: RFC 5952, 4.2. */
function longestZeros(groups: number[]): [from: number, to: number] {
  let best: [number, number] = [0, 0]
  for (let from = 0; from < 8; from++) {
    let to = from
    while (to < 8 && groups[to] === 0) to++
    if (to - from > best[1] - best[0]) best = [from, to]
  }
  return best
}
