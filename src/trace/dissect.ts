/**
 * Finds the RDMA packet in a captured one, checks it against the rules that need no memory of other packets, and notes
 * where everything is: offsets and numbers in one record that is filled again, no object for a packet.
 *
 * Lengths come from the headers, not from the frame, since frames are padded and captures may be cut. A rule that needs
 * bytes which the capture cut off is not checked.
 */
import { type CapturedPacket, LinkLayer, locate, located } from '../capture/index.ts'
import { systemCrc32 } from '../memory/index.ts'
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
  useCrc32,
  Vlan,
  vcrc,
} from '../wire/index.ts'
import { Problem } from './problems.ts'

export const Kind = { Other: 0, RoceV2: 1, RoceV1: 2, InfiniBand: 3 } as const
export const kindNames = ['other', 'RoCEv2', 'RoCEv1', 'InfiniBand'] as const

/** `Unknown`: the capture cut the packet, or its lengths are wrong, so that there is nothing to compare. */
export const IcrcState = { Unknown: 0, Valid: 1, Invalid: 2 } as const

const icrcLength = 4
const vcrcLength = 2
const madLength = 256
const gsiQp = 1
const tcpProtocol = 6
const moreTags = 4
const longestMtu = 4096
const longestMessage = 2 ** 31
const unknownEnd = -1

export class Dissection {
  kind: number = Kind.Other
  /** Problem bits. */
  problems = 0
  /** The capture has less of the packet than its headers say. */
  cut = false
  icrc: number = IcrcState.Unknown
  /** 4 or 6; 0 for InfiniBand without a GRH. A GRH counts as IPv6. */
  ipVersion = 0
  /** Offsets in the packet's bytes. `ip`: IP header or GRH; `lrh`: InfiniBand only. */
  ip = 0
  lrh = 0
  udp = 0
  /** The TCP header of a packet that is no RDMA; -1 else. */
  tcp = -1
  bth = 0
  /** Behind BTH and extension headers. */
  payload = 0
  /** Where the ICRC begins: behind payload and pad. */
  end = 0
  /** True if BTH and extension headers are all there; the fields below mean nothing otherwise. */
  complete = false
  opcode = 0
  /** OpBit flags; 0 for an unknown opcode. */
  bits = 0
  pad = 0
  payloadLength = 0
  destQp = 0
  psn = 0
  ackReq = false
  /** The AETH's syndrome; -1 without AETH. */
  syndrome = -1

  constructor() {
    useCrc32(systemCrc32()?.update)
  }
}

const place = located()

/** Fills `out`. With `checkIcrc` false, `out.icrc` stays Unknown. */
export function dissect(packet: CapturedPacket, out: Dissection, checkIcrc: boolean): void {
  out.kind = Kind.Other
  out.problems = 0
  out.cut = false
  out.icrc = IcrcState.Unknown
  out.complete = false
  out.tcp = -1
  const { bytes } = packet
  const layer = locate(bytes, packet.offset, packet.length, packet.linkType, place)
  if (layer === LinkLayer.Unknown || layer === LinkLayer.Cut) return
  let at = place.offset
  const captured = at + place.length
  // How far the packet went on the wire.
  const wire = at + Math.max(place.length, packet.originalLength - (at - packet.offset))
  let etherType = place.etherType
  if (layer === LinkLayer.InfiniBand) {
    const whole = place.wireLength > 0 ? at + place.wireLength : wire
    infiniBand(bytes, at, captured, whole, out)
  } else {
    if (layer === LinkLayer.Ethernet) {
      if (captured - at < Ethernet.length) return
      etherType = u16(bytes, at + Ethernet.etherType)
      at += Ethernet.length
    }
    for (let tags = 0; isTag(etherType); tags++) {
      if (tags === moreTags || captured - at < Vlan.length) return
      etherType = u16(bytes, at + Vlan.etherType)
      at += Vlan.length
    }
    if (etherType === EtherType.ipv4) ipv4(bytes, at, captured, wire, out)
    else if (etherType === EtherType.ipv6) ipv6(bytes, at, captured, wire, out)
    else if (etherType === EtherType.rocev1) {
      out.kind = Kind.RoceV1
      global(bytes, at, captured, wire, out)
    }
  }
  if (out.kind === Kind.Other || out.end === unknownEnd) return
  transport(bytes, captured, out)
  if (checkIcrc && !out.cut && out.end - out.bth >= Bth.length) compareIcrc(bytes, out)
}

function isTag(etherType: number): boolean {
  return etherType === EtherType.vlan || etherType === EtherType.serviceVlan || etherType === EtherType.oldServiceVlan
}

