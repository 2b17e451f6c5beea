/**
 * Offsets of the layers of a captured frame, without allocation: for tools that process millions of packets.
 *
 *     const layers = new Layers()                           // reused
 *     const reason = locateEthernet(b, start, end, layers)
 *     if (reason === undefined) …                           // b[layers.bth, layers.icrc) is the packet
 *
 * Stacked VLAN tags, IPv4 options, authentication headers and IPv6 extension headers are skipped.
 */
import { u16, u32, u32le } from './bytes.ts'
import type { MalformedReason } from './errors.ts'
import {
  Bth,
  Ethernet,
  EtherType,
  Grh,
  grhNextHeaderBth,
  Icrc,
  IpProtocol,
  Ipv4,
  Ipv6,
  Lrh,
  LrhNext,
  rocePort,
  Udp,
  Vlan,
} from './headers.ts'
import { icrcOfGlobalPacket, icrcOfLocalPacket, icrcOfRoceV2 } from './icrc.ts'
import { ipExtensionLength, isIpExtension } from './ip-extensions.ts'
import { isVlanType, maxTags } from './link.ts'

/** Offsets of the layers; -1 where there is none. */
export class Layers {
  ethernet = -1
  /** Number of VLAN tags. */
  tags = 0
  lrh = -1
  /** Offset of the IPv4 or IPv6 header of RoCEv2, and version 4 or 6. */
  ip = -1
  ipVersion = 0
  udp = -1
  /** Offset of the GRH of RoCEv1, and of InfiniBand between subnets. */
  grh = -1
  bth = -1
  /** Offset of the ICRC, the end of the pad. */
  icrc = -1

  reset(): void {
    this.ethernet = this.lrh = this.ip = this.udp = this.grh = this.bth = this.icrc = -1
    this.tags = this.ipVersion = 0
  }
}

type Found = MalformedReason | undefined

/**
 * Locates the layers from an Ethernet header; the frame check sequence, if captured, and padding do not matter. The layers found
 * before an error are in `layers`. `notIp`, `notUdp`, `notRocePort`, `notRoce` indicate other traffic; the other reasons, damage.
 */
export function locateEthernet(b: Uint8Array, start: number, end: number, layers: Layers): Found {
  layers.reset()
  if (end - start < Ethernet.length) return 'tooShort'
  layers.ethernet = start
  let at = start + Ethernet.etherType
  let etherType = u16(b, at)
  at += 2
  while (isVlanType(etherType)) {
    if (at + Vlan.length > end) return 'truncatedVlan'
    if (layers.tags === maxTags) return 'tooManyExtensions'
    layers.tags++
    etherType = u16(b, at + Vlan.etherType)
    at += Vlan.length
  }
  switch (etherType) {
    case EtherType.ipv4:
      return ipv4(b, at, end, layers)
    case EtherType.ipv6:
      return ipv6(b, at, end, layers)
    case EtherType.rocev1:
      return grh(b, at, end, layers)
    default:
      return 'notIp'
  }
}

/** Locates the layers from an IPv4 or IPv6 header. */
export function locateIp(b: Uint8Array, start: number, end: number, layers: Layers): Found {
  layers.reset()
  if (start >= end) return 'tooShort'
  const version = b[start]! >>> 4
  return version === 4 ? ipv4(b, start, end, layers) : version === 6 ? ipv6(b, start, end, layers) : 'ipVersion'
}

/** Locates the layers from a GRH, which follows the Ethernet header in RoCEv1. */
export function locateGrh(b: Uint8Array, start: number, end: number, layers: Layers): Found {
  layers.reset()
  return grh(b, start, end, layers)
}

/** Locates the layers from an LRH: an InfiniBand packet, with its VCRC or without. */
export function locateLrh(b: Uint8Array, start: number, end: number, layers: Layers): Found {
  layers.reset()
  if (end - start < Lrh.length) return 'tooShort'
  if ((b[start]! & 15) !== 0) return 'linkVersion'
  layers.lrh = start
  const next = b[start + Lrh.slNext]! & 3
  const last = start + 4 * (u16(b, start + Lrh.packetLength) & 0x7ff)
  if (last > end || last < start + Lrh.length) return 'linkLength'
  if (next === LrhNext.grh) return grh(b, start + Lrh.length, last, layers)
  if (next !== LrhNext.bth) return 'linkNext'
  return bth(start + Lrh.length, last, layers)
}

