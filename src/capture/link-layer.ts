/**
 * Offset of the network packet within a captured one, for each link type: the headers that Linux, BSD and capture cards put before
 * it are skipped. Ethernet is left to the reader of Ethernet frames, VLAN tags included.
 */
import { LinkType } from './format.ts'

/** Kind of layer at the offset that `locate` found. */
export const LinkLayer = {
  /** Unsupported protocol. */
  Unknown: 0,
  /** Ethernet header. */
  Ethernet: 1,
  /** Packet of the protocol `etherType`, without its Ethernet header. */
  Network: 2,
  /** InfiniBand packet, which begins with its LRH. */
  InfiniBand: 3,
  /** Truncated packet: the capture ends before the network packet begins. */
  Cut: 4,
} as const
export type LinkLayerValue = (typeof LinkLayer)[keyof typeof LinkLayer]

/** Result of `locate`: the position of the network packet in a captured one. */
export interface Located {
  layer: LinkLayerValue
  offset: number
  /** Number of captured bytes from `offset` on. */
  length: number
  /** Set for `Network` only. */
  etherType: number
  /** Number of bytes from `offset` on that were on the wire, if the link type reports it; otherwise 0. */
  wireLength: number
}

/** Returns an empty record for `locate`. */
export function located(): Located {
  return { layer: LinkLayer.Unknown, offset: 0, length: 0, etherType: 0, wireLength: 0 }
}

const ipv4 = 0x0800
const ipv6 = 0x86dd

/** Fills `out` for the packet bytes[offset .. offset + length), and returns its layer. */
export function locate(
  bytes: Uint8Array,
  offset: number,
  length: number,
  linkType: number,
  out: Located,
): LinkLayerValue {
  out.wireLength = 0
  switch (linkType) {
    case LinkType.Ethernet:
      out.layer = LinkLayer.Ethernet
      out.offset = offset
      out.length = length
      return out.layer
    case LinkType.LinuxSll:
      return network(bytes, offset, length, 16, 14, out)
    case LinkType.LinuxSll2:
      return network(bytes, offset, length, 20, 0, out)
    case LinkType.Raw:
    case LinkType.RawBsd:
    case LinkType.RawOpenBsd:
    case LinkType.Ipv4:
    case LinkType.Ipv6:
      return rawIp(bytes, offset, length, out)
    case LinkType.Null:
    case LinkType.Loop:
      if (length < 4) return cut(offset, length, out)
      return rawIp(bytes, offset + 4, length - 4, out)
    case LinkType.InfiniBand:
      out.layer = LinkLayer.InfiniBand
      out.offset = offset
      out.length = length
      return out.layer
    case LinkType.Erf:
      return erf(bytes, offset, length, out)
    case LinkType.Ppp:
    case LinkType.PppHdlc:
      return ppp(bytes, offset, length, out)
    case LinkType.IpOverInfiniBand:
      return network(bytes, offset, length, ipoibLength, ipoibType, out)
    case LinkType.Ppi:
      return ppi(bytes, offset, length, out)
    default:
      out.layer = LinkLayer.Unknown
      out.offset = offset
      out.length = length
      return out.layer
  }
}

function cut(offset: number, length: number, out: Located): LinkLayerValue {
  out.layer = LinkLayer.Cut
  out.offset = offset
  out.length = length
  return out.layer
}

function network(
  bytes: Uint8Array,
  offset: number,
  length: number,
  header: number,
  type: number,
  out: Located,
): LinkLayerValue {
  if (length < header) return cut(offset, length, out)
  out.layer = LinkLayer.Network
  out.offset = offset + header
  out.length = length - header
  out.etherType = (bytes[offset + type]! << 8) | bytes[offset + type + 1]!
  return out.layer
}

function rawIp(bytes: Uint8Array, offset: number, length: number, out: Located): LinkLayerValue {
  if (length < 1) return cut(offset, length, out)
  const version = bytes[offset]! >> 4
  out.layer = version === 4 || version === 6 ? LinkLayer.Network : LinkLayer.Unknown
  out.offset = offset
  out.length = length
  out.etherType = version === 6 ? ipv6 : ipv4
  return out.layer
}