function ipv4(b: Uint8Array, at: number, captured: number, wire: number, out: Dissection): void {
  if (captured - at < Ipv4.length || b[at]! >> 4 !== 4) return
  const header = (b[at]! & 15) * 4
  const fragment = u16(b, at + Ipv4.fragment)
  // A later fragment has no UDP header to know it by.
  if (header < Ipv4.length || (fragment & 0x1fff) !== 0) return
  out.ip = at
  out.ipVersion = 4
  const protocol = b[at + Ipv4.protocol]!
  if (protocol === tcpProtocol) out.tcp = at + header
  if (protocol !== IpProtocol.udp) return
  const end = at + u16(b, at + Ipv4.totalLength)
  if (!udp(b, at + header, end, captured, wire, out)) return
  if ((fragment & 0x2000) !== 0) {
    out.problems |= Problem.Fragment
    out.end = unknownEnd
  }
}

function ipv6(b: Uint8Array, at: number, captured: number, wire: number, out: Dissection): void {
  if (captured - at < Ipv6.length || b[at]! >> 4 !== 6) return
  out.ip = at
  out.ipVersion = 6
  const end = at + Ipv6.length + u16(b, at + Ipv6.payloadLength)
  let next = b[at + Ipv6.nextHeader]!
  if (next === tcpProtocol) out.tcp = at + Ipv6.length
  let fragment = false
  at += Ipv6.length
  while (next !== IpProtocol.udp) {
    if (captured - at < 8) return
    if (next === IpProtocol.fragment) {
      const word = u16(b, at + 2)
      if (word >> 3 !== 0) return
      fragment = (word & 1) !== 0
      next = b[at]!
      at += 8
    } else if (next === IpProtocol.hopByHop || next === IpProtocol.routing || next === IpProtocol.destinationOptions) {
      next = b[at]!
      at += 8 * (b[at + 1]! + 1)
    } else return
  }
  if (!udp(b, at, end, captured, wire, out)) return
  if (fragment) {
    out.problems |= Problem.Fragment
    out.end = unknownEnd
  }
}

/** True if this is RoCEv2. Lengths that do not agree leave no place to look for an ICRC. */
function udp(b: Uint8Array, at: number, end: number, captured: number, wire: number, out: Dissection): boolean {
  if (captured - at < 4 || u16(b, at + Udp.destinationPort) !== rocePort) return false
  out.kind = Kind.RoceV2
  out.udp = at
  out.bth = at + Udp.length
  out.end = end - icrcLength
  if (end > wire) out.problems |= Problem.IpLength
  else if (captured - at < Udp.length) out.cut = true
  else if (u16(b, at + Udp.udpLength) !== end - at) out.problems |= Problem.UdpLength
  if (out.problems !== 0) out.end = unknownEnd
  return true
}

/** RoCEv1, and InfiniBand between subnets: a GRH before the BTH. */
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
  if ((b[at]! & 15) !== 0 || end + vcrcLength > wire) {
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
  if (captured >= end + vcrcLength && vcrc(b, at, end) !== (b[end]! | (b[end + 1]! << 8))) out.problems |= Problem.Vcrc
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
    // Nothing is known of what follows; manufacturers have opcodes of their own from 0xc0.
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
    // Only an ACK can refuse.
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
  if ((bits & OpBit.Deth) !== 0 && out.destQp === gsiQp && length !== madLength) out.problems |= Problem.MadLength
  if ((bits & OpBit.Reth) !== 0) {
    const dma = u32(b, rethOffset(bits, out.bth) + Reth.dmaLength)
    const fits = (bits & OpBit.Only) !== 0 ? dma === length : dma > length
    if (!fits || dma > longestMessage) out.problems |= Problem.DmaLength
  }
}

/** Where the RETH of a packet with these bits begins. */
export function rethOffset(bits: number, bth: number): number {
  let at = bth + Bth.length
  if ((bits & OpBit.Rdeth) !== 0) at += 4
  if ((bits & OpBit.Deth) !== 0) at += 8
  if ((bits & OpBit.Xrceth) !== 0) at += 4
  if ((bits & OpBit.Feth) !== 0) at += 4
  return at
}

function compareIcrc(b: Uint8Array, out: Dissection): void {
  const { end } = out
  const computed =
    out.kind === Kind.RoceV2
      ? icrcOfRoceV2(b, out.ip, out.bth, end)
      : out.ipVersion === 6
        ? icrcOfGlobalPacket(b, out.ip, end)
        : icrcOfLocalPacket(b, out.lrh, end)
  out.icrc = computed === u32le(b, end) ? IcrcState.Valid : IcrcState.Invalid
}
