/** Builds whole packets for tests: what a capture would have of them, with right lengths and ICRC. */
import {
  Bth,
  EtherType,
  Grh,
  grhNextHeaderBth,
  headerLength,
  icrcOfGlobalPacket,
  icrcOfLocalPacket,
  icrcOfRoceV2,
  LrhNext,
  parseIp,
  put16,
  put24,
  put32,
  put32le,
  rocePort,
  vcrc,
} from '../../src/wire/index.ts'

export interface PacketSpec {
  opcode: number
  destQp?: number
  psn?: number
  ackReq?: boolean
  payload?: number | Uint8Array
  /** Bytes of the extension headers, from the first behind the BTH. */
  extension?: Uint8Array
  source?: string
  destination?: string
  sourcePort?: number
  identification?: number
  tos?: number
  /** BTH byte 4. */
  ecn?: number
}

/** IP header to ICRC of RoCEv2; IPv4 or IPv6 as the addresses are. */
export function rocePacket(spec: PacketSpec): Uint8Array {
  const { source = '10.0.0.1', destination = '10.0.0.2', sourcePort = 0xc000, identification = 0, tos = 0 } = spec
  const from = parseIp(source)!
  const to = parseIp(destination)!
  const ip = from.length === 4 ? 20 : 40
  const body = transportPart(spec)
  const b = new Uint8Array(ip + 8 + body.length + 4)
  if (ip === 20) {
    b[0] = 0x45
    b[1] = tos
    put16(b, 2, b.length)
    put16(b, 4, identification)
    put16(b, 6, 0x4000)
    b[8] = 64
    b[9] = 17
    b.set(from, 12)
    b.set(to, 16)
    put16(b, 10, checksum(b, 20))
  } else {
    b[0] = 0x60 | (tos >> 4)
    b[1] = (tos & 15) << 4
    put16(b, 4, b.length - 40)
    b[6] = 17
    b[7] = 64
    b.set(from, 8)
    b.set(to, 24)
  }
  put16(b, ip, sourcePort)
  put16(b, ip + 2, rocePort)
  put16(b, ip + 4, b.length - ip)
  b.set(body, ip + 8)
  put32le(b, b.length - 4, icrcOfRoceV2(b, 0, ip + 8, b.length - 4))
  return b
}

export function ethernet(etherType: number, payload: Uint8Array, vlans: readonly number[] = []): Uint8Array {
  const b = new Uint8Array(14 + vlans.length * 4 + payload.length)
  b.set([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1])
  let at = 12
  for (const vlan of vlans) {
    put16(b, at, EtherType.vlan)
    put16(b, at + 2, vlan)
    at += 4
  }
  put16(b, at, etherType)
  b.set(payload, at + 2)
  return b
}

/** A whole Ethernet frame of RoCEv2. */
export function roceFrame(spec: PacketSpec, vlans: readonly number[] = []): Uint8Array {
  const packet = rocePacket(spec)
  return ethernet(packet[0]! >> 4 === 4 ? EtherType.ipv4 : EtherType.ipv6, packet, vlans)
}

/** Ethernet, IP and UDP. */
export const headersLength = { 4: 14 + 20 + 8, 6: 14 + 40 + 8 } as const

/** What a capture has of packets that a socket sends at once: the headers of the first, with the length of all. */
export function framesTogether(specs: readonly PacketSpec[], version: 4 | 6 = 4): Uint8Array {
  const at = headersLength[version]
  const frames = specs.map((spec, i) => roceFrame({ identification: i, ...spec }))
  const whole = Buffer.concat([frames[0]!.subarray(0, at), ...frames.map((frame) => frame.subarray(at))])
  const udp = at - 8
  if (version === 4) put16(whole, 14 + 2, whole.length - 14)
  else put16(whole, 14 + 4, whole.length - udp)
  put16(whole, udp + 4, whole.length - udp)
  return whole
}

