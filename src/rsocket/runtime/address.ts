/** Addresses as sockets take and return them. */
import type { CmSocketAddress } from '../../cm/index.ts'
import { parseIp } from '../../wire/index.ts'
import { AF_INET6, Errno } from '../protocol/index.ts'

/** Address of a socket. Calls that return one always set `family`; calls that take one do not need it. */
export interface SocketAddress {
  address: string
  port: number
  family?: 'IPv4' | 'IPv6'
}

export function named({ address, port, family }: CmSocketAddress): Required<SocketAddress> {
  return { address, port, family: family === 6 ? 'IPv6' : 'IPv4' }
}

/** Returns the address without the interface of a link-local one: fe80::1 of fe80::1%eth0. */
function withoutZone(address: string): string {
  return address.split('%', 1)[0]!
}

/** Returns 4 or 16 bytes; undefined if the text is not a valid address. */
export function addressBytes(address: string): Uint8Array | undefined {
  return parseIp(withoutZone(address))
}

/** Returns `IPv4` or `IPv6`, from the text of an address. */
export function familyName(address: string): 'IPv4' | 'IPv6' {
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

/**
 * Checks an address for a socket of this family: returns 0, or an error number, negative. Throws for another type than `{ address, port }`.
 */
export function addressError(family: number, addr: SocketAddress): number {
  if (typeof addr !== 'object' || addr === null || typeof addr.address !== 'string')
    throw new TypeError('addr must be { address, port }')
  const bytes = addressBytes(addr.address)
  if (bytes === undefined) return -Errno.EINVAL
  return (bytes.length === 16) === (family === AF_INET6) ? 0 : -Errno.EAFNOSUPPORT
}

export function notAnAddress(address: string): string {
  return `'${address}' is no address: look names up with dns.lookup first`
}
