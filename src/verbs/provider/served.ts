/**
 * The addresses for which an agent has a port or takes requests, as a bound socket of the kernel has them:
 *
 *     all      IPv4 and IPv6: `::`
 *     ipv4     `0.0.0.0`
 *     ipv6     `::` of a socket that is for IPv6 only
 *     one      a single address
 *
 * Two of them on one port conflict when they have an address in common. In a record they take five words: the kind, and the address as a
 * GID, which is zero unless the kind is `one`.
 */
import { gidOfIp } from '../../wire/index.ts'

export const servedWords = 5

/** Kinds of addresses. Zero, as in a record that was never written, is `all`. */
export const ServedKind = { all: 0, one: 1, ipv4: 4, ipv6: 6 } as const
export type ServedKind = (typeof ServedKind)[keyof typeof ServedKind]

/** ::ffff in the third word of a GID, as the machine (little-endian) reads it. */
const mappedWord = 0xffff0000 | 0

/** Words for all addresses of both families. */
export const servesAll: Int32Array = new Int32Array(servedWords)

/** Returns the words for an address of 4 or 16 bytes, where all zeros are a wildcard; `afOnly`: `::` is for IPv6 alone. */
export function servedBy(address: Uint8Array, afOnly: boolean): Int32Array {
  if (!address.every((byte) => byte === 0)) return servesOne(address)
  const kind = address.length === 4 ? ServedKind.ipv4 : afOnly ? ServedKind.ipv6 : ServedKind.all
  return Int32Array.of(kind, 0, 0, 0, 0)
}

/** Returns the words for one address alone, also if it is all zeros. */
export function servesOne(address: Uint8Array): Int32Array {
  const served = new Int32Array(servedWords)
  served[0] = ServedKind.one
  new Uint8Array(served.buffer, 4).set(gidOfIp(address))
  return served
}

/** Returns true if the addresses that begin at `a[at]` and those that begin at `b[bt]` have one in common. */
export function servedOverlap(a: Int32Array, at: number, b: Int32Array, bt: number): boolean {
  const kind = a[at]!
  const other = b[bt]!
  if (kind === ServedKind.all || other === ServedKind.all) return true
  if (kind === ServedKind.one && other === ServedKind.one) {
    for (let i = 1; i < servedWords; i++) if (a[at + i] !== b[bt + i]) return false
    return true
  }
  return (kind === ServedKind.one ? familyAt(a, at) : kind) === (other === ServedKind.one ? familyAt(b, bt) : other)
}

function familyAt(words: Int32Array, at: number): ServedKind {
  const isIpv4 = words[at + 1] === 0 && words[at + 2] === 0 && words[at + 3] === mappedWord
  return isIpv4 ? ServedKind.ipv4 : ServedKind.ipv6
}
