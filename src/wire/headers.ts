/**
 * Positions of the fields of each header: offsets in bytes from the header's start, lengths in bytes. Fields narrower than
 * a byte share the offset of their byte and have a mask (`…Bits`, `…Shift`).
 *
 * The order on the wire of RoCEv2:
 *
 *     Ethernet  IPv4 or IPv6  UDP (4791)  BTH  extension headers  payload  pad  ICRC
 *
 * and of InfiniBand and RoCEv1: LRH or Ethernet, then a GRH (RoCEv1 always, InfiniBand between subnets), then the BTH.
 * Source: InfiniBand Architecture Specification, volume 1, chapters 5, 7 and 9, annexes A14 (XRC), A17 (RoCEv2) and
 * A19 (memory placement).
 */

/** Base transport header: the first of every packet. */
export const Bth = {
  length: 12,
  opcode: 0,
  /** Solicited event, MigReq, pad count and transport version. */
  flags: 1,
  pkey: 2,
  /** FECN, BECN and six reserved bits: the byte that the ICRC does not cover. */
  ecn: 4,
  destQp: 5,
  /** Bit 0x80; the other seven are reserved. */
  ackReq: 8,
  psn: 9,
} as const

export const BthFlag = { solicited: 0x80, migReq: 0x40, pad: 0x30, padShift: 4, tver: 0x0f } as const
export const BthEcn = { fecn: 0x80, becn: 0x40 } as const
export const bthAckReqBit = 0x80

/** RDMA extended transport header: address, key and length of the memory. */
export const Reth = { length: 16, va: 0, rkey: 8, dmaLength: 12 } as const
/** ACK extended transport header: see aeth.ts for the values of the syndrome. */
export const Aeth = { length: 4, syndrome: 0, msn: 1 } as const
/** Atomic extended transport header: COMPARE SWAP uses both operands, FETCH ADD the first. */
export const AtomicEth = { length: 28, va: 0, rkey: 8, swapAdd: 12, compare: 20 } as const
export const AtomicAckEth = { length: 8, original: 0 } as const
export const ImmDt = { length: 4, data: 0 } as const
/** Key that a SEND with invalidate invalidates. */
export const Ieth = { length: 4, rkey: 0 } as const
/** Datagram extended transport header. */
export const Deth = { length: 8, qkey: 0, srcQp: 5 } as const
/** FLUSH: placement type in bits 3:0, selectivity level in bits 5:4 of the last byte. */
export const Feth = { length: 4, type: 3, placementBits: 0x0f, selectivityBits: 0x30, selectivityShift: 4 } as const
export const Xrceth = { length: 4, srqn: 1 } as const
export const Rdeth = { length: 4, eeContext: 1 } as const
/** Sixteen reserved bytes after the BTH of a congestion notification packet. */
export const CnpPad = { length: 16 } as const

/** Global routing header; the same layout as an IPv6 header. */
export const Grh = {
  length: 40,
  /** ipVersion in bits 31:28, tclass in 27:20, flowLabel in 19:0. */
  versionTclassFlow: 0,
  payloadLength: 4,
  nextHeader: 6,
  hopLimit: 7,
  sgid: 8,
  dgid: 24,
} as const
/** Next header of a GRH before a BTH. */
export const grhNextHeaderBth = 0x1b

/** Local routing header of InfiniBand. */
export const Lrh = {
  length: 8,
  /** Virtual lane in bits 7:4, link version in 3:0. */
  vlVersion: 0,
  /** Service level in bits 7:4, two reserved, next header (LrhNext) in 1:0. */
  slNext: 1,
  dlid: 2,
  /** Five reserved bits, then 11: the length in words of four bytes, from the LRH to before the VCRC. */
  packetLength: 4,
  slid: 6,
} as const
/** Values of the next header of an LRH. */
export const LrhNext = { raw: 0, ipv6: 1, bth: 2, grh: 3 } as const

export const Icrc = { length: 4 } as const
export const Vcrc = { length: 2 } as const

export const Ethernet = { length: 14, destination: 0, source: 6, etherType: 12 } as const
/** Tag after the etherType that announces it: the tag control information, then the next etherType. */
export const Vlan = { length: 4, tci: 0, etherType: 2 } as const
export const EtherType = {
  ipv4: 0x0800,
  ipv6: 0x86dd,
  vlan: 0x8100,
  serviceVlan: 0x88a8,
  oldServiceVlan: 0x9100,
  rocev1: 0x8915,
} as const

export const Ipv4 = {
  length: 20,
  versionIhl: 0,
  tos: 1,
  totalLength: 2,
  identification: 4,
  /** Flags and offset: 0x4000 do not fragment, 0x2000 more fragments, 0x1fff offset in units of eight bytes. */
  fragment: 6,
  ttl: 8,
  protocol: 9,
  checksum: 10,
  source: 12,
  destination: 16,
} as const
export const ipv4DontFragment = 0x4000

export const Ipv6 = {
  length: 40,
  versionTclassFlow: 0,
  payloadLength: 4,
  nextHeader: 6,
  hopLimit: 7,
  source: 8,
  destination: 24,
} as const

export const IpProtocol = {
  hopByHop: 0,
  udp: 17,
  routing: 43,
  fragment: 44,
  authentication: 51,
  destinationOptions: 60,
} as const

export const Udp = { length: 8, sourcePort: 0, destinationPort: 2, udpLength: 4, checksum: 6 } as const
/** UDP port of RoCEv2. */
export const rocePort = 4791
