/**
 * Finds the RDMA packet in a captured one, checks it against the rules that need no memory of other packets, and notes
 * where everything is: offsets and numbers in one record that is filled again, no object for a packet.
 *
 * Lengths come from the headers, not from the frame, since frames are padded and captures may be cut. A rule that needs
 * bytes which the capture cut off is not checked.
 */
import { type CapturedPacket, LinkLayer, locate, located, type ReadOptions } from '../capture/index.ts'
import {
  Aeth,
  AethKind,
  aethKindBits,
  Bth,
  BthFlag,
  bthAckReqBit,
  Ethernet,
  EtherType,
  Grh,
  grhNextHeaderBth,
  headerLength,
  IpProtocol,
  Ipv4,
  Ipv6,
  icrcOfGlobalPacket,
  icrcOfLocalPacket,
  icrcOfRoceV2,
  ipExtensionLength,
  isIpExtension,
  Lrh,
  LrhNext,
  OpBit,
  opcodeBits,
  Reth,
  rocePort,
  Syndrome,
  Udp,
  u16,
  u24,
  u32,
  u32le,
  vcrc,
} from '../wire/index.ts'
import { Problem } from './problems.ts'
import { Inner, isTag, openIp, openLink, openUdp, PortUse, portUses, Tunnel, tagLength } from './tunnels.ts'

export const Kind = { Other: 0, RoceV2: 1, RoceV1: 2, InfiniBand: 3 } as const
export const kindNames = ['other', 'RoCEv2', 'RoCEv1', 'InfiniBand'] as const

/** States of the ICRC. `Unknown`: the capture cut the packet, or its lengths are wrong, so that there is nothing to compare. */
export const IcrcState = { Unknown: 0, Valid: 1, Invalid: 2 } as const

const icrcLength = 4
const vcrcLength = 2
const madLength = 256
const gsiQp = 1
const tcpProtocol = 6
const moreTags = 4
/** Maximum number of IPv6 extension headers that are read. */
const mostExtensions = 16
const longestMtu = 4096
const longestMessage = 2 ** 31
const unknownEnd = -1
/** Maximum depth of nested tunnels: packets that are nested deeper are not searched for. */
const mostTunnels = 8

/**
 * Protocols of UDP ports, besides those that are known: 4791 RoCEv2, 4789 VXLAN, 4790 VXLAN-GPE, 6081 Geneve, 6635 MPLS, 2152 GTP-U, 37008
 * TZSP.
 */
export type DecodeAs = ReadonlyMap<number, keyof typeof portUses>

/** Options that all readings of a capture have in common. */
export interface TraceOptions extends ReadOptions {
  decodeAs?: DecodeAs
  /** Number of packets by which a second reading is ahead of the packet that is shown, for a source that can be read twice. */
  lookAheadPackets?: number
}

function portTable(decodeAs: DecodeAs = new Map()): Uint8Array {
  const table = new Uint8Array(65_536)
  table[rocePort] = PortUse.Roce
  table[4789] = PortUse.Vxlan
  table[6081] = PortUse.Geneve
  table[6635] = PortUse.Mpls
  table[4790] = PortUse.VxlanGpe
  table[2152] = PortUse.Gtpu
  table[37_008] = PortUse.Tzsp
  for (const [port, use] of decodeAs) table[port] = portUses[use]
  return table
}

/**
 * Interpretation of the bytes of one packet, without its connection: a record that is filled again for each. Offsets count from the start
 * of its `bytes`.
 */
