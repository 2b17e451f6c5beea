/**
 * The ICRC of RoCEv2: CRC-32 (0xedb88320, reflected) over 8 bytes of ones in place of an LRH, the IP and UDP headers with
 * the fields that routers change set to ones, and BTH, extension headers, payload and pad with byte 4 of the BTH set to ones.
 * It follows the pad, least significant byte first.
 *
 * All CRC state here is the register before the final inversion, as an int32. CRC is linear over XOR, which is used twice:
 *
 * - Headers of a flow differ in the length fields and the IPv4 identification only. The register after them is that of a
 *   header with zeros there, XOR the contributions of the bytes of the length and the identification, each from a table.
 * - A receiver on a UDP socket does not see the identification. If the received ICRC differs from the one computed with
 *   identification 0, the difference must be caused by some identification. Moved back over the bytes after the field
 *   (a multiplication by a power of x, known for each length), it is the identification itself, or a value that does not fit
 *   in 16 bits; then the packet is damaged.
 *
 * Source: InfiniBand Architecture Specification, volume 1, 7.8.1, and annex A17, 17.3.3.
 */
import { put16, put32 } from './bytes.ts'
import { contributions, crcUpdate, crcWord, crcWords, inverseOfZeroBytes, multiply } from './crc32.ts'
import { WireError } from './errors.ts'
import { Bth, Grh, Icrc, IpProtocol, Ipv4, Ipv6, ipv4DontFragment, Lrh, rocePort, Udp } from './headers.ts'

/** IBA CA17-22: the register after the eight bytes of ones that stand for an LRH. */
const afterLrh = crcWords(-1, -1, -1)

/** One direction of a RoCEv2 flow: the IP and UDP headers as far as the ICRC covers them. */
export class IcrcFlow {
  /** Register after the headers, with zeros for lengths and identification. */
  readonly #headers: number
  readonly #ipv4: boolean
  readonly #lengths: Int32Array

  /** Addresses of 4 or 16 bytes, both the same. IPv4 packets have DF set and no options, IPv6 packets no extensions. */
  constructor(source: Uint8Array, destination: Uint8Array, sourcePort: number, destinationPort: number = rocePort) {
    if (source.length !== destination.length || (source.length !== 4 && source.length !== 16))
      throw new WireError(
        'ERR_WIRE_VALUE',
        `IcrcFlow: addresses have 4 or 16 bytes, both the same; these have ${source.length} and ${destination.length}`,
      )
    this.#ipv4 = source.length === 4
    this.#lengths = this.#ipv4 ? ipv4Lengths : ipv6Lengths
    const b = maskedHeaders(source, destination, sourcePort, destinationPort)
    this.#headers = crcUpdate(afterLrh, b, 0, b.length)
  }

  /**
   * Returns the ICRC, unsigned, of the packet b[start, end): from the BTH to the end of the pad. `identification` is that of the
   * IPv4 header; IPv6 has none.
   */
  compute(b: Uint8Array, start: number, end: number, identification: number = 0): number {
    return ~this.#register(b, start, end, identification) >>> 0
  }

  /** Computes the ICRC and writes it at b[end, end + 4). */
  write(b: Uint8Array, start: number, end: number, identification: number = 0): void {
    const icrc = ~this.#register(b, start, end, identification)
    b[end] = icrc
    b[end + 1] = icrc >>> 8
    b[end + 2] = icrc >>> 16
    b[end + 3] = icrc >>> 24
  }

