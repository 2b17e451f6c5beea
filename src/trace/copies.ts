/**
 * Packets that a capture has more than once: a mirror of both directions of a port, `tcpdump -i any` (each packet once for each device that it
 * passes), two ports of a switch or two hosts in one file. What is sent again is no copy: a requester that repeats a packet waits, and the
 * repetition passes the same places as the packet did.
 *
 *     places     interface, MAC addresses, time to live. A packet passes each once: one that comes from a place that has not seen it is a copy, if that is
 *                within 30 ms; adapters repeat at 67 ms and later (their usual timeouts)
 *     identity   BTH, IP identification and ICRC, which covers the payload and all headers but those that routers change; of a packet that was cut,
 *                its first bytes in the place of the ICRC
 *     moment     from a place that has seen it, within 3 µs: the unit of the ACK timeout is 4.096 µs, and adapters send CNPs 4 µs apart. Within
 *                100 µs where the sender gives each packet another identification
 *
 * The last 4,096 packets are remembered, each in 64 bytes, one behind the other; a table finds them.
 */
import { type CapturedPacket, LinkType } from '../capture/index.ts'
import { Bth, Ethernet, Ipv4, Ipv6, Udp, u16, u32 } from '../wire/index.ts'
import { type Dissection, Kind } from './dissect.ts'
import { Tunnel } from './tunnels.ts'

/** What a capture says that has some. */
export const copiesText = 'captured at several places, or by a mirror of both directions'

const otherPlaceNs = 30e6
const sameMomentNs = 3000
const sameIdentificationNs = 100_000

const remembered = 4096
const headBits = 14
/** Packets that share a head: more are not looked at. */
const longestChain = 16
/** Of the bytes that stand for the ICRC of a cut packet. */
const mostPrefix = 28
const icrcLength = 4

/** Of an entry, in words. */
const Entry = { words: 16, identity: 0, psn: 1, qp: 2, identification: 3, chain: 8, count: 9, places: 10 } as const
const mostPlaces = Entry.words - Entry.places
/** Of an entry, in doubles. */
const Entry64 = { doubles: Entry.words / 2, time: 2, number: 3 } as const

/** Senders whose identifications are watched, and bits of what is kept of each. */
const senders = 1024
const isCounting = 0x1_0000

export class Copies {
  readonly #words = new Int32Array(remembered * Entry.words)
  readonly #doubles = new Float64Array(this.#words.buffer)
  /** By hash: the number of the last packet that was remembered there, from 1. */
  readonly #heads = new Int32Array(1 << headBits)
  #next = 1
  #firstSeconds = -1
  /** Of each sender a hash, and its last identification. */
  readonly #senders = new Int32Array(2 * senders)