export class Dissection {
  kind: number = Kind.Other
  /** Problem bits. */
  problems = 0
  /** Flag: the capture has less of the packet than its headers indicate. */
  cut = false
  icrc: number = IcrcState.Unknown
  /** Version of IP: 4 or 6; 0 for InfiniBand without a GRH. A GRH counts as IPv6. */
  ipVersion = 0
  /**
   * Flag: an authentication header (IPsec) stands before the UDP header. No specification defines if an ICRC covers it: annex A17 of the
   * InfiniBand specification knows IP and UDP headers alone, and adapters write the ICRC before a host adds that header. So `icrc` stays
   * Unknown.
   */
  authenticated = false
  /** Offsets in the packet's bytes. `ip`: IP header or GRH; `lrh`: InfiniBand only. */
  ip = 0
  lrh = 0
  udp = 0
  /** Offset of the TCP header of a packet that is not RDMA; -1 otherwise. */
  tcp = -1
  bth = 0
  /** Offset of the payload, after BTH and extension headers. */
  payload = 0
  /** Offset of the ICRC, after payload and pad. */
  end = 0
  /** Flag: BTH and extension headers are all there; the fields below mean nothing otherwise. */
  complete = false
  opcode = 0
  /** OpBit flags; 0 for an unknown opcode. */
  bits = 0
  pad = 0
  payloadLength = 0
  destQp = 0
  psn = 0
  ackReq = false
  /** Syndrome of the AETH; -1 without AETH. */
  syndrome = -1

  /** Tunnel in which the packet was found; of several, the one next to the RDMA packet. */
  tunnel: number = Tunnel.None
  /** PortUse by UDP port. */
  readonly ports: Uint8Array

  constructor({ decodeAs }: TraceOptions = {}) {
    this.ports = portTable(decodeAs)
  }
}

const place = located()
const inner = new Inner()

/** Dissects a packet and fills `out`. With `checkIcrc` false, `out.icrc` stays Unknown. */
export function dissect(packet: CapturedPacket, out: Dissection, checkIcrc: boolean): void {
  out.kind = Kind.Other
  out.problems = 0
  out.cut = false
  out.icrc = IcrcState.Unknown
  out.complete = false
  out.authenticated = false
  out.tcp = -1
  out.tunnel = Tunnel.None
  const { bytes } = packet
  const layer = locate(bytes, packet.offset, packet.length, packet.linkType, place)
  if (layer === LinkLayer.Unknown || layer === LinkLayer.Cut) return
  const at = place.offset
  const captured = at + place.length
  // End of the packet as it was on the wire.
  const wire = at + Math.max(place.length, packet.originalLength - (at - packet.offset))
  if (layer === LinkLayer.InfiniBand) {
    const whole = place.wireLength > 0 ? at + place.wireLength : wire
    infiniBand(bytes, at, captured, whole, out)
  } else if (layer === LinkLayer.Ethernet) ethernet(bytes, at, captured, wire, out, 0)
  else network(bytes, place.etherType, at, captured, wire, out, 0)
  if (out.kind === Kind.Other || out.end === unknownEnd) return
  transport(bytes, captured, out)
  if (checkIcrc && !out.cut && !out.authenticated && out.end - out.bth >= Bth.length) compareIcrc(bytes, out)
}

function ethernet(b: Uint8Array, at: number, captured: number, wire: number, out: Dissection, depth: number): void {
  if (captured - at < Ethernet.length) return
  network(b, u16(b, at + Ethernet.etherType), at + Ethernet.length, captured, wire, out, depth)
}

function network(
  b: Uint8Array,
  type: number,
  start: number,
  captured: number,
  wire: number,
  out: Dissection,
  depth: number,
): void {
  if (type === EtherType.ipv4) ipv4(b, start, captured, wire, out, depth)
  else tagged(b, type, start, captured, wire, out, depth)
}

/** Does the same for packets that may have tags, and for all that are not IPv4. */
function tagged(
  b: Uint8Array,
  type: number,
  start: number,
  captured: number,
  wire: number,
  out: Dissection,
  depth: number,
): void {
  let etherType = type
  let at = start
  for (let tags = 0; isTag(etherType); tags++) {
    const length = tagLength(etherType)
    if (tags === moreTags || captured - at < length) return
    at += length
    etherType = u16(b, at - 2)
  }
  if (etherType === EtherType.ipv4) ipv4(b, at, captured, wire, out, depth)
  else if (etherType === EtherType.ipv6) ipv6(b, at, captured, wire, out, depth)
  else if (etherType === EtherType.rocev1) {
    out.kind = Kind.RoceV1
    global(b, at, captured, wire, out)
  } else if (openLink(b, etherType, at, captured, inner)) decapsulate(b, captured, wire, out, depth)
}

