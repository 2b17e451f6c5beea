/**
 * Messages of route netlink (rtnetlink(7)): requests to the kernel about routes, links and addresses, and its answers. Pure: bytes in,
 * values out. A message that is truncated or malformed is skipped; no message of the kernel makes a function here throw.
 *
 *     nlmsghdr    length u32 | type u16 | flags u16 | sequence u32 | port u32                                        16 bytes
 *     rtmsg       family | destination bits | source bits | TOS | table | protocol | scope | type | flags u32        12
 *     ifinfomsg   family | pad | type u16 | index i32 | flags u32 | change u32                                        16
 *     ifaddrmsg   family | prefix bits | flags | scope | index u32                                                     8
 *     rtattr      length u16 | type u16 | value, then padding to 4 bytes
 */

export const Nl = {
  error: 2,
  done: 3,
  newLink: 16,
  delLink: 17,
  getLink: 18,
  newAddress: 20,
  delAddress: 21,
  getAddress: 22,
  newRoute: 24,
  getRoute: 26,
} as const

/** Groups of notifications (RTMGRP_*): of links, of addresses of IPv4, and of IPv6. */
export const linkAndAddressGroups: number = 0x1 | 0x10 | 0x100

/** Flags of an interface. */
const Iff = { up: 0x1, loopback: 0x8, running: 0x40, lowerUp: 0x10000 } as const

/** Flags of an address (IFA_F_*). */
const ifaDadFailed = 0x08
const ifaTentative = 0x40

/** `rtm_type`; those that are not here lead nowhere. */
const routeKinds = ['', 'unicast', 'local', 'broadcast', 'anycast', 'multicast'] as const
export type RouteKind = Exclude<(typeof routeKinds)[number], ''> | 'none'

const headerBytes = 16
const AF_INET = 2
const AF_INET6 = 10
const Rta = { dst: 1, src: 2, oif: 4, gateway: 5, prefSrc: 7 }
const Ifla = { address: 1, name: 3, mtu: 4 }
const Ifa = { address: 1, local: 2, flags: 8 }

/** Route by which packets to an address leave this host. */
export interface HostRoute {
  readonly kind: RouteKind
  /** Source address that the kernel assigns to them, 4 or 16 bytes; null if it gives none. */
  readonly source: Uint8Array | null
  /** Index of the interface; 0 if the kernel gives none. */
  readonly ifindex: number
  /** The next hop; null for one that is reached directly. */
  readonly gateway: Uint8Array | null
}

export interface HostLink {
  readonly ifindex: number
  readonly name: string
  readonly mtuBytes: number
  /** Hardware address as text, `02:fc:00:00:00:01`; zeros without one. */
  readonly mac: string
  readonly loopback: boolean
  /** Switched on. */
  readonly up: boolean
  /** Switched on, and there is a carrier: packets pass. */
  readonly running: boolean
}

export interface HostIfAddress {
  readonly ifindex: number
  /** 4 or 16 bytes. */
  readonly address: Uint8Array
  readonly prefixBits: number
  readonly state: 'usable' | 'tentative' | 'duplicate'
}

/** Message in a buffer: its type, and the range of its payload. */
export interface NetlinkMessage {
  readonly type: number
  readonly start: number
  readonly end: number
}

/** The messages of a datagram, in order; the rest after one whose length is wrong is left out. */
export function netlinkMessages(bytes: Uint8Array): NetlinkMessage[] {
  const view = viewOf(bytes)
  const found: NetlinkMessage[] = []
  for (let at = 0; at + headerBytes <= bytes.length; ) {
    const length = view.getUint32(at, true)
    if (length < headerBytes || at + length > bytes.length) break
    found.push({ type: view.getUint16(at + 4, true), start: at + headerBytes, end: at + length })
    at += (length + 3) & ~3
  }
  return found
}

/** The payload of RTM_GETROUTE. Addresses of 4 or 16 bytes, of the same family; `ifindex` 0 leaves the interface to the kernel. */
export function routeRequest(to: Uint8Array, source: Uint8Array | null, ifindex: number): Uint8Array {
  const payload = [to.length === 4 ? AF_INET : AF_INET6, to.length * 8, source === null ? 0 : source.length * 8]
  while (payload.length < 12) payload.push(0)
  attribute(payload, Rta.dst, to)
  if (source !== null) attribute(payload, Rta.src, source)
  if (ifindex !== 0) attribute(payload, Rta.oif, Uint8Array.of(ifindex, ifindex >>> 8, ifindex >>> 16, ifindex >>> 24))
  return Uint8Array.from(payload)
}

