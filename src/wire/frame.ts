/**
 * A whole RoCEv2 frame as a value, from Ethernet (or IP) to the ICRC: for generators, taps and tests. Emitting computes
 * lengths, the IPv4 checksum and the ICRC.
 */
import { put16, put32le, u32le } from './bytes.ts'
import { isMalformed, type MalformedReason, WireError } from './errors.ts'
import { EtherType, Icrc, IpProtocol, Ipv4, Ipv6, rocePort, Udp } from './headers.ts'
import { icrcOfRoceV2 } from './icrc.ts'
import {
  type EthernetFields,
  emitEthernet,
  ethernetLength,
  type Ipv4Fields,
  type Ipv6Fields,
  ipv4Checksum,
  ipv4Codec,
  ipv6Codec,
  parseEthernet,
  udpCodec,
} from './link.ts'
import { Layers, locateEthernet, locateIp } from './locate.ts'
import { emitPacket, packetLength, parsePacket, type RocePacket } from './packet.ts'

type Computed4 = 'totalLength' | 'checksum' | 'protocol' | 'moreFragments' | 'fragmentOffset'
type Computed6 = 'payloadLength' | 'nextHeader'

export interface RoceV2Frame {
  /** Absent if the frame begins with the IP header. */
  ethernet?: Omit<EthernetFields, 'etherType'>
  /** One of the two. */
  ipv4?: Omit<Ipv4Fields, Computed4>
  ipv6?: Omit<Ipv6Fields, Computed6>
  sourcePort: number
  /** Checksum in the packet; 0 if there is none. */
  udpChecksum: number
  packet: RocePacket
  /** ICRC in the packet, set by parseFrame. emitFrame writes it instead of the correct one if it is given. */
  icrc?: number
}

/** Parses the RoCEv2 frame b[start, end), which begins with an Ethernet header. IPv4 options and IPv6 extensions are malformed here. */
export function parseFrame(b: Uint8Array, start: number, end: number): RoceV2Frame | MalformedReason {
  const layers = new Layers()
  const reason = locateEthernet(b, start, end, layers)
  if (reason !== undefined) return reason
  const ethernet = parseEthernet(b, start, end)
  if (isMalformed(ethernet)) return ethernet
  const frame = parseLayers(b, layers)
  if (isMalformed(frame)) return frame
  const { etherType: _, ...rest } = ethernet
  return { ethernet: rest, ...frame }
}

/** Parses a frame that begins with the IP header. */
export function parseIpFrame(b: Uint8Array, start: number, end: number): RoceV2Frame | MalformedReason {
  const layers = new Layers()
  return locateIp(b, start, end, layers) ?? parseLayers(b, layers)
}

function parseLayers(b: Uint8Array, { ip, ipVersion, udp, bth, icrc }: Layers): RoceV2Frame | MalformedReason {
  if (ip < 0) return 'notUdp'
  const packet = parsePacket(b, bth, icrc)
  if (isMalformed(packet)) return packet
  const { sourcePort, checksum: udpChecksum } = udpCodec.read(b, udp)
  const rest = { sourcePort, udpChecksum, packet, icrc: u32le(b, icrc) }
  if (ipVersion === 6) {
    if (udp !== ip + Ipv6.length) return 'notUdp'
    const { payloadLength: _, nextHeader: __, ...ipv6 } = ipv6Codec.read(b, ip)
    return { ipv6, ...rest }
  }
  const ipv4 = ipv4Codec.parse(b, ip, udp)
  if (isMalformed(ipv4)) return ipv4
  if (ipv4Checksum(b, ip, udp) !== 0) return 'ipChecksum'
  const { tos, identification, dontFragment, ttl, source, destination } = ipv4
  return { ipv4: { tos, identification, dontFragment, ttl, source, destination }, ...rest }
}

/** Number of bytes that emitFrame writes. */
export function frameLength(frame: RoceV2Frame): number {
  const ethernet = frame.ethernet ? ethernetLength({ ...frame.ethernet, etherType: 0 }) : 0
  return ethernet + (frame.ipv4 ? Ipv4.length : Ipv6.length) + Udp.length + packetLength(frame.packet) + Icrc.length
}

/** Writes the frame at b[at] and returns the offset after it. Misuse throws a WireError, as with emitPacket. */
export function emitFrame(frame: RoceV2Frame, b: Uint8Array, at: number): number {
  const { ipv4, ipv6, packet } = frame
  if ((ipv4 === undefined) === (ipv6 === undefined))
    throw new WireError('ERR_WIRE_HEADER', 'a RoCEv2 frame has either `ipv4` or `ipv6`')
  const end = at + frameLength(frame)
  if (end > b.length)
    throw new WireError('ERR_WIRE_SPACE', `a frame of ${end - at} bytes does not fit at ${at} of ${b.length}`)
  let ip = at
  if (frame.ethernet) ip = emitEthernet({ ...frame.ethernet, etherType: ipv4 ? EtherType.ipv4 : EtherType.ipv6 }, b, at)
  const udp = ip + (ipv4 ? Ipv4.length : Ipv6.length)
  if (ipv4) {
    // IBA CA17-6, CA17-8, CA17-10: no fragment, UDP, and a length that includes the ICRC.
    const rest = { moreFragments: false, fragmentOffset: 0, protocol: IpProtocol.udp, checksum: 0 }
    ipv4Codec.emit({ ...ipv4, ...rest, totalLength: end - ip }, b, ip)
    put16(b, ip + Ipv4.checksum, ipv4Checksum(b, ip, udp))
  } else if (ipv6) ipv6Codec.emit({ ...ipv6, payloadLength: end - udp, nextHeader: IpProtocol.udp }, b, ip)
  const { sourcePort, udpChecksum: checksum } = frame
  const bth = udpCodec.emit({ sourcePort, destinationPort: rocePort, udpLength: end - udp, checksum }, b, udp)
  const icrc = emitPacket(packet, b, bth)
  put32le(b, icrc, frame.icrc ?? icrcOfRoceV2(b, ip, bth, icrc))
  return end
}