  /** The number of the packet that this one is a copy of; 0 if it is none, or if the capture has no times. */
  originalOf(packet: CapturedPacket, d: Dissection): number {
    if (!packet.hasTime) return 0
    if (this.#firstSeconds < 0) this.#firstSeconds = packet.seconds
    const timeNs = (packet.seconds - this.#firstSeconds) * 1e9 + packet.nanoseconds
    const b = packet.bytes
    const { bth } = d
    const identity = d.cut || d.end < bth + Bth.length ? prefix(packet, bth) : u32(b, d.end) | 0
    const psn = d.psn | (d.opcode << 24)
    const qp = d.destQp
    const isV4 = d.ipVersion === 4
    const identification = isV4 ? u16(b, d.ip + Ipv4.identification) : 0
    const place = placeOf(packet, d)
    const hash = Math.imul(identity ^ (psn << 3) ^ (qp << 7), 0x9e3779b1) >>> (32 - headBits)
    const words = this.#words
    const doubles = this.#doubles
    const changes = isV4 && this.#isCounting(b, d, identification)
    let from = this.#heads[hash]!
    for (let walked = 0; walked < longestChain && from > 0 && this.#next - from <= remembered; walked++) {
      const at = (from & (remembered - 1)) * Entry.words
      if (
        words[at] === identity &&
        words[at + Entry.psn] === psn &&
        words[at + Entry.qp] === qp &&
        words[at + Entry.identification] === identification
      ) {
        const at64 = at / 2
        const apartNs = Math.abs(timeNs - doubles[at64 + Entry64.time]!)
        const number = doubles[at64 + Entry64.number]!
        if (this.#passes(at, place)) {
          if (apartNs < (changes ? sameIdentificationNs : sameMomentNs)) return number
        } else if (apartNs < otherPlaceNs) return number
        // It was sent again.
        doubles[at64 + Entry64.time] = timeNs
        doubles[at64 + Entry64.number] = packet.number
        words[at + Entry.count] = 1
        words[at + Entry.places] = place
        return 0
      }
      from = words[at + Entry.chain]!
    }
    const at = (this.#next & (remembered - 1)) * Entry.words
    words[at] = identity
    words[at + Entry.psn] = psn
    words[at + Entry.qp] = qp
    words[at + Entry.identification] = identification
    doubles[at / 2 + Entry64.time] = timeNs
    doubles[at / 2 + Entry64.number] = packet.number
    words[at + Entry.chain] = this.#heads[hash]!
    words[at + Entry.count] = 1
    words[at + Entry.places] = place
    this.#heads[hash] = this.#next
    if (++this.#next === restartAt) this.#restart()
    return 0
  }

  /** Has this place seen the packet of this entry? Now it has. */
  #passes(at: number, place: number): boolean {
    const words = this.#words
    const count = words[at + Entry.count]!
    for (let i = 0; i < count; i++) if (words[at + Entry.places + i] === place) return true
    if (count < mostPlaces) {
      words[at + Entry.places + count] = place
      words[at + Entry.count] = count + 1
    }
    return false
  }

  /** Does its sender give packets different identifications? Some have the same in all. */
  #isCounting(b: Uint8Array, d: Dissection, identification: number): boolean {
    const name = Math.imul(u32(b, d.ip + Ipv4.source) ^ (d.destQp << 8), 0x85ebca6b) | 1
    const at = ((name >>> 20) & (senders - 1)) * 2
    const all = this.#senders
    const known = all[at + 1]!
    if (all[at] !== name) {
      all[at] = name
      all[at + 1] = identification
      return false
    }
    if ((known & isCounting) === 0 && known !== identification) all[at + 1] = known | isCounting
    return (known & isCounting) !== 0
  }

  /** Numbers stay small integers. */
  #restart(): void {
    this.#heads.fill(0)
    this.#next = 1
  }
}

const restartAt = 2 ** 30

/** The place where a packet was recorded, as far as the capture tells: equal numbers are one place. */
function placeOf(
  { bytes: b, offset, length, linkType, interfaceId, direction }: CapturedPacket,
  d: Dissection,
): number {
  let place = (interfaceId << 2) | direction
  if (d.kind === Kind.RoceV2) place = (place << 8) | b[d.ip + (d.ipVersion === 4 ? Ipv4.ttl : Ipv6.hopLimit)]!
  // The headers of a tunnel differ from packet to packet.
  if (d.tunnel !== Tunnel.None) return mix(place, d.tunnel, 1)
  if (linkType === LinkType.Ethernet && length >= Ethernet.length)
    return mix(place, u32(b, offset), mix(u32(b, offset + 4), u32(b, offset + 8), 2))
  // Device and direction.
  if (linkType === LinkType.LinuxSll2 && length >= 20) return mix(place, u32(b, offset + 4), b[offset + 10]!)
  if (linkType === LinkType.LinuxSll && length >= 16) return mix(place, u32(b, offset + 6), u16(b, offset))
  // The port of the card.
  if (linkType === LinkType.Erf) return mix(place, b[offset + 9]! & 3, 3)
  return mix(place, 0, 4)
}

function mix(a: number, b: number, c: number): number {
  return Math.imul(Math.imul(a ^ 0x2c1b3c6d, 0x297a2d39) ^ b, 0x85ebca6b) ^ c
}

/** In the place of an ICRC that was not captured: what there is of the first headers, and how long the packet was. */
function prefix({ bytes: b, offset, length, originalLength }: CapturedPacket, bth: number): number {
  let hash = originalLength
  const end = Math.min(offset + length, bth + mostPrefix)
  // From the UDP header on, which has the source port.
  for (let at = Math.max(offset, bth - Udp.length); at + icrcLength <= end; at += 4)
    hash = Math.imul(hash ^ u32(b, at), 0x01000193)
  return hash | 0
}
