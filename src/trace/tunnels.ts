/**
 * Packets in packets: what a switch makes of a mirrored packet (ERSPAN), and what overlay networks and providers put around
 * theirs. Each function looks at one header and tells what begins behind it; how deep to go is the caller's business.
 *
 *     UDP   VXLAN (RFC 7348), Geneve (RFC 8926), MPLS (RFC 7510)
 *     IP    IPv4 or IPv6 (RFC 2003, 2473), MPLS (RFC 4023), GRE (RFC 2784, 2890)
 *     link  MPLS (RFC 3032), PPPoE (RFC 2516)
 *     GRE   IP, MPLS, Ethernet, ERSPAN type I, II and III (draft-foschiano-erspan)
 */
import { EtherType, u16 } from '../wire/index.ts'

export const tunnelNames = ['', 'VXLAN', 'Geneve', 'GRE', 'ERSPAN', 'IP', 'MPLS', 'PPPoE'] as const
export const Tunnel = { None: 0, Vxlan: 1, Geneve: 2, Gre: 3, Erspan: 4, Ip: 5, Mpls: 6, Pppoe: 7 } as const

/** What a UDP port carries. */
export const PortUse = { Other: 0, Roce: 1, Vxlan: 2, Geneve: 3, Mpls: 4 } as const
/** The names of --decode-as. */
export const portUses = { roce: 1, vxlan: 2, geneve: 3, mpls: 4 } as const

export const TunnelProtocol = { ipv4: 4, ipv6: 41, gre: 47, mpls: 137 } as const

/** EtherTypes that stand for an Ethernet frame and for ERSPAN in GRE. */
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

/** More labels than this are not read. */
const mostLabels = 16

/** What was found behind a header; filled again for each. */
export class Inner {
  tunnel: number = Tunnel.None
  at = 0
  /** Of the packet that begins at `at`; 0 for an Ethernet frame. */
  etherType = 0
  /** The sender has cut the inner packet. */
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

/** Behind an Ethernet header, or a link header that has an EtherType. */
export function openLink(b: Uint8Array, etherType: number, at: number, end: number, inner: Inner): boolean {
  if (isMpls(etherType)) return openMpls(b, at, end, inner)
  if (etherType !== pppoeSession || end - at < 8 || b[at] !== pppoeVersionType) return false
  const protocol = u16(b, at + 6)
  if (protocol === pppIpv4) return inner.set(Tunnel.Pppoe, at + 8, EtherType.ipv4)
  return protocol === pppIpv6 && inner.set(Tunnel.Pppoe, at + 8, EtherType.ipv6)
}

/** Behind the IP header. */
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

/** Behind the UDP header. */
export function openUdp(b: Uint8Array, use: number, at: number, end: number, inner: Inner): boolean {
  if (use === PortUse.Mpls) return openMpls(b, at, end, inner)
  if (end - at < 8) return false
  if (use === PortUse.Vxlan) return (b[at]! & 0x08) !== 0 && inner.set(Tunnel.Vxlan, at + 8, 0)
  if (use === PortUse.Geneve && b[at]! >> 6 === 0)
    return inner.set(Tunnel.Geneve, at + 8 + (b[at]! & 0x3f) * 4, u16(b, at + 2))
  return false
}

/** A stack of labels. What they carry is not said: IP has its version, Ethernet an EtherType, behind a control word or not. */
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
 * Version, VLAN; class, two bits, T (truncated), session. Type II goes on with an index of the port; type III with a time
 * stamp, a group tag, a word with the type of the frame, and 8 bytes more if that says so.
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
