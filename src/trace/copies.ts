/**
 * Packets that a capture has more than once: a mirror of both directions of a port, `tcpdump -i any` (each packet once for each device that it
 * passes), two ports of a switch or two hosts in one file. What is sent again is no copy: a requester that repeats a packet waits, and the
 * repetition passes the same places as the packet did.
 *
 *     places     interface, direction and time to live, of a cooked capture the device. A packet passes each once: one that comes from a place that
 *                has not seen it is a copy, if that is within 30 ms; adapters repeat at 67 ms and later (their usual timeouts)
 *     identity   BTH, IP identification and ICRC, which covers the payload and all headers but those that routers change; of a packet that was cut,
 *                its first bytes in the place of the ICRC
 *     moment     from a place that has seen it, within 3 µs: the unit of the ACK timeout is 4.096 µs, and adapters send CNPs 4 µs apart. Within
 *                100 µs where the sender gives each packet another identification
 *
 * The last 2,048 packets are remembered, each in 32 bytes, one behind the other; a table of 4,096 finds them. That costs some 60 ns a packet, a
 * sixth of what `info` takes.
 */
import { type CapturedPacket, LinkType } from '../capture/index.ts'
import { Bth, Ipv4, Ipv6, Udp, u16, u32 } from '../wire/index.ts'
import { type Dissection, Kind } from './dissect.ts'

/** What a capture says that has some. */
export const copiesText = 'captured at several places, or by a mirror of both directions'

const otherPlaceNs = 30e6
const sameMomentNs = 3000
const sameIdentificationNs = 100_000

const remembered = 2048
const headBits = 12
/** Packets that share a head: more are not looked at. */
const longestChain = 16
/** Of the bytes that stand for the ICRC of a cut packet. */
const mostPrefix = 28
/** So many packets are asked whether their sender counts. */
const mostAsked = 64

/** Of an entry, in words: its time is the fifth and sixth, as a double. `place` is the first place, or where `#places` has several. */
const Entry = { words: 8, identity: 0, psn: 1, qp: 2, place: 3, number: 6, chain: 7 } as const
const timeOf = 2

export class Copies {
  readonly #words = new Int32Array(remembered * Entry.words)
  readonly #times = new Float64Array(this.#words.buffer)
  /** By hash: which packet was remembered last there, from 1. */
  readonly #heads = new Int32Array(1 << headBits)
  /** Of packets that passed several places, all of them but the first. */
  readonly #places = new Map<number, number[]>()
  #next = 1
  #firstSeconds = -1

  /** The number of the packet that this one is a copy of; 0 if it is none, or if the capture has no times. */
  originalOf(packet: CapturedPacket, d: Dissection): number {
    if (!packet.hasTime) return 0
    if (this.#firstSeconds < 0) this.#firstSeconds = packet.seconds
    const timeNs = (packet.seconds - this.#firstSeconds) * 1e9 + packet.nanoseconds
    const b = packet.bytes
    const { bth, end, ip } = d
    // Of RoCEv1 and InfiniBand, whose headers have no identification, it is left out.
    const isV4 = d.ipVersion === 4
    const word =
      d.cut || end < bth + Bth.length
        ? prefix(packet, bth)
        : b[end]! | (b[end + 1]! << 8) | (b[end + 2]! << 16) | (b[end + 3]! << 24)
    const psn = d.psn | (d.opcode << 24)
    // The identification is beside the QP, so that one comparison tells both.
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

  /** Of the packets with this head, the one that is the same; 0 if none is. */
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

  /** Is this packet a copy of that one, which is the same, or was it sent again? */
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

  /** Has this place seen the packet of this entry? Now it has. */
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

  /** Does its sender give packets different identifications? Some have the same in all. Of its last packets one would have another. */
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

  /** Numbers stay small integers. */
  #restart(): void {
    this.#heads.fill(0)
    this.#places.clear()
    this.#next = 1
  }
}

const restartAt = 2 ** 30

/** The place where a packet was recorded, as far as the capture tells: equal numbers are one place. */
function plainPlace({ bytes: b, interfaceId, direction }: CapturedPacket, d: Dissection): number {
  const place = (interfaceId << 10) | (direction << 8)
  return d.kind === Kind.RoceV2 ? place | b[d.ip + (d.ipVersion === 4 ? Ipv4.ttl : Ipv6.hopLimit)]! : place
}

/** The same of captures that have the device or the port of the card in each packet. */
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

/** In the place of an ICRC that was not captured: what there is of the first headers, and how long the packet was. */
function prefix({ bytes: b, offset, length, originalLength }: CapturedPacket, bth: number): number {
  let hash = originalLength
  const end = Math.min(offset + length, bth + mostPrefix)
  // From the UDP header on, which has the source port.
  for (let at = Math.max(offset, bth - Udp.length); at + 4 <= end; at += 4)
    hash = Math.imul(hash ^ u32(b, at), 0x01000193)
  return hash | 0
}
