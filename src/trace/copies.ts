/**
 * Detection of packets that a capture contains more than once: a mirror of both directions of a port, `tcpdump -i any` (each packet once
 * for each device that it passes), two ports of a switch or two hosts in one file. A retransmission is not a copy: a requester waits before
 * it retransmits a packet, and the retransmission passes the same places as the packet did.
 *
 *     places     interface, direction and time to live, of a cooked capture the device. A packet passes each once: one that comes from a place that
 *                has not seen it is a copy, if that is within 30 ms; adapters repeat at 67 ms and later (their usual timeouts)
 *     identity   BTH, IP identification and ICRC, which covers the payload and all headers but those that routers change; of a packet that was cut,
 *                its first bytes in the place of the ICRC
 *     moment     from a place that has seen it, within 3 µs: the unit of the ACK timeout is 4.096 µs, and adapters send CNPs 4 µs apart. Within
 *                100 µs where the sender gives each packet another identification
 *
 * The last 2,048 packets are remembered, each in 32 bytes, in their order; a table of 4,096 finds them. That costs some 60 ns a packet, a
 * sixth of what `info` takes.
 */
import { type CapturedPacket, LinkType } from '../capture/index.ts'
import { Bth, Ipv4, Ipv6, Udp, u16, u32 } from '../wire/index.ts'
import { type Dissection, Kind } from './dissect.ts'

/** Note that is shown for a capture that contains copies. */
export const copiesText = 'captured at several places, or by a mirror of both directions'

const otherPlaceNs = 30e6
const sameMomentNs = 3000
const sameIdentificationNs = 100_000

const remembered = 2048
const headBits = 12
/** Maximum length of a chain of packets with one head; packets after these are not examined. */
const longestChain = 16
/** Maximum number of bytes that stand for the ICRC of a cut packet. */
const mostPrefix = 28
/** Maximum number of packets that are examined to find out if their sender increments the identification. */
const mostAsked = 64

/**
 * Layout of an entry, in words: its time is the fifth and sixth, as a double. `place` is the first place; further ones are in `#places`.
 */
const Entry = { words: 8, identity: 0, psn: 1, qp: 2, place: 3, number: 6, chain: 7 } as const
const timeOf = 2

export class Copies {
  readonly #words = new Int32Array(remembered * Entry.words)
  readonly #times = new Float64Array(this.#words.buffer)
  /** Number, from 1, of the packet that was remembered last for each hash. */
  readonly #heads = new Int32Array(1 << headBits)
  /** Places after the first, of packets that passed several places. */
  readonly #places = new Map<number, number[]>()
  #next = 1
  #firstSeconds = -1

