/**
 * Encapsulated packets: the headers that a switch adds to a mirrored packet (ERSPAN), and those of overlay networks and providers. Each
 * function parses one header and returns what begins after it; the caller limits the depth.
 *
 *     UDP   VXLAN (RFC 7348), VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe), Geneve (RFC 8926), MPLS (RFC 7510), GTP-U (3GPP TS 29.281), TZSP
 *     IP    IPv4 or IPv6 (RFC 2003, 2473), MPLS (RFC 4023), GRE (RFC 2784, 2890)
 *     link  MPLS (RFC 3032), PPPoE (RFC 2516)
 *     GRE   IP, MPLS, Ethernet, ERSPAN type I, II and III (draft-foschiano-erspan)
 */
import { EtherType, isVlanType, u16, Vlan } from '../wire/index.ts'

// biome-ignore format: one line
export const tunnelNames = ['', 'VXLAN', 'Geneve', 'GRE', 'ERSPAN', 'IP', 'MPLS', 'PPPoE', 'VXLAN-GPE', 'GTP-U', 'TZSP'] as const
// biome-ignore format: one line
export const Tunnel = { None: 0, Vxlan: 1, Geneve: 2, Gre: 3, Erspan: 4, Ip: 5, Mpls: 6, Pppoe: 7, VxlanGpe: 8, Gtpu: 9, Tzsp: 10 } as const

/** Protocols that a UDP port can carry. */
export const PortUse = { Other: 0, Roce: 1, Vxlan: 2, Geneve: 3, Mpls: 4, VxlanGpe: 5, Gtpu: 6, Tzsp: 7 } as const
/** Names for --decode-as. */
export const portUses = { roce: 1, vxlan: 2, geneve: 3, mpls: 4, 'vxlan-gpe': 5, gtpu: 6, tzsp: 7 } as const

export const TunnelProtocol = { ipv4: 4, ipv6: 41, gre: 47, mpls: 137 } as const

/** EtherTypes of an Ethernet frame and of ERSPAN in GRE. */
const bridging = 0x6558
const erspan12 = 0x88be
const erspan3 = 0x22eb
const mplsUnicast = 0x8847
const mplsMulticast = 0x8848
const pppoeSession = 0x8864
/** Version 1, type 1. */
const pppoeVersionType = 0x11
const pppIpv4 = 0x0021
const pppIpv6 = 0x0057

/** Maximum number of labels that are read. */
const mostLabels = 16

/** Packet that was found after a header; filled again for each. */
export class Inner {
  tunnel: number = Tunnel.None
  at = 0
  /** EtherType of the packet that begins at `at`; 0 for an Ethernet frame. */
  etherType = 0
  /** Flag: the sender has cut the inner packet. */
  truncated = false

  set(tunnel: number, at: number, etherType: number, truncated = false): true {
    this.tunnel = tunnel
    this.at = at
    this.etherType = etherType === bridging ? 0 : etherType
    this.truncated = truncated
    return true
  }
}

export function isMpls(etherType: number): boolean {
  return etherType === mplsUnicast || etherType === mplsMulticast
}

/** EtherTypes of Cisco's VN-Tag, of fabric extenders, and its metadata (TrustSec): an EtherType follows each, as it does a VLAN tag. */
const vnTag = 0x8926
const ciscoMetadata = 0x8909

/** True if a tag follows this EtherType. */
export function isTag(etherType: number): boolean {
  return isVlanType(etherType) || etherType === vnTag || etherType === ciscoMetadata
}

/** Returns the length in bytes of the tag, including the EtherType at its end. */
export function tagLength(etherType: number): number {
  if (etherType === vnTag) return 6
  return etherType === ciscoMetadata ? 8 : Vlan.length
}

/** Opens what follows an Ethernet header, or a link header that has an EtherType. */
export function openLink(b: Uint8Array, etherType: number, at: number, end: number, inner: Inner): boolean {
  if (isMpls(etherType)) return openMpls(b, at, end, inner)
  if (etherType !== pppoeSession || end - at < 8 || b[at] !== pppoeVersionType) return false
  const protocol = u16(b, at + 6)
  if (protocol === pppIpv4) return inner.set(Tunnel.Pppoe, at + 8, EtherType.ipv4)
  return protocol === pppIpv6 && inner.set(Tunnel.Pppoe, at + 8, EtherType.ipv6)
}

/** Opens what follows an IP header. */
export function openIp(b: Uint8Array, protocol: number, at: number, end: number, inner: Inner): boolean {
  switch (protocol) {
    case TunnelProtocol.ipv4:
      return inner.set(Tunnel.Ip, at, EtherType.ipv4)
    case TunnelProtocol.ipv6:
      return inner.set(Tunnel.Ip, at, EtherType.ipv6)
    case TunnelProtocol.mpls:
      return openMpls(b, at, end, inner)
    case TunnelProtocol.gre:
      return openGre(b, at, end, inner)
    default:
      return false
  }
}

/** Opens what follows a UDP header. */
export function openUdp(b: Uint8Array, use: number, at: number, end: number, inner: Inner): boolean {
  if (use === PortUse.Mpls) return openMpls(b, at, end, inner)
  if (end - at < 8) return false
  if (use === PortUse.Vxlan) return (b[at]! & 0x08) !== 0 && inner.set(Tunnel.Vxlan, at + 8, 0)
  if (use === PortUse.Geneve && b[at]! >> 6 === 0)
    return inner.set(Tunnel.Geneve, at + 8 + (b[at]! & 0x3f) * 4, u16(b, at + 2))
  if (use === PortUse.VxlanGpe) return openVxlanGpe(b, at, inner)
  if (use === PortUse.Gtpu) return openGtpu(b, at, end, inner)
  return use === PortUse.Tzsp && openTzsp(b, at, end, inner)
}