/** GRH to ICRC: RoCEv1 behind Ethernet, InfiniBand behind an LRH. */
export function globalPacket(spec: PacketSpec): Uint8Array {
  const body = transportPart(spec)
  const b = new Uint8Array(Grh.length + body.length + 4)
  b[0] = 0x60
  put16(b, Grh.payloadLength, body.length + 4)
  b[Grh.nextHeader] = grhNextHeaderBth
  b[Grh.hopLimit] = 1
  b.set(parseIp(spec.source ?? 'fe80::1')!, Grh.sgid)
  b.set(parseIp(spec.destination ?? 'fe80::2')!, Grh.dgid)
  b.set(body, Grh.length)
  put32le(b, b.length - 4, icrcOfGlobalPacket(b, 0, b.length - 4))
  return b
}

/** LRH to VCRC. With `global` a GRH stands between LRH and BTH. */
export function infiniBandPacket(spec: PacketSpec, global = false): Uint8Array {
  const inner = global ? globalPacket(spec) : transportPart(spec)
  const b = new Uint8Array(8 + inner.length + (global ? 0 : 4) + 2)
  b[0] = 0x10
  b[1] = 0x20 | (global ? LrhNext.grh : LrhNext.bth)
  put16(b, 2, 7)
  put16(b, 4, (b.length - 2) / 4)
  put16(b, 6, 5)
  b.set(inner, 8)
  if (!global) put32le(b, b.length - 6, icrcOfLocalPacket(b, 0, b.length - 6))
  const crc = vcrc(b, 0, b.length - 2)
  b[b.length - 2] = crc
  b[b.length - 1] = crc >> 8
  return b
}

/** An ERF record (type 21 InfiniBand, 2 Ethernet) around a packet; `extensions` extension headers of eight bytes; a time in 2^-32 s. */
export function erfRecord(type: number, packet: Uint8Array, extensions = 0, time = 0n): Uint8Array {
  const pad = type === 2 ? 2 : 0
  const b = new Uint8Array(16 + extensions * 8 + pad + packet.length)
  new DataView(b.buffer).setBigUint64(0, time, true)
  b[8] = type | (extensions > 0 ? 0x80 : 0)
  put16(b, 10, b.length)
  put16(b, 14, packet.length)
  for (let i = 0; i < extensions; i++) b[16 + 8 * i] = i < extensions - 1 ? 0x85 : 0x05
  b.set(packet, b.length - packet.length)
  return b
}

/** RETH, for the `extension` of a packet. */
export function reth(va: number, rkey: number, length: number): Uint8Array {
  const b = new Uint8Array(16)
  put32(b, 0, Math.floor(va / 2 ** 32))
  put32(b, 4, va % 2 ** 32)
  put32(b, 8, rkey)
  put32(b, 12, length)
  return b
}

export function aeth(syndrome: number, msn: number): Uint8Array {
  const b = new Uint8Array(4)
  b[0] = syndrome
  put24(b, 1, msn)
  return b
}

/** QKey and source QP. */
export function deth(qkey: number, srcQp: number): Uint8Array {
  const b = new Uint8Array(8)
  put32(b, 0, qkey)
  put24(b, 5, srcQp)
  return b
}

/** BTH, extension headers, payload, pad. */
function transportPart({
  opcode,
  destQp = 0x11,
  psn = 0,
  ackReq = false,
  payload = 0,
  extension,
  ecn = 0,
}: PacketSpec) {
  const data = typeof payload === 'number' ? Uint8Array.from({ length: payload }, (_, i) => i) : payload
  const pad = -data.length & 3
  const headers = headerLength[opcode] || Bth.length
  const b = new Uint8Array(headers + data.length + pad)
  b[0] = opcode
  b[1] = 0x40 | (pad << 4)
  put16(b, 2, 0xffff)
  b[4] = ecn
  put24(b, 5, destQp)
  b[8] = ackReq ? 0x80 : 0
  put24(b, 9, psn)
  if (extension !== undefined) b.set(extension, Bth.length)
  b.set(data, headers)
  return b
}

export function checksum(b: Uint8Array, length: number): number {
  let sum = 0
  for (let at = 0; at < length; at += 2) if (at !== 10) sum += (b[at]! << 8) | b[at + 1]!
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}
