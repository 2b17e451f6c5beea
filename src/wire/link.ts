/**
 * The layers below the BTH as values: Ethernet with VLAN tags, IPv4, IPv6, UDP; LRH and GRH. Lengths and checksums are
 * plain fields here; emitting a whole frame (frame.ts) computes them.
 */
import { put16, u16 } from './bytes.ts'
import { bits, bytesField, flag, HeaderCodec, u8Field, u16Field } from './codec.ts'
import { type MalformedReason, WireError } from './errors.ts'
import { Ethernet, EtherType, Grh, Ipv4, Ipv6, Lrh, Udp, Vlan } from './headers.ts'

export interface VlanTag {
  /** EtherType.vlan, or .serviceVlan for the outer of stacked tags. */
  etherType: number
  /** Tag control information: priority in bits 15:13, drop eligible 12, VLAN 11:0. */
  tci: number
}

export interface EthernetFields {
  /** Six bytes each. */
  destination: Uint8Array
  source: Uint8Array
  /** Outermost first. */
  tags: VlanTag[]
  /** EtherType after the tags. */
  etherType: number
}

export const maxTags = 16

export function isVlanType(etherType: number): boolean {
  return etherType === EtherType.vlan || etherType === EtherType.serviceVlan || etherType === EtherType.oldServiceVlan
}

/** Parses the Ethernet header with all its tags; addresses are views. */
export function parseEthernet(b: Uint8Array, start: number, end: number): EthernetFields | MalformedReason {
  if (end - start < Ethernet.length) return 'tooShort'
  const tags: VlanTag[] = []
  let etherType = u16(b, start + Ethernet.etherType)
  for (let at = start + Ethernet.length; isVlanType(etherType); at += Vlan.length) {
    if (at + Vlan.length > end) return 'truncatedVlan'
    if (tags.length === maxTags) return 'tooManyExtensions'
    tags.push({ etherType, tci: u16(b, at + Vlan.tci) })
    etherType = u16(b, at + Vlan.etherType)
  }
  const source = start + Ethernet.source
  return { destination: b.subarray(start, start + 6), source: b.subarray(source, source + 6), tags, etherType }
}

/** Number of bytes that emitEthernet writes. */
export function ethernetLength(ethernet: EthernetFields): number {
  return Ethernet.length + Vlan.length * ethernet.tags.length
}

/** Writes the header and returns the offset after it. */
export function emitEthernet(ethernet: EthernetFields, b: Uint8Array, at: number): number {
  const end = at + ethernetLength(ethernet)
  if (end > b.length) throw new WireError('ERR_WIRE_SPACE', `Ethernet: does not fit at ${at} of ${b.length}`)
  if (ethernet.destination.length !== 6 || ethernet.source.length !== 6)
    throw new WireError('ERR_WIRE_VALUE', 'Ethernet: an address has 6 bytes')
  b.set(ethernet.destination, at + Ethernet.destination)
  b.set(ethernet.source, at + Ethernet.source)
  let next = at + Ethernet.etherType
  for (const { etherType, tci } of ethernet.tags) {
    put16(b, next, etherType)
    put16(b, next + 2, tci)
    next += Vlan.length
  }
  put16(b, next, ethernet.etherType)
  return end
}

export interface Ipv4Fields {
  tos: number
  totalLength: number
  identification: number
  dontFragment: boolean
  moreFragments: boolean
  /** Offset in units of eight bytes. */
  fragmentOffset: number
  ttl: number
  protocol: number
  checksum: number
  /** Four bytes each. */
  source: Uint8Array
  destination: Uint8Array
}

/** IPv4 header without options. The checksum is not checked here: see ipv4Checksum. */
export const ipv4Codec: HeaderCodec<Ipv4Fields> = new HeaderCodec<Ipv4Fields>(
  'IPv4',
  Ipv4.length,
  {
    tos: u8Field(Ipv4.tos),
    totalLength: u16Field(Ipv4.totalLength),
    identification: u16Field(Ipv4.identification),
    dontFragment: flag(Ipv4.fragment, 0x40),
    moreFragments: flag(Ipv4.fragment, 0x20),
    fragmentOffset: bits(Ipv4.fragment, 3, 13),
    ttl: u8Field(Ipv4.ttl),
    protocol: u8Field(Ipv4.protocol),
    checksum: u16Field(Ipv4.checksum),
    source: bytesField(Ipv4.source, 4),
    destination: bytesField(Ipv4.destination, 4),
  },
  (b, at) => (b[at]! >>> 4 !== 4 ? 'ipVersion' : b[at] === 0x45 ? undefined : 'ipHeaderLength'),
  0x45,
)

