/**
 * Addresses of programs (struct sockaddr_in, sockaddr_in6, sockaddr_ib), and what the RDMA CM here takes for them. The GID of AF_IB is
 * an IPv6 address there, and the low half of its service id port space and port.
 *
 *     AF_INET   2    port be16 @2, address @4
 *     AF_INET6  10   port be16 @2, address @8, scope id u32 @24
 *     AF_IB     27   P_Key be16 @2, GID @8, service id be64 @24, its mask @32, scope id u64 @40
 */
import type { CmAddress, CmSocketAddress } from '../../cm/index.ts'
import { formatIp, gidOfIp, parseIp } from '../../wire/index.ts'
import { fail } from '../errnos.ts'

const Family = { unspecified: 0, inet: 2, inet6: 10, ib: 27 } as const
const sizes: Readonly<Record<number, number>> = { [Family.inet]: 16, [Family.inet6]: 28, [Family.ib]: 48 }

export interface ProgramAddress extends Required<CmAddress> {
  readonly isIb: boolean
  /** Port space that the service id of AF_IB names. */
  readonly portSpace: number | undefined
}

/**
 * Returns the address in `bytes`, undefined if it has no family and is optional. `size`: as given by the program; it must be that of the
 * family. Undefined if the command has room for IP addresses alone.
 */
export function decodeAddress(verb: string, bytes: Uint8Array, size?: number): ProgramAddress {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const family = view.getUint16(0, true)
  const expected = sizes[family]
  if (expected === undefined || (size === undefined && family === Family.ib))
    fail('EINVAL', `${verb}: address family ${family} is none of AF_INET, AF_INET6 and AF_IB`)
  if (size !== undefined && size !== expected)
    fail('EINVAL', `${verb}: an address of family ${family} has ${expected} bytes, not ${size}`)
  if (family === Family.ib) {
    const portSpace = view.getUint16(28)
    const address = formatIp(bytes.subarray(8, 24))
    return { address, port: view.getUint16(30), isIb: true, portSpace: portSpace || undefined }
  }
  const isV4 = family === Family.inet
  const text = formatIp(isV4 ? bytes.slice(4, 8) : bytes.slice(8, 24))
  const scope = isV4 ? 0 : view.getUint32(24, true)
  return {
    address: scope !== 0 ? `${text}%${scope}` : text,
    port: view.getUint16(2),
    isIb: false,
    portSpace: undefined,
  }
}

/** True if there is an address at all. */
export function hasAddress(bytes: Uint8Array): boolean {
  return (bytes[0]! | (bytes[1]! << 8)) !== Family.unspecified
}

/** Returns an address as text for a trace; undefined if there is none. */
export function addressText(bytes: Uint8Array): string | undefined {
  if (!hasAddress(bytes)) return undefined
  const family = bytes[0]! | (bytes[1]! << 8)
  const size = sizes[family]
  if (size === undefined || bytes.length < size) return `address family ${family}`
  const { address, port } = decodeAddress('', bytes, size)
  return socketText(address, port)
}

/** `192.0.2.7:7471`, `[fe80::1]:7471`. */
const socketText = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`

export interface EncodedAddress {
  readonly bytes: Uint8Array
  readonly size: number
}

/**
 * Encodes an address as struct sockaddr_in or sockaddr_in6; empty for an address that is not known. `scopeOf`: the number of an interface
 * by name.
 */
export function encodeAddress(address: CmSocketAddress | undefined, scopeOf: (zone: string) => number): EncodedAddress {
  const bytes = new Uint8Array(128)
  if (address === undefined) return { bytes, size: 0 }
  const view = new DataView(bytes.buffer)
  const [text, zone = ''] = address.address.split('%') as [string, string?]
  const isV4 = address.family === 4
  view.setUint16(0, isV4 ? Family.inet : Family.inet6, true)
  view.setUint16(2, address.port)
  const ip = parseIp(text)!
  bytes.set(isV4 ? ip.subarray(ip.length - 4) : ip, isV4 ? 4 : 8)
  if (zone !== '') view.setUint32(24, scopeOf(zone), true)
  return { bytes, size: sizes[isV4 ? Family.inet : Family.inet6]! }
}

/** Encodes a GID as struct sockaddr_ib, with a service id of the port space. */
export function encodeGid(gid: Uint8Array, pkey: number, portSpace: number, port: number): EncodedAddress {
  const bytes = new Uint8Array(128)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, Family.ib, true)
  view.setUint16(2, pkey)
  bytes.set(gid, 8)
  view.setUint32(28, portSpace * 65_536 + port)
  view.setBigUint64(32, 0xffffffffffffffffn)
  return { bytes, size: sizes[Family.ib]! }
}

/** Returns the GID that an address of AF_IB stands for. */
export function gidOfAddress(address: CmSocketAddress | undefined): Uint8Array {
  const ip = address === undefined ? undefined : parseIp(address.address.split('%')[0]!)
  return ip === undefined ? new Uint8Array(16) : gidOfIp(ip)
}