  /** Returns the number of the packet that this one is a copy of; 0 if it is not a copy, or if the capture has no times. */
  originalOf(packet: CapturedPacket, d: Dissection): number {
    if (!packet.hasTime) return 0
    if (this.#firstSeconds < 0) this.#firstSeconds = packet.seconds
    const timeNs = (packet.seconds - this.#firstSeconds) * 1e9 + packet.nanoseconds
    const b = packet.bytes
    const { bth, end, ip } = d
    // The headers of RoCEv1 and InfiniBand have no identification: it is left out.
    const isV4 = d.ipVersion === 4
    const word =
      d.cut || end < bth + Bth.length
        ? prefix(packet, bth)
        : b[end]! | (b[end + 1]! << 8) | (b[end + 2]! << 16) | (b[end + 3]! << 24)
    const psn = d.psn | (d.opcode << 24)
    // The identification is combined with the QP, so that one comparison covers both.
    const qp = d.destQp ^ (isV4 ? (b[ip + Ipv4.identification]! << 24) ^ (b[ip + Ipv4.identification + 1]! << 16) : 0)
    const words = this.#words
    const hash = Math.imul(word ^ psn, 0x9e3779b1) >>> (32 - headBits)
    const head = this.#heads[hash]!
    if (head > 0 && this.#next - head <= remembered) {
      const found = this.#find(head, word, psn, qp)
      if (found > 0) return this.#judge(found, packet, d, timeNs)
    }
    const at = (this.#next & (remembered - 1)) * Entry.words
    words[at] = word
    words[at + Entry.psn] = psn
    words[at + Entry.qp] = qp
    words[at + Entry.place] = packet.linkType === LinkType.Ethernet ? plainPlace(packet, d) : placeOf(packet, d)
    this.#times[(at >> 1) + timeOf] = timeNs
    words[at + Entry.number] = packet.number
    words[at + Entry.chain] = head
    this.#heads[hash] = this.#next
    if (++this.#next === restartAt) this.#restart()
    return 0
  }

  /** Returns the identical packet among those with this head; 0 if there is none. */
  #find(head: number, identity: number, psn: number, qp: number): number {
    const words = this.#words
    let from = head
    for (let walked = 0; walked < longestChain && from > 0 && this.#next - from <= remembered; walked++) {
      const at = (from & (remembered - 1)) * Entry.words
      if (words[at] === identity && words[at + Entry.psn] === psn && words[at + Entry.qp] === qp) return from
      from = words[at + Entry.chain]!
    }
    return 0
  }

  /** Returns the number of the original if this packet is a copy of the identical one that was found; 0 if it was retransmitted. */
  #judge(found: number, packet: CapturedPacket, d: Dissection, timeNs: number): number {
    const words = this.#words
    const at = (found & (remembered - 1)) * Entry.words
    const apartNs = Math.abs(timeNs - this.#times[(at >> 1) + timeOf]!)
    const number = words[at + Entry.number]!
    const place = packet.linkType === LinkType.Ethernet ? plainPlace(packet, d) : placeOf(packet, d)
    if (this.#passes(found, at, place)) {
      if (apartNs < sameMomentNs || (apartNs < sameIdentificationNs && this.#counts(found, packet, d))) return number
    } else if (apartNs < otherPlaceNs) return number
    this.#times[(at >> 1) + timeOf] = timeNs
    words[at + Entry.number] = packet.number
    words[at + Entry.place] = place
    this.#places.delete(found)
    return 0
  }

  /** True if this place has seen the packet of this entry before; otherwise the place is recorded. */
  #passes(found: number, at: number, place: number): boolean {
    if (this.#words[at + Entry.place] === place) return true
    const others = this.#places.get(found)
    if (others === undefined) {
      if (this.#places.size >= remembered) this.#places.delete(this.#places.keys().next().value!)
      this.#places.set(found, [place])
      return false
    }
    if (others.includes(place)) return true
    others.push(place)
    return false
  }

  /** True if the sender gives its packets different identifications (some senders use one for all): one of its last packets has another. */
  #counts(found: number, { bytes: b }: CapturedPacket, d: Dissection): boolean {
    if (d.ipVersion !== 4) return false
    const words = this.#words
    const own = u16(b, d.ip + Ipv4.identification)
    const most = Math.min(this.#next - 1, remembered)
    for (let back = 1; back <= most && back <= mostAsked; back++) {
      const from = this.#next - back
      if (from === found) continue
      const qp = words[(from & (remembered - 1)) * Entry.words + Entry.qp]!
      if (((qp ^ d.destQp) & 0xffff) !== 0) continue
      if ((qp ^ d.destQp) >>> 16 !== own) return true
    }
    return false
  }

  /** Resets the table, so that numbers stay small integers. */
  #restart(): void {
    this.#heads.fill(0)
    this.#places.clear()
    this.#next = 1
  }
}

const restartAt = 2 ** 30

/** Returns the place where a packet was recorded, as far as the capture contains it: equal numbers are one place. */
function plainPlace({ bytes: b, interfaceId, direction }: CapturedPacket, d: Dissection): number {
  const place = (interfaceId << 10) | (direction << 8)
  return d.kind === Kind.RoceV2 ? place | b[d.ip + (d.ipVersion === 4 ? Ipv4.ttl : Ipv6.hopLimit)]! : place
}

/** Returns the same for captures that have the device or the port of the card in each packet. */
function placeOf(packet: CapturedPacket, d: Dissection): number {
  const { bytes: b, offset, length, linkType } = packet
  const place = plainPlace(packet, d)
  if (linkType === LinkType.LinuxSll2 && length >= 20) return mix(place, u32(b, offset + 4), b[offset + 10]!)
  if (linkType === LinkType.LinuxSll && length >= 16) return mix(place, u32(b, offset + 6), u16(b, offset))
  return linkType === LinkType.Erf ? mix(place, b[offset + 9]! & 3, 3) : place
}

function mix(a: number, b: number, c: number): number {
  return Math.imul(Math.imul(a ^ 0x2c1b3c6d, 0x297a2d39) ^ b, 0x85ebca6b) ^ c
}

/** Returns a substitute for an ICRC that was not captured: a hash of the captured part of the first headers and of the packet's length. */
function prefix({ bytes: b, offset, length, originalLength }: CapturedPacket, bth: number): number {
  let hash = originalLength
  const end = Math.min(offset + length, bth + mostPrefix)
  // It begins with the UDP header, which has the source port.
  for (let at = Math.max(offset, bth - Udp.length); at + 4 <= end; at += 4)
    hash = Math.imul(hash ^ u32(b, at), 0x01000193)
  return hash | 0
}