export interface Ipv6Fields {
  trafficClass: number
  flowLabel: number
  payloadLength: number
  nextHeader: number
  hopLimit: number
  /** Sixteen bytes each. */
  source: Uint8Array
  destination: Uint8Array
}

export const ipv6Codec: HeaderCodec<Ipv6Fields> = new HeaderCodec<Ipv6Fields>(
  'IPv6',
  Ipv6.length,
  {
    trafficClass: bits(Ipv6.versionTclassFlow, 4, 8),
    flowLabel: bits(Ipv6.versionTclassFlow, 12, 20),
    payloadLength: u16Field(Ipv6.payloadLength),
    nextHeader: u8Field(Ipv6.nextHeader),
    hopLimit: u8Field(Ipv6.hopLimit),
    source: bytesField(Ipv6.source, 16),
    destination: bytesField(Ipv6.destination, 16),
  },
  (b, at) => (b[at]! >>> 4 === 6 ? undefined : 'ipVersion'),
  0x60,
)

export interface UdpFields {
  sourcePort: number
  destinationPort: number
  udpLength: number
  /** UDP checksum; 0 over IPv4 indicates that there is none, as is usual for RoCE. */
  checksum: number
}

export const udpCodec: HeaderCodec<UdpFields> = new HeaderCodec<UdpFields>('UDP', Udp.length, {
  sourcePort: u16Field(Udp.sourcePort),
  destinationPort: u16Field(Udp.destinationPort),
  udpLength: u16Field(Udp.udpLength),
  checksum: u16Field(Udp.checksum),
})

export interface GrhFields {
  trafficClass: number
  flowLabel: number
  /** Length from the end of the GRH to before the VCRC: the ICRC is included. */
  payloadLength: number
  nextHeader: number
  hopLimit: number
  sgid: Uint8Array
  dgid: Uint8Array
}

export const grhCodec: HeaderCodec<GrhFields> = new HeaderCodec<GrhFields>(
  'GRH',
  Grh.length,
  {
    trafficClass: bits(Grh.versionTclassFlow, 4, 8),
    flowLabel: bits(Grh.versionTclassFlow, 12, 20),
    payloadLength: u16Field(Grh.payloadLength),
    nextHeader: u8Field(Grh.nextHeader),
    hopLimit: u8Field(Grh.hopLimit),
    sgid: bytesField(Grh.sgid, 16),
    dgid: bytesField(Grh.dgid, 16),
  },
  (b, at) => (b[at]! >>> 4 === 6 ? undefined : 'ipVersion'),
  0x60,
)

export interface LrhFields {
  virtualLane: number
  serviceLevel: number
  /** LrhNext. */
  next: number
  dlid: number
  /** Number of four-byte words from the LRH to the end of the ICRC. */
  packetLength: number
  slid: number
}

export const lrhCodec: HeaderCodec<LrhFields> = new HeaderCodec<LrhFields>(
  'LRH',
  Lrh.length,
  {
    virtualLane: bits(Lrh.vlVersion, 0, 4),
    serviceLevel: bits(Lrh.slNext, 0, 4),
    next: bits(Lrh.slNext, 6, 2),
    dlid: u16Field(Lrh.dlid),
    packetLength: bits(Lrh.packetLength, 5, 11),
    slid: u16Field(Lrh.slid),
  },
  (b, at) => ((b[at]! & 15) === 0 ? undefined : 'linkVersion'),
)

/** Returns the checksum of b[start, end), in which the checksum field is zero; over a header with a correct checksum it returns 0. */
export function ipv4Checksum(b: Uint8Array, start: number, end: number): number {
  let sum = 0
  for (let at = start; at < end; at += 2) sum += u16(b, at)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}

/** Returns the UDP checksum of b[udp, end) between two addresses (for IPv6, where 0 is not allowed on most paths); never 0. */
export function udpChecksum(
  b: Uint8Array,
  udp: number,
  end: number,
  source: Uint8Array,
  destination: Uint8Array,
): number {
  let sum = 17 + (end - udp)
  for (let i = 0; i < source.length; i += 2) sum += u16(source, i) + u16(destination, i)
  for (let at = udp; at < end; at += 2) sum += at + 1 < end ? u16(b, at) : b[at]! << 8
  // The field itself is excluded.
  sum -= u16(b, udp + Udp.checksum)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff || 0xffff
}