/** Continues with the inner packet that `inner` describes. Bytes after the end of the outer one do not belong to it. */
function decapsulate(b: Uint8Array, captured: number, wire: number, out: Dissection, depth: number): void {
  if (depth === mostTunnels) return
  const { at, etherType, tunnel, truncated } = inner
  out.tunnel = tunnel
  const end = truncated ? Number.POSITIVE_INFINITY : wire
  if (etherType === 0) ethernet(b, at, Math.min(captured, wire), end, out, depth + 1)
  else network(b, etherType, at, Math.min(captured, wire), end, out, depth + 1)
}

function ipv4(b: Uint8Array, at: number, captured: number, wire: number, out: Dissection, depth: number): void {
  if (captured - at < Ipv4.length || b[at]! >> 4 !== 4) return
  const header = (b[at]! & 15) * 4
  const fragment = u16(b, at + Ipv4.fragment)
  // A later fragment has no UDP header by which it could be recognised.
  if (header < Ipv4.length || (fragment & 0x1fff) !== 0) return
  out.ip = at
  out.ipVersion = 4
  out.authenticated = false
  const protocol = b[at + Ipv4.protocol]!
  if (protocol === tcpProtocol) out.tcp = at + header
  const end = at + u16(b, at + Ipv4.totalLength)
  const isFragment = (fragment & 0x2000) !== 0
  if (protocol === IpProtocol.authentication) authenticated(b, at + header, end, captured, wire, isFragment, out, depth)
  else above(b, protocol, at + header, end, captured, wire, isFragment, out, depth)
}

/** Reads an authentication header after an IPv4 header, then continues with the header that follows it. */
function authenticated(
  b: Uint8Array,
  at: number,
  end: number,
  captured: number,
  wire: number,
  fragment: boolean,
  out: Dissection,
  depth: number,
): void {
  if (captured - at < 8) return
  out.authenticated = true
  const next = at + ipExtensionLength(IpProtocol.authentication, b, at)
  above(b, b[at]!, next, end, captured, wire, fragment, out, depth)
}

function ipv6(b: Uint8Array, at: number, captured: number, wire: number, out: Dissection, depth: number): void {
  if (captured - at < Ipv6.length || b[at]! >> 4 !== 6) return
  out.ip = at
  out.ipVersion = 6
  out.authenticated = false
  const end = at + Ipv6.length + u16(b, at + Ipv6.payloadLength)
  let next = b[at + Ipv6.nextHeader]!
  if (next === tcpProtocol) out.tcp = at + Ipv6.length
  let fragment = false
  at += Ipv6.length
  for (let headers = 0; isIpExtension(next); headers++) {
    if (headers === mostExtensions || captured - at < 8) return
    if (next === IpProtocol.fragment) {
      const word = u16(b, at + 2)
      if (word >> 3 !== 0) return
      fragment = (word & 1) !== 0
    }
    if (next === IpProtocol.authentication) out.authenticated = true
    const length = ipExtensionLength(next, b, at)
    next = b[at]!
    at += length
  }
  above(b, next, at, end, captured, wire, fragment, out, depth)
}

/** Reads the contents of an IP packet that ends at `end`: RoCEv2, or another packet. */
function above(
  b: Uint8Array,
  protocol: number,
  at: number,
  end: number,
  captured: number,
  wire: number,
  fragment: boolean,
  out: Dissection,
  depth: number,
): void {
  let found = false
  if (protocol === IpProtocol.udp) {
    if (captured - at < 4) return
    const use = out.ports[u16(b, at + Udp.destinationPort)]!
    if (use === PortUse.Other) return
    if (use === PortUse.Roce) {
      roce(b, at, end, captured, wire, out)
      if (fragment) {
        out.problems |= Problem.Fragment
        out.end = unknownEnd
      }
      return
    }
    found = openUdp(b, use, at + Udp.length, captured, inner)
  } else found = openIp(b, protocol, at, captured, inner)
  if (!found) return
  // The rest of the inner packet travels in other fragments.
  if (fragment) inner.truncated = true
  decapsulate(b, captured, Math.min(end, wire), out, depth)
}

