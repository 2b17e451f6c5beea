/**
 * Several RoCEv2 packets that the kernel handles as one. A sender passes up to 64 datagrams to it in one buffer (UDP_SEGMENT), and a
 * receiver gets them so (UDP_GRO). Where the adapter segments the buffer, or where it is never segmented (veth, lo), a capture on that host
 * contains it whole: one IP and UDP header, then the packets one after the other, all as long as the first; only the last one may be
 * shorter.
 *
 * A capture does not contain that length. But the first packet ends with its ICRC, after which another BTH begins: the segment length is
 * the one at which both fit.
 */
import { CapturedPacket } from '../capture/index.ts'
import {
  Bth,
  BthFlag,
  Ipv4,
  Ipv6,
  icrcOfRoceV2,
  ipv4Checksum,
  opcodeBits,
  put16,
  Udp,
  u16,
  u32le,
} from '../wire/index.ts'
import { type Dissection, dissect, IcrcState, Kind } from './dissect.ts'
import { Problem } from './problems.ts'
import { Tunnel } from './tunnels.ts'

const icrcLength = 4
const shortest = Bth.length + icrcLength
/** UDP_MAX_SEGMENTS of Linux. */
const mostDatagrams = 128
/**
 * Problems of a packet that is followed by more packets, if its ICRC was not checked. SENDs that are shorter than a packet together have
 * none.
 */
const tooLong = Problem.PlaceLength | Problem.NoPayload | Problem.OperandLength | Problem.DmaLength | Problem.MadLength
/** Maximum number of positions resembling a BTH of which the ICRC is computed: a payload may have been crafted to have many. */
const mostTries = 8

export class Datagrams {
  readonly #one = new CapturedPacket()
  #packet: CapturedPacket = this.#one
  /** Offsets in the first bytes of `#one`, which has the headers below the BTH. */
  #ip = 0
  #bth = 0
  #ipVersion = 0
  /** Offsets in the bytes of the packet. */
  #start = 0
  #end = 0
  #length = 0
  #identification = 0
  /** Difference between the identifications of two successive packets. */
  #step = 1

  /**
   * Returns the number of packets in the one that was dissected: 1, unless it cannot be a packet as it stands and consists of several. `at`
   * returns them until the next call.
   */
  split(packet: CapturedPacket, d: Dissection): number {
    const isStrange = d.icrc === IcrcState.Invalid || (d.icrc === IcrcState.Unknown && (d.problems & tooLong) !== 0)
    if (!isStrange || d.kind !== Kind.RoceV2 || d.cut || d.tunnel !== Tunnel.None) return 1
    const { bytes } = packet
    const { bth, end } = d
    const total = end + icrcLength - bth
    if (total < 2 * shortest) return 1
    this.#begin(packet, d)
    const pkey = u16(bytes, bth + Bth.pkey)
    let tries = 0
    for (let length = shortest; length <= total - shortest && tries < mostTries; length += 4) {
      const next = bth + length
      if (u16(bytes, next + Bth.pkey) !== pkey || !isBth(bytes, next)) continue
      if (length * mostDatagrams < total) continue
      tries++
      this.#length = length
      if (!this.#fits(0)) continue
      return this.#count(total)
    }
    return 1
  }

  /** Splits in the same way where the number of bytes of each packet, from BTH to ICRC, is known. */
  cut(packet: CapturedPacket, d: Dissection, length: number): number {
    dissect(packet, d, false)
    const total = d.end + icrcLength - d.bth
    if (d.kind !== Kind.RoceV2 || d.cut || d.tunnel !== Tunnel.None || d.end < d.bth || total <= length) return 1
    this.#begin(packet, d)
    this.#length = length
    return this.#count(total)
  }

  /** Dissects a packet and passes it to `take`; or each of those that it consists of, with `d` of each. */
  each(packet: CapturedPacket, d: Dissection, checkIcrc: boolean, take: (one: CapturedPacket) => void): void {
    dissect(packet, d, checkIcrc)
    const count = this.split(packet, d)
    if (count === 1) take(packet)
    else
      for (let i = 0; i < count; i++) {
        const one = this.at(i)
        dissect(one, d, checkIcrc)
        take(one)
      }
  }

  /** Returns the i-th of the packets, from 0, as it goes over a network, but for its UDP checksum, which is left out (0). */
  at(i: number): CapturedPacket {
    const one = this.#one
    const { bytes } = one
    const from = this.#start + i * this.#length
    const length = Math.min(this.#length, this.#end - from)
    const [ip, bth] = [this.#ip, this.#bth]
    if (this.#ipVersion === 4) {
      put16(bytes, ip + Ipv4.totalLength, bth - ip + length)
      put16(bytes, ip + Ipv4.identification, (this.#identification + i * this.#step) & 0xffff)
      put16(bytes, ip + Ipv4.checksum, 0)
      put16(bytes, ip + Ipv4.checksum, ipv4Checksum(bytes, ip, bth - Udp.length))
    } else put16(bytes, ip + Ipv6.payloadLength, bth - ip - Ipv6.length + length)
    put16(bytes, bth - Udp.length + Udp.udpLength, Udp.length + length)
    put16(bytes, bth - Udp.length + Udp.checksum, 0)
    bytes.set(this.#packet.bytes.subarray(from, from + length), bth)
    one.length = bth + length
    one.originalLength = one.length
    return one
  }

  /**
   * Returns the number of packets. Their identifications count up where one buffer was segmented; datagrams that were sent one by one and
   * coalesced by the receiver may all have the same. The first ICRC that is right for one of the two decides: each is computed twice at
   * most.
   */
  #count(total: number): number {
    const count = Math.ceil(total / this.#length)
    if (this.#ipVersion === 4)
      for (let i = 1; i < count; i++)
        for (const step of [1, 0]) {
          this.#step = step
          if (this.#fits(i)) return count
        }
    this.#step = 1
    return count
  }

  /** True if the ICRC of the i-th packet is right. */
  #fits(i: number): boolean {
    const { bytes, length } = this.at(i)
    const icrc = length - icrcLength
    return icrc >= this.#bth + Bth.length && icrcOfRoceV2(bytes, this.#ip, this.#bth, icrc) === u32le(bytes, icrc)
  }

  #begin(packet: CapturedPacket, { ip, ipVersion, bth, end }: Dissection): void {
    const one = this.#one
    const { offset, length } = packet
    const bytes = one.bytes.length >= length ? one.bytes : new Uint8Array(length)
    Object.assign(one, packet, { bytes, view: new DataView(bytes.buffer), offset: 0 })
    bytes.set(packet.bytes.subarray(offset, bth))
    this.#packet = packet
    this.#ip = ip - offset
    this.#bth = bth - offset
    this.#ipVersion = ipVersion
    this.#start = bth
    this.#end = end + icrcLength
    this.#identification = u16(packet.bytes, ip + Ipv4.identification)
    this.#step = 1
  }
}

/** True if a BTH may begin there: fields that have fixed values have them. */
function isBth(b: Uint8Array, at: number): boolean {
  return opcodeBits[b[at]!] !== 0 && (b[at + Bth.flags]! & BthFlag.tver) === 0 && (b[at + Bth.ackReq]! & 0x7f) === 0
}
