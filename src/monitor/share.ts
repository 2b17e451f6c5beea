/**
 * Distribution of packets to several observers, so that each follows whole connections: all packets between two hosts go to the same one,
 * in both directions. Packets that are not RDMA go to the first one, or to the one of their addresses.
 *
 * Pairs of hosts fall into buckets by a hash, and a bucket that is seen for the first time goes to the observer that has had the fewest
 * packets. So a small number of pairs is spread as evenly as possible; all instances have to see the same packets in the same order.
 */
import { type CapturedPacket, LinkType } from '../capture/index.ts'
import { Dissection, dissect, Kind, type TraceOptions } from '../trace/index.ts'
import { EtherType, Ipv4, u16, u32 } from '../wire/index.ts'

const ethernetLength = 14
const ipAt = ethernetLength
const etherTypeAt = 12
/** Number of buckets, a power of two. */
const buckets = 4096

export class Shares {
  /** Number of packets of each observer. */
  readonly #packets: Float64Array
  /** Observer of each bucket, counted from 1; 0 while it has had no packet. */
  readonly #takers = new Uint8Array(buckets)
  readonly #dissection: Dissection

  /** @param count number of observers, at most 255 */
  constructor(count: number, trace?: TraceOptions) {
    this.#packets = new Float64Array(count)
    this.#dissection = new Dissection(trace)
  }

  /** Returns the number of the observer that takes the packet, from 0. */
  of(packet: CapturedPacket): number {
    const { bytes, offset, length } = packet
    const isIpv4 = packet.linkType === LinkType.Ethernet && length >= ipAt + Ipv4.length
    // These are nearly all packets: they are not examined further.
    if (isIpv4 && u16(bytes, offset + etherTypeAt) === EtherType.ipv4)
      return this.#share(u32(bytes, offset + ipAt + Ipv4.source), u32(bytes, offset + ipAt + Ipv4.destination))
    const d = this.#dissection
    dissect(packet, d, false)
    if (d.kind === Kind.Other || d.ipVersion !== 6 || offset + length < d.ip + 40) return 0
    return this.#share(sumOf(bytes, d.ip + 8), sumOf(bytes, d.ip + 24))
  }

  /** Returns the same observer for either order of the addresses. */
  #share(a: number, b: number): number {
    let h = Math.imul(a ^ b, 0x9e3779b1) ^ Math.imul((a + b) | 0, 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 15), 0xc2b2ae35)
    const bucket = (h ^ (h >>> 13)) & (buckets - 1)
    if (this.#takers[bucket] === 0) this.#takers[bucket] = this.#idlest() + 1
    const taker = this.#takers[bucket]! - 1
    this.#packets[taker]!++
    return taker
  }

  #idlest(): number {
    let idlest = 0
    for (const [i, packets] of this.#packets.entries()) if (packets < this.#packets[idlest]!) idlest = i
    return idlest
  }
}

function sumOf(bytes: Uint8Array, at: number): number {
  let sum = 0
  for (let i = 0; i < 16; i += 4) sum = (Math.imul(sum, 31) + u32(bytes, at + i)) | 0
  return sum
}