/** Reads a RoCEv2 packet. Lengths that do not agree leave no position at which an ICRC could be. */
function roce(b: Uint8Array, at: number, end: number, captured: number, wire: number, out: Dissection): void {
  out.kind = Kind.RoceV2
  out.udp = at
  out.bth = at + Udp.length
  out.end = end - icrcLength
  if (end > wire) out.problems |= Problem.IpLength
  else if (captured - at < Udp.length) out.cut = true
  else if (u16(b, at + Udp.udpLength) !== end - at) out.problems |= Problem.UdpLength
  if (out.problems !== 0) out.end = unknownEnd
}

/** Reads RoCEv1, and InfiniBand between subnets: a GRH before the BTH. */
function global(b: Uint8Array, at: number, captured: number, wire: number, out: Dissection): void {
  out.ip = at
  out.ipVersion = 6
  out.bth = at + Grh.length
  out.end = unknownEnd
  if (captured - at < Grh.length) {
    out.cut = captured < wire
    if (!out.cut) out.problems |= Problem.TooShort
    return
  }
  const end = at + Grh.length + u16(b, at + Grh.payloadLength)
  if (b[at]! >> 4 !== 6 || b[at + Grh.nextHeader] !== grhNextHeaderBth || end > wire) out.problems |= Problem.Grh
  else out.end = end - icrcLength
}

function infiniBand(b: Uint8Array, at: number, captured: number, wire: number, out: Dissection): void {
  if (captured - at < Lrh.length) return
  const next = b[at + Lrh.slNext]! & 3
  if (next === LrhNext.raw || next === LrhNext.ipv6) return
  out.kind = Kind.InfiniBand
  out.lrh = at
  out.ipVersion = 0
  out.end = unknownEnd
  const end = at + (u16(b, at + Lrh.packetLength) & 0x7ff) * 4
  // Mirror ports, and tools that unpack their packets, leave the VCRC out: the length of the LRH does not count it.
  if ((b[at]! & 15) !== 0 || (end + vcrcLength > wire && end !== wire)) {
    out.problems |= Problem.Lrh
    return
  }
  if (next === LrhNext.grh) {
    global(b, at + Lrh.length, captured, wire, out)
    if (out.end !== unknownEnd && out.end !== end - icrcLength) {
      out.problems |= Problem.Lrh
      out.end = unknownEnd
    }
  } else {
    out.bth = at + Lrh.length
    out.end = end - icrcLength
  }
  if (wire >= end + vcrcLength && captured >= end + vcrcLength && vcrc(b, at, end) !== (b[end]! | (b[end + 1]! << 8)))
    out.problems |= Problem.Vcrc
}

