/**
 * RoCEv2 packets of a capture, read by code of the tests' own: classic pcap in the byte order of this host, Ethernet,
 * IPv4 without options or IPv6 without extensions. It shares nothing with `src/`, so that it can be a judge.
 */
import { crc32 } from 'node:zlib'
import { ipv6Words } from './addresses.ts'

export interface Packet {
  /** Number in the capture, from 1. */
  number: number
  /** Of its arrival, microseconds. */
  atUs: number
  source: string
  destination: string
  opcode: number
  destQpn: number
  psn: number
  /** Name of a message of the communication manager. */
  cm: string | null
  /** Of the BTH and all that follows it, the ICRC included. */
  length: number
  /** Null if its ICRC and lengths are right, else what is wrong. */
  fault: string | null
}

const pcapMagic = 0xa1b2c3d4
const icrcBytes = 4
const bthBytes = 12
const udpBytes = 8
const dethBytes = 8
const madBytes = 256
const sendOnlyUd = 0x64
const communicationClass = 7
/** By attribute ID, from 0x10 on. */
const cmNames = ['REQ', 'MRA', 'REJ', 'REP', 'RTU', 'DREQ', 'DREP', 'SIDR_REQ', 'SIDR_REP', 'LAP', 'APR']

export function readPackets(file: Buffer): Packet[] {
  if (file.length < 24 || file.readUInt32LE(0) !== pcapMagic) throw new Error('not a little-endian pcap file')
  if (file.readUInt32LE(20) !== 1) throw new Error('not a capture of Ethernet')
  const packets: Packet[] = []
  for (let offset = 24; offset + 16 <= file.length; ) {
    const captured = file.readUInt32LE(offset + 8)
    const original = file.readUInt32LE(offset + 12)
    const frame = file.subarray(offset + 16, offset + 16 + captured)
    if (captured !== original || frame.length !== captured) throw new Error('a packet of the capture is cut off')
    packets.push(readFrame(frame, packets.length + 1, file.readUInt32LE(offset) * 1e6 + file.readUInt32LE(offset + 4)))
    offset += 16 + captured
  }
  return packets
}

function readFrame(frame: Buffer, number: number, atUs: number): Packet {
  const v6 = frame.readUInt16BE(12) === 0x86dd
  const ip = frame.subarray(14)
  const ipBytes = v6 ? 40 : 20
  const total = v6 ? 40 + ip.readUInt16BE(4) : ip.readUInt16BE(2)
  const packet = ip.subarray(0, total)
  const bth = packet.subarray(ipBytes + udpBytes)
  const faults: string[] = []
  if (packet.length !== total) faults.push(`the IP header says ${total} bytes, ${packet.length} are there`)
  const udpLength = packet.readUInt16BE(ipBytes + 4)
  if (udpLength !== total - ipBytes) faults.push(`the UDP header says ${udpLength} bytes of ${total - ipBytes}`)
  if (bth.length < bthBytes + icrcBytes) faults.push('too short for a BTH')
  else if (bth.readUInt32LE(bth.length - icrcBytes) !== icrcOf(packet, ipBytes)) faults.push('ICRC')
  if (bth.length % 4 !== 0) faults.push('not padded to a multiple of four bytes')
  return {
    number,
    atUs,
    source: v6 ? ipv6Text(ip, 8) : ip.subarray(12, 16).join('.'),
    destination: v6 ? ipv6Text(ip, 24) : ip.subarray(16, 20).join('.'),
    opcode: bth[0] ?? -1,
    destQpn: bth.length >= bthBytes ? bth.readUIntBE(5, 3) : -1,
    psn: bth.length >= bthBytes ? bth.readUIntBE(9, 3) : -1,
    cm: cmName(bth),
    length: bth.length,
    fault: faults.length === 0 ? null : faults.join('; '),
  }
}

/** Of a datagram to queue pair 1 whose MAD is of the class for connections. */
function cmName(bth: Buffer): string | null {
  if (bth[0] !== sendOnlyUd || bth.length !== bthBytes + dethBytes + madBytes + icrcBytes) return null
  const mad = bth.subarray(bthBytes + dethBytes)
  if (bth.readUIntBE(5, 3) !== 1 || mad[1] !== communicationClass) return null
  return cmNames[mad.readUInt16BE(16) - 0x10] ?? null
}

/** The CRC over 64 ones and the packet, with ones in place of all that may change on the way. */
function icrcOf(packet: Buffer, ipBytes: number): number {
  const masked = Buffer.concat([Buffer.alloc(8, 0xff), packet.subarray(0, packet.length - icrcBytes)])
  const ip = 8
  const udp = ip + ipBytes
  if (ipBytes === 20) {
    masked[ip + 1] = 0xff // type of service
    masked[ip + 8] = 0xff // time to live
    masked.fill(0xff, ip + 10, ip + 12) // header checksum
  } else {
    masked[ip] = masked[ip]! | 0x0f // traffic class and flow label
    masked.fill(0xff, ip + 1, ip + 4)
    masked[ip + 7] = 0xff // hop limit
  }
  masked.fill(0xff, udp + 6, udp + 8) // checksum
  masked[udp + udpBytes + 4] = 0xff // FECN, BECN, reserved
  return crc32(masked)
}

/** An IPv6 address without a zone as 16 bytes. */
function ipv6Bytes(address: string): Buffer {
  return Buffer.from(ipv6Words(address).join(''), 'hex')
}

/** The ICRC, as it stands in the packet, of `bth` (all from the BTH to the pad) in a datagram between two IPv6 addresses. */
export function icrcOverIpv6(source: string, destination: string, sourcePort: number, bth: Buffer): Buffer {
  const packet = Buffer.alloc(40 + udpBytes + bth.length + icrcBytes)
  const udpLength = packet.length - 40
  packet[0] = 0x60
  packet.writeUInt16BE(udpLength, 4)
  packet[6] = 17
  ipv6Bytes(source).copy(packet, 8)
  ipv6Bytes(destination).copy(packet, 24)
  packet.writeUInt16BE(sourcePort, 40)
  packet.writeUInt16BE(4791, 42)
  packet.writeUInt16BE(udpLength, 44)
  bth.copy(packet, 40 + udpBytes)
  const icrc = Buffer.alloc(icrcBytes)
  icrc.writeUInt32LE(icrcOf(packet, 40))
  return icrc
}

function ipv6Text(packet: Buffer, offset: number): string {
  const words = Array.from({ length: 8 }, (_, i) => packet.readUInt16BE(offset + 2 * i).toString(16))
  return new URL(`http://[${words.join(':')}]`).hostname.slice(1, -1)
}

/**
 * Requests of RC that were sent again though nobody asked for it and the timer of `timeoutMs` cannot have expired: first
 * packets of a repetition that follow too soon after the same packet. Packets of one sender.
 */
export function repeatedTooSoon(packets: readonly Packet[], timeoutMs: number): Packet[] {
  const sentUs = new Map<string, number>()
  const repeating = new Map<number, boolean>()
  return packets.filter(({ opcode, destQpn, psn, atUs }) => {
    if (opcode > lastRequest) return false
    const key = `${destQpn} ${psn}`
    const before = sentUs.get(key)
    const first = before !== undefined && repeating.get(destQpn) !== true
    sentUs.set(key, atUs)
    repeating.set(destQpn, before !== undefined)
    return first && atUs - before < timeoutMs * 1000
  })
}

/** RC SEND and WRITE have opcodes up to this one. */
const lastRequest = 0x0b