/** The payload of RTM_GETLINK and RTM_GETADDR for all. */
export function dumpRequest(): Uint8Array {
  return new Uint8Array(16)
}

function attribute(payload: number[], type: number, value: Uint8Array): void {
  payload.push(value.length + 4, 0, type, 0, ...value)
  while (payload.length % 4 !== 0) payload.push(0)
}

/** The payload of RTM_NEWROUTE; null if it is none. */
export function parseRoute(bytes: Uint8Array, start = 0, end: number = bytes.length): HostRoute | null {
  if (end - start < 12) return null
  const length = addressLength(bytes[start]!)
  if (length === 0) return null
  const attributes = attributesOf(bytes, start + 12, end)
  return {
    kind: routeKinds[bytes[start + 7]!] || 'none',
    source: addressOf(attributes, Rta.prefSrc, length),
    ifindex: u32Of(attributes, Rta.oif),
    gateway: addressOf(attributes, Rta.gateway, length),
  }
}

/** The payload of RTM_NEWLINK or RTM_DELLINK; null if it is none. */
export function parseLink(bytes: Uint8Array, start = 0, end: number = bytes.length): HostLink | null {
  if (end - start < 16) return null
  const view = viewOf(bytes)
  const ifindex = view.getUint32(start + 4, true)
  const flags = view.getUint32(start + 8, true)
  const attributes = attributesOf(bytes, start + 16, end)
  const name = attributes.get(Ifla.name)
  if (ifindex === 0 || name === undefined) return null
  const mac = attributes.get(Ifla.address) ?? new Uint8Array(6)
  return {
    ifindex,
    name: new TextDecoder().decode(name.subarray(0, name.indexOf(0) < 0 ? name.length : name.indexOf(0))),
    mtuBytes: u32Of(attributes, Ifla.mtu),
    mac: Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join(':'),
    loopback: (flags & Iff.loopback) !== 0,
    up: (flags & Iff.up) !== 0,
    running: (flags & Iff.up) !== 0 && (flags & Iff.lowerUp) !== 0,
  }
}

/** The payload of RTM_NEWADDR or RTM_DELADDR; null if it is none. */
export function parseIfAddress(bytes: Uint8Array, start = 0, end: number = bytes.length): HostIfAddress | null {
  if (end - start < 8) return null
  const length = addressLength(bytes[start]!)
  const attributes = attributesOf(bytes, start + 8, end)
  // On a point-to-point link IFA_ADDRESS is the peer's.
  const address = addressOf(attributes, Ifa.local, length) ?? addressOf(attributes, Ifa.address, length)
  if (length === 0 || address === null) return null
  const flags = u32Of(attributes, Ifa.flags) | bytes[start + 2]!
  return {
    ifindex: viewOf(bytes).getUint32(start + 4, true),
    address,
    prefixBits: bytes[start + 1]!,
    state: (flags & ifaDadFailed) !== 0 ? 'duplicate' : (flags & ifaTentative) !== 0 ? 'tentative' : 'usable',
  }
}

/** The errno of an NLMSG_ERROR, 0 for a plain acknowledgement. */
export function parseError(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
  return end - start < 4 ? 0 : -viewOf(bytes).getInt32(start, true) || 0
}

function attributesOf(bytes: Uint8Array, start: number, end: number): Map<number, Uint8Array> {
  const view = viewOf(bytes)
  const found = new Map<number, Uint8Array>()
  for (let at = start; at + 4 <= end; ) {
    const length = view.getUint16(at, true)
    if (length < 4 || at + length > end) break
    // The two highest bits encode how the value is nested, and its byte order.
    found.set(view.getUint16(at + 2, true) & 0x3fff, bytes.slice(at + 4, at + length))
    at += (length + 3) & ~3
  }
  return found
}

function addressLength(family: number): number {
  return family === AF_INET ? 4 : family === AF_INET6 ? 16 : 0
}

function addressOf(attributes: Map<number, Uint8Array>, type: number, length: number): Uint8Array | null {
  const value = attributes.get(type)
  return value === undefined || value.length !== length || length === 0 ? null : value
}

function u32Of(attributes: Map<number, Uint8Array>, type: number): number {
  const value = attributes.get(type)
  return value === undefined || value.length < 4 ? 0 : viewOf(value).getUint32(0, true)
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