function transport(b: Uint8Array, captured: number, out: Dissection): void {
  const { bth, end } = out
  if (end + icrcLength > captured) out.cut = true
  if (end - bth < Bth.length) {
    out.problems |= Problem.TooShort
    return
  }
  if (captured - bth < Bth.length) return
  const flags = b[bth + Bth.flags]!
  const opcode = b[bth]!
  const bits = opcodeBits[opcode]!
  out.opcode = opcode
  out.bits = bits
  out.pad = (flags & BthFlag.pad) >> BthFlag.padShift
  out.destQp = u24(b, bth + Bth.destQp)
  out.psn = u24(b, bth + Bth.psn)
  out.ackReq = (b[bth + Bth.ackReq]! & bthAckReqBit) !== 0
  out.syndrome = -1
  if ((flags & BthFlag.tver) !== 0) out.problems |= Problem.Version
  if (((end - bth) & 3) !== 0) out.problems |= Problem.Alignment
  if (bits === 0) {
    // The layout of the rest is unknown; manufacturers have opcodes of their own from 0xc0.
    if (opcode < 0xc0) out.problems |= Problem.Opcode
    out.payload = bth + Bth.length
    out.payloadLength = Math.max(0, end - out.payload - out.pad)
    out.complete = true
    return
  }
  const payload = bth + headerLength[opcode]!
  out.payload = payload
  if (payload > end) {
    out.problems |= Problem.TooShort
    return
  }
  if (payload > captured) return
  out.complete = true
  const length = end - payload - out.pad
  out.payloadLength = Math.max(0, length)
  if (length < 0) out.problems |= Problem.Pad
  else checkLengths(b, bits, length, out)
  if ((bits & OpBit.Aeth) !== 0) {
    const aeth = bth + Bth.length + ((bits & OpBit.Rdeth) !== 0 ? 4 : 0)
    out.syndrome = b[aeth + Aeth.syndrome]!
    const kind = out.syndrome & aethKindBits
    if (kind === AethKind.Nak) {
      if (out.syndrome > Syndrome.InvalidRdRequest) out.problems |= Problem.Syndrome
    } else if (kind !== AethKind.Ack && kind !== AethKind.RnrNak) out.problems |= Problem.Syndrome
    // Only an ACK packet can be a NAK.
    if (kind !== AethKind.Ack && (bits & OpBit.Ack) === 0) out.problems |= Problem.Syndrome
  }
}

function checkLengths(b: Uint8Array, bits: number, length: number, out: Dissection): void {
  if ((bits & OpBit.Payload) === 0) {
    if (length > 0) out.problems |= Problem.NoPayload
    if (out.pad > 0) out.problems |= Problem.Pad
    return
  }
  if ((bits & OpBit.AtomicWrite) !== 0) {
    if (length !== 8) out.problems |= Problem.OperandLength
    return
  }
  if ((bits & (OpBit.First | OpBit.Middle)) !== 0) {
    // These carry exactly the path MTU: 256, 512, 1024, 2048 or 4096.
    if (length < 256 || length > longestMtu || (length & (length - 1)) !== 0) out.problems |= Problem.PlaceLength
    if (out.pad > 0) out.problems |= Problem.Pad
  } else if (length > longestMtu || (length === 0 && (bits & OpBit.Last) !== 0)) out.problems |= Problem.PlaceLength
  if ((bits & OpBit.Deth) !== 0 && out.destQp <= gsiQp && length !== madLength) out.problems |= Problem.MadLength
  if ((bits & OpBit.Reth) !== 0) {
    const dma = u32(b, rethOffset(bits, out.bth) + Reth.dmaLength)
    const fits = (bits & OpBit.Only) !== 0 ? dma === length : dma > length
    if (!fits || dma > longestMessage) out.problems |= Problem.DmaLength
  }
}

/** Returns the offset of the RETH of a packet with these bits. */
export function rethOffset(bits: number, bth: number): number {
  let at = bth + Bth.length
  if ((bits & OpBit.Rdeth) !== 0) at += 4
  if ((bits & OpBit.Deth) !== 0) at += 8
  if ((bits & OpBit.Xrceth) !== 0) at += 4
  if ((bits & OpBit.Feth) !== 0) at += 4
  return at
}

function compareIcrc(b: Uint8Array, out: Dissection): void {
  out.icrc = computeIcrc(b, out) === u32le(b, out.end) ? IcrcState.Valid : IcrcState.Invalid
}

/** Returns the ICRC that the packet, which was captured whole, should have. */
export function computeIcrc(b: Uint8Array, { kind, ip, ipVersion, lrh, bth, end }: Dissection): number {
  if (kind === Kind.RoceV2) return icrcOfRoceV2(b, ip, bth, end)
  return ipVersion === 6 ? icrcOfGlobalPacket(b, ip, end) : icrcOfLocalPacket(b, lrh, end)
}