  /**
   * Checks the four bytes at `end` and returns the IPv4 identification for which they are correct (0 for IPv6), or -1 if there is
   * none. With IPv4 a damaged packet passes with probability 2^-16, since the identification is not known.
   */
  check(b: Uint8Array, start: number, end: number): number {
    const received = b[end]! | (b[end + 1]! << 8) | (b[end + 2]! << 16) | (b[end + 3]! << 24)
    const residue = ~received ^ this.#register(b, start, end, 0)
    if (residue === 0) return 0
    if (!this.#ipv4) return -1
    // IBA CA17-24 deviation: a packet with a wrong ICRC is dropped, over IPv4 except for one in 2^16: a UDP socket does
    // not provide the identification, which the ICRC covers, so that any is accepted.
    return identificationOf(residue, end - start)
  }

  #register(b: Uint8Array, start: number, end: number, identification: number): number {
    const table = this.#lengths
    const n = end - start
    const udp = n + Udp.length + Icrc.length
    const ip = this.#ipv4 ? udp + Ipv4.length : udp
    let r =
      this.#headers ^
      table[(ip >>> 8) & 255]! ^
      table[256 | (ip & 255)]! ^
      table[512 | ((udp >>> 8) & 255)]! ^
      table[768 | (udp & 255)]!
    if (identification !== 0 && this.#ipv4)
      r ^= identifications[(identification >>> 8) & 255]! ^ identifications[256 | (identification & 255)]!
    return afterPacket(r, b, start, end)
  }
}

/**
 * Returns the IPv4 identification that explains `residue`, the difference between the received ICRC and the one computed with
 * identification 0 over a packet of `n` bytes; -1 if there is none.
 */
export function identificationOf(residue: number, n: number): number {
  const back = multiply(residue, inverseFor(n))
  // A polynomial of degree below 16 is the field's two bytes; the first has the higher powers, the lower bits here.
  if ((back & 0xffff) !== 0) return -1
  return ((back >>> 8) & 0xff00) | (back >>> 24)
}

/**
 * Returns the ICRC of a RoCEv2 packet as it is in a frame, with any values in its IP header: `ip` is the offset of the IPv4 or
 * IPv6 header, `bth` that of the BTH, `end` that of the end of the pad. Options and extension headers are covered unmasked.
 */
export function icrcOfRoceV2(b: Uint8Array, ip: number, bth: number, end: number): number {
  const udp = bth - Udp.length
  const r = b[ip]! >>> 4 === 4 ? afterIpv4(b, ip, udp) : afterIpv6(b, ip, udp)
  const headers = crcWords(r, word(b, udp), word(b, udp + Udp.udpLength) | 0xffff0000)
  return ~afterPacket(headers, b, bth, end) >>> 0
}

/** Returns the ICRC of a packet with a GRH at `grh`: RoCEv1, and InfiniBand between subnets. `end` is the end of the pad. */
export function icrcOfGlobalPacket(b: Uint8Array, grh: number, end: number): number {
  return ~afterPacket(afterIpv6(b, grh, grh + Grh.length), b, grh + Grh.length, end) >>> 0
}

/** Returns the ICRC of an InfiniBand packet without GRH: the LRH at `lrh` is covered except for its virtual lane. */
export function icrcOfLocalPacket(b: Uint8Array, lrh: number, end: number): number {
  const r = crcWords(-1, word(b, lrh) | 0xf0, word(b, lrh + 4))
  return ~afterPacket(r, b, lrh + Lrh.length, end) >>> 0
}

/** Returns the register after BTH, extension headers, payload and pad. The result for a packet without a complete BTH is undefined. */
function afterPacket(r: number, b: Uint8Array, start: number, end: number): number {
  if (end - start < Bth.length) return crcUpdate(r, b, start, end)
  return crcUpdate(crcWords(r, word(b, start), word(b, start + 4) | 0xff), b, start + 8, end)
}

function afterIpv4(b: Uint8Array, ip: number, end: number): number {
  let r = crcWords(afterLrh, word(b, ip) | 0xff00, word(b, ip + 4))
  r = crcWords(r, word(b, ip + 8) | 0xffff00ff, word(b, ip + 12))
  r = crcWord(r, word(b, ip + 16))
  return end === ip + Ipv4.length ? r : crcUpdate(r, b, ip + Ipv4.length, end)
}

function afterIpv6(b: Uint8Array, ip: number, end: number): number {
  const r = crcWords(afterLrh, word(b, ip) | 0xffffff0f, word(b, ip + 4) | 0xff000000)
  return crcUpdate(r, b, ip + 8, end)
}

function word(b: Uint8Array, at: number): number {
  return b[at]! | (b[at + 1]! << 8) | (b[at + 2]! << 16) | (b[at + 3]! << 24)
}

/** IBA CA17-22: IP and UDP headers with zeros for lengths and identification, and ones for what the ICRC does not cover. */
function maskedHeaders(source: Uint8Array, destination: Uint8Array, sourcePort: number, port: number): Uint8Array {
  const ip = source.length === 4 ? Ipv4 : Ipv6
  const b = new Uint8Array(ip.length + Udp.length)
  if (source.length === 4) {
    b[Ipv4.versionIhl] = 0x45
    b[Ipv4.tos] = 0xff
    put16(b, Ipv4.fragment, ipv4DontFragment)
    b[Ipv4.ttl] = 0xff
    b[Ipv4.protocol] = IpProtocol.udp
    put16(b, Ipv4.checksum, 0xffff)
  } else {
    put32(b, Ipv6.versionTclassFlow, 0x6fffffff)
    b[Ipv6.nextHeader] = IpProtocol.udp
    b[Ipv6.hopLimit] = 0xff
  }
  b.set(source, ip.source)
  b.set(destination, ip.destination)
  put16(b, ip.length + Udp.sourcePort, sourcePort)
  put16(b, ip.length + Udp.destinationPort, port)
  put16(b, ip.length + Udp.checksum, 0xffff)
  return b
}

/** Returns the contributions of a field of two bytes to the register after the headers: 256 entries for each byte. */
function field(offset: number, headers: number): Int32Array {
  const table = new Int32Array(512)
  table.set(contributions(headers - offset - 1), 0)
  table.set(contributions(headers - offset - 2), 256)
  return table
}

/** Returns the tables of `ipLength` and of the UDP length, one after the other. */
function lengthsTable(ipLength: number, ipHeader: number): Int32Array {
  const headers = ipHeader + Udp.length
  const table = new Int32Array(1024)
  table.set(field(ipLength, headers), 0)
  table.set(field(ipHeader + Udp.udpLength, headers), 512)
  return table
}

const ipv4Lengths = lengthsTable(Ipv4.totalLength, Ipv4.length)
const ipv6Lengths = lengthsTable(Ipv6.payloadLength, Ipv6.length)
const identifications = field(Ipv4.identification, Ipv4.length + Udp.length)

/** Bytes of the headers after the identification, and the four that a CRC-32 adds. */
const behindIdentification = Ipv4.length - Ipv4.identification - 2 + Udp.length + 4
/** Inverses by the number of words in a packet; 0, which is not a power of x, marks an entry that is not computed yet. */
const inverses = new Int32Array(65536 / 4)

function inverseFor(n: number): number {
  if (n & 3 || n >= 65536) return inverseOfZeroBytes(n + behindIdentification)
  const known = inverses[n >> 2]!
  if (known !== 0) return known
  const computed = inverseOfZeroBytes(n + behindIdentification)
  inverses[n >> 2] = computed
  return computed
}