/** Length of the header with an InfiniBand packet's addresses, and of the encapsulation header of RFC 4391 after it. */
const ipoibLength = 44
const ipoibType = 40

const pppIpv4 = 0x21
const pppIpv6 = 0x57

/** Locates the packet in PPP (RFC 1661): after an optional address and control byte, with a protocol of one or two bytes. */
function ppp(bytes: Uint8Array, offset: number, length: number, out: Located): LinkLayerValue {
  let at = offset
  const end = offset + length
  if (end - at >= 2 && bytes[at] === 0xff && bytes[at + 1] === 3) at += 2
  if (end - at < 3) return cut(offset, length, out)
  const protocol = (bytes[at]! & 1) !== 0 ? bytes[at++]! : (bytes[at++]! << 8) | bytes[at++]!
  out.layer = protocol === pppIpv4 || protocol === pppIpv6 ? LinkLayer.Network : LinkLayer.Unknown
  out.offset = at
  out.length = end - at
  out.etherType = protocol === pppIpv6 ? ipv6 : ipv4
  return out.layer
}

/** Locates the packet in PPI: version, flags, header length, link type of the rest; all little-endian. */
function ppi(bytes: Uint8Array, offset: number, length: number, out: Located): LinkLayerValue {
  if (length < 8) return cut(offset, length, out)
  const header = bytes[offset + 2]! | (bytes[offset + 3]! << 8)
  const inner = bytes[offset + 4]! | (bytes[offset + 5]! << 8) | (bytes[offset + 6]! << 16) | (bytes[offset + 7]! << 24)
  if (header > length) return cut(offset, length, out)
  const isKnown = bytes[offset] === 0 && header >= 8 && inner !== LinkType.Ppi
  return locate(bytes, offset + header, length - header, isKnown ? inner : -1, out)
}

const erfHeaderLength = 16
const erfMore = 0x80

const erfType = {
  ethernet: 2,
  colorEthernet: 11,
  dsmColorEthernet: 16,
  colorHashEthernet: 20,
  infiniBand: 21,
  ipv4: 22,
  ipv6: 23,
} as const

/**
 * Locates the packet in ERF, of Endace's cards: 8 bytes of time stamp, type, flags, record length, loss or colour, wire length; then
 * extension headers of 8 bytes, as long as the top bit indicates that another one follows.
 */
function erf(bytes: Uint8Array, offset: number, length: number, out: Located): LinkLayerValue {
  if (length < erfHeaderLength) return cut(offset, length, out)
  const type = bytes[offset + 8]! & 0x7f
  const wireLength = (bytes[offset + 14]! << 8) | bytes[offset + 15]!
  let at = offset + erfHeaderLength
  const end = offset + length
  let more = (bytes[offset + 8]! & erfMore) !== 0
  while (more) {
    if (end - at < 8) return cut(offset, length, out)
    more = (bytes[at]! & erfMore) !== 0
    at += 8
  }
  switch (type) {
    case erfType.ethernet:
    case erfType.colorEthernet:
    case erfType.dsmColorEthernet:
    case erfType.colorHashEthernet:
      // An offset and a padding byte precede the frame.
      if (end - at < 2) return cut(offset, length, out)
      at += 2
      out.layer = LinkLayer.Ethernet
      break
    case erfType.infiniBand:
      out.layer = LinkLayer.InfiniBand
      break
    case erfType.ipv4:
    case erfType.ipv6:
      out.layer = LinkLayer.Network
      out.etherType = type === erfType.ipv4 ? ipv4 : ipv6
      break
    default:
      out.layer = LinkLayer.Unknown
  }
  out.offset = at
  // Records are padded: bytes beyond the wire length do not belong to the packet.
  out.length = wireLength > 0 ? Math.min(end - at, wireLength) : end - at
  out.wireLength = wireLength
  return out.layer
}