/** True if the ICRC of the located packet is correct. A capture contains the IP identification, so it need not be solved for. */
export function icrcMatches(b: Uint8Array, layers: Layers): boolean {
  return icrcOf(b, layers) === u32le(b, layers.icrc)
}

/** Returns the correct ICRC of the located packet. */
export function icrcOf(b: Uint8Array, { ip, grh, lrh, bth, icrc }: Layers): number {
  if (ip >= 0) return icrcOfRoceV2(b, ip, bth, icrc)
  if (grh >= 0) return icrcOfGlobalPacket(b, grh, icrc)
  return icrcOfLocalPacket(b, lrh, icrc)
}

function ipv4(b: Uint8Array, at: number, end: number, layers: Layers): Found {
  if (end - at < Ipv4.length) return 'tooShort'
  // IBA CA17-27: the version agrees with the type of the frame.
  if (b[at]! >>> 4 !== 4) return 'ipVersion'
  layers.ip = at
  layers.ipVersion = 4
  const header = 4 * (b[at]! & 15)
  const total = u16(b, at + Ipv4.totalLength)
  if (header < Ipv4.length || header > total) return 'ipHeaderLength'
  if (at + total > end) return 'ipLength'
  let protocol = b[at + Ipv4.protocol]!
  let next = at + header
  if (protocol === IpProtocol.authentication) {
    if (next + 8 > at + total) return 'ipLength'
    protocol = b[next]!
    next += ipExtensionLength(IpProtocol.authentication, b, next)
  }
  if (protocol !== IpProtocol.udp) return 'notUdp'
  if (u16(b, at + Ipv4.fragment) & 0x3fff) return 'fragment'
  return udp(b, next, at + total, layers)
}

function ipv6(b: Uint8Array, at: number, end: number, layers: Layers): Found {
  if (end - at < Ipv6.length) return 'tooShort'
  if (b[at]! >>> 4 !== 6) return 'ipVersion'
  layers.ip = at
  layers.ipVersion = 6
  const last = at + Ipv6.length + u16(b, at + Ipv6.payloadLength)
  if (last > end) return 'ipLength'
  let next = b[at + Ipv6.nextHeader]!
  let header = at + Ipv6.length
  for (let i = 0; i <= maxTags; i++) {
    if (next === IpProtocol.udp) return udp(b, header, last, layers)
    if (!isIpExtension(next)) return 'notUdp'
    if (header + 8 > last) return 'ipLength'
    if (next === IpProtocol.fragment && u16(b, header + 2) & 0xfff9) return 'fragment'
    const length = ipExtensionLength(next, b, header)
    next = b[header]!
    header += length
  }
  return 'tooManyExtensions'
}

function udp(b: Uint8Array, at: number, end: number, layers: Layers): Found {
  if (end - at < Udp.length) return 'ipLength'
  layers.udp = at
  // IBA CA17-20, CA17-21: the destination port is that of RoCEv2; the length goes up to the ICRC, and includes it.
  if (u16(b, at + Udp.destinationPort) !== rocePort) return 'notRocePort'
  if (u16(b, at + Udp.udpLength) !== end - at) return 'udpLength'
  return bth(at + Udp.length, end, layers)
}

function grh(b: Uint8Array, at: number, end: number, layers: Layers): Found {
  if (end - at < Grh.length) return 'tooShort'
  if (u32(b, at) >>> 28 !== 6) return 'ipVersion'
  layers.grh = at
  if (b[at + Grh.nextHeader] !== grhNextHeaderBth) return 'notRoce'
  const last = at + Grh.length + u16(b, at + Grh.payloadLength)
  return last > end ? 'ipLength' : bth(at + Grh.length, last, layers)
}

/** Locates the BTH. `end` is the offset after the ICRC. */
function bth(at: number, end: number, layers: Layers): Found {
  if (end - at < Bth.length + Icrc.length) return 'tooShort'
  layers.bth = at
  layers.icrc = end - Icrc.length
  return undefined
}