/** Opens VXLAN-GPE: as VXLAN, with the protocol in the last byte of the first word, if a flag indicates it: IPv4, IPv6, Ethernet. */
function openVxlanGpe(b: Uint8Array, at: number, inner: Inner): boolean {
  const protocol = (b[at]! & 0x04) !== 0 ? b[at + 3]! : 3
  if (protocol === 3) return inner.set(Tunnel.VxlanGpe, at + 8, 0)
  if (protocol === 1) return inner.set(Tunnel.VxlanGpe, at + 8, EtherType.ipv4)
  return protocol === 2 && inner.set(Tunnel.VxlanGpe, at + 8, EtherType.ipv6)
}

const Gtp = { version1: 0x30, versionMask: 0xf0, options: 0x07, extension: 0x04, packet: 0xff } as const

/**
 * Opens GTP-U: version 1, a user's packet; with a sequence number, an N-PDU number or extension headers, which have their length in words.
 */
function openGtpu(b: Uint8Array, at: number, end: number, inner: Inner): boolean {
  const flags = b[at]!
  if ((flags & Gtp.versionMask) !== Gtp.version1 || b[at + 1] !== Gtp.packet) return false
  let next = at + 8
  if ((flags & Gtp.options) !== 0) {
    next += 4
    if (end <= next) return false
    let extension = (flags & Gtp.extension) !== 0 ? b[next - 1]! : 0
    while (extension !== 0) {
      const length = (b[next] ?? 0) * 4
      if (length === 0 || next + length >= end) return false
      next += length
      extension = b[next - 1]!
    }
  }
  if (end <= next) return false
  const version = b[next]! >> 4
  if (version === 4) return inner.set(Tunnel.Gtpu, next, EtherType.ipv4)
  return version === 6 && inner.set(Tunnel.Gtpu, next, EtherType.ipv6)
}

const Tzsp = { ethernet: 1, padding: 0, end: 1 } as const

/** Opens TZSP: version 1, a type, the protocol of the packet; then tagged fields up to one that ends them. */
function openTzsp(b: Uint8Array, at: number, end: number, inner: Inner): boolean {
  if (b[at] !== 1 || u16(b, at + 2) !== Tzsp.ethernet) return false
  for (let next = at + 4; next < end; ) {
    const tag = b[next]!
    if (tag === Tzsp.end) return inner.set(Tunnel.Tzsp, next + 1, 0)
    next += tag === Tzsp.padding ? 1 : 2 + (b[next + 1] ?? 0)
  }
  return false
}

/**
 * Opens a stack of MPLS labels. The labels do not identify their contents: IP has its version, Ethernet an EtherType, after a control word
 * or not.
 */
export function openMpls(b: Uint8Array, at: number, end: number, inner: Inner): boolean {
  for (let labels = 0; labels < mostLabels && end - at > 4; labels++) {
    const last = (b[at + 2]! & 1) !== 0
    at += 4
    if (!last) continue
    const version = b[at]! >> 4
    if (version === 4) return inner.set(Tunnel.Mpls, at, EtherType.ipv4)
    if (version === 6) return inner.set(Tunnel.Mpls, at, EtherType.ipv6)
    for (const frame of [at + 4, at])
      if (end - frame >= 14 && isFrameType(u16(b, frame + 12))) return inner.set(Tunnel.Mpls, frame, 0)
    return false
  }
  return false
}

function isFrameType(etherType: number): boolean {
  const { ipv4, ipv6, vlan, serviceVlan, rocev1 } = EtherType
  return [ipv4, ipv6, vlan, serviceVlan, rocev1].some((known) => known === etherType)
}

const Gre = { checksum: 0x8000, routing: 0x4000, key: 0x2000, sequence: 0x1000, version: 7 } as const

function openGre(b: Uint8Array, at: number, end: number, inner: Inner): boolean {
  if (end - at < 4) return false
  const flags = u16(b, at)
  const protocol = u16(b, at + 2)
  if ((flags & (Gre.version | Gre.routing)) !== 0) return false
  at += 4
  for (const bit of [Gre.checksum, Gre.key, Gre.sequence]) if ((flags & bit) !== 0) at += 4
  // Type I has neither a sequence number nor a header of its own.
  if (protocol === erspan12 && (flags & Gre.sequence) === 0) return inner.set(Tunnel.Erspan, at, 0)
  if (protocol === erspan12 || protocol === erspan3) return openErspan(b, at, end, inner)
  if (isMpls(protocol)) return openMpls(b, at, end, inner)
  return inner.set(Tunnel.Gre, at, protocol)
}

/**
 * Opens ERSPAN: version, VLAN; class, two bits, T (truncated), session. Type II continues with an index of the port; type III with a time
 * stamp, a group tag, a word with the type of the frame, and 8 bytes more if that word indicates them.
 */
function openErspan(b: Uint8Array, at: number, end: number, inner: Inner): boolean {
  if (end - at < 12) return false
  const version = b[at]! >> 4
  const truncated = (u16(b, at + 2) & 0x0400) !== 0
  if (version === 1) return inner.set(Tunnel.Erspan, at + 8, 0, truncated)
  if (version !== 2) return false
  const last = u16(b, at + 10)
  const behind = at + 12 + ((last & 1) !== 0 ? 8 : 0)
  const frameType = (last >> 10) & 31
  if (frameType === 0) return inner.set(Tunnel.Erspan, behind, 0, truncated)
  if (frameType !== 2 || end <= behind) return false
  return inner.set(Tunnel.Erspan, behind, b[behind]! >> 4 === 6 ? EtherType.ipv6 : EtherType.ipv4, truncated)
}
