/** IP addresses with ports, as programs give them and as messages carry them. */
import { isOwnAddress } from '../../memory/index.ts'
import { describe } from '../../verbs/provider/index.ts'
import { formatIp, gidOfIp, ipOfGid, parseIp } from '../../wire/index.ts'
import { RdmaCmError } from './errors.ts'

/** `sockaddr`: `{ address: '10.0.0.7', port: 7174 }`. Without address all, without port any. */
export interface CmAddress {
  address?: string
  port?: number
}

/** `{ address: '10.0.0.7', port: 7174, family: 4 }`; an address that is not known yet is `0.0.0.0` or `::`. */
export interface CmSocketAddress {
  address: string
  port: number
  family: 4 | 6
}

export interface ParsedAddress {
  /** 4 or 16 bytes. */
  readonly bytes: Uint8Array
  readonly port: number
  /** Name or number of the interface of a link-local address, or empty. */
  readonly zone: string
}

export function parseAddress(call: string, name: string, value: CmAddress, defaultText = '0.0.0.0'): ParsedAddress {
  if (typeof value !== 'object' || value === null)
    throw new RdmaCmError('EINVAL', call, `${name} must be { address, port }`)
  const { address = defaultText, port = 0 } = value
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new RdmaCmError('EINVAL', call, `${name}.port must be an integer from 0 to 65535, not ${describe(port)}`)
  const percent = typeof address === 'string' ? address.indexOf('%') : -1
  const parsed = typeof address === 'string' ? parseIp(percent < 0 ? address : address.slice(0, percent)) : undefined
  if (parsed === undefined)
    throw new RdmaCmError(
      'EINVAL',
      call,
      `${name}.address must be an IPv4 or IPv6 address, not ${describe(address)}; look names up with dns.lookup first`,
    )
  return { bytes: ipOfGid(gidOfIp(parsed)), port, zone: percent < 0 ? '' : address.slice(percent + 1) }
}

export function socketAddress(bytes: Uint8Array, port: number, zone = ''): CmSocketAddress {
  return {
    address: formatIp(bytes) + (zone === '' ? '' : `%${zone}`),
    port,
    family: bytes.length === 4 ? 4 : 6,
  }
}

export function isAny(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}

export function isLoopback(bytes: Uint8Array): boolean {
  if (bytes.length === 4) return bytes[0] === 127
  return bytes[15] === 1 && bytes.every((byte, i) => i === 15 || byte === 0)
}

export function isLinkLocal(bytes: Uint8Array): boolean {
  return bytes.length === 16 && bytes[0] === 0xfe && (bytes[1]! & 0xc0) === 0x80
}

export function isMulticast(bytes: Uint8Array): boolean {
  return bytes.length === 4 ? bytes[0]! >> 4 === 0xe : bytes[0] === 0xff
}

/** True if this host has the address. */
export function isOwn(bytes: Uint8Array): boolean {
  return isOwnAddress(formatIp(bytes))
}
