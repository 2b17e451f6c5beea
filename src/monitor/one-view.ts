/**
 * Selection of one copy of a packet that is seen at several interfaces, or both when it is sent and when it arrives: packets between two
 * hosts are taken from the interface at which they were seen first, and for each direction, the copies with the capture direction of the
 * first one. When that interface has had no packet of them for a second, the next interface that has one becomes the first: the process of
 * the old one may have ended, and another one may have its address.
 *
 * So all times of a connection are those of one clock at one end, as if packets were captured at one place.
 */
import { type CapturedPacket, Direction, type PacketDirection } from '../capture/index.ts'
import { Ethernet, EtherType, Ipv4, Ipv6, u16 } from '../wire/index.ts'
import { timeOf } from './packet-time.ts'

interface Pair {
  interfaceId: number
  /** Time of the latest packet that was taken, in milliseconds since 1970; −1 if none had a time. */
  lastMs: number
  /** Capture directions of packets from the lower address to the higher one, and back. */
  readonly directions: [PacketDirection, PacketDirection]
}

/** Maximum number of pairs; beyond it, the first ones are forgotten: they are taken from the interface where they are seen next. */
const mostPairs = 65_536
/** Time for which another interface waits, in milliseconds of the packets' time: retransmissions of a live peer come sooner. */
const silenceMs = 1000
const text = new TextDecoder('latin1')

export class OneView {
  readonly #pairs = new Map<string, Pair>()

  /** Number of packets that were not taken. */
  leftOut = 0

  /** True if this is the copy that counts. Frames without an IP header are all taken. */
  takes(packet: CapturedPacket): boolean {
    const isTaken = this.#judge(packet)
    if (!isTaken) this.leftOut++
    return isTaken
  }

  #judge(packet: CapturedPacket): boolean {
    const { bytes, offset, length, interfaceId, direction } = packet
    if (length < Ethernet.length + Ipv4.length) return true
    const ip = offset + Ethernet.length
    const etherType = u16(bytes, offset + Ethernet.etherType)
    const [at, size] =
      etherType === EtherType.ipv4
        ? [ip + Ipv4.source, 4]
        : etherType === EtherType.ipv6 && length >= Ethernet.length + Ipv6.length
          ? [ip + Ipv6.source, 16]
          : [0, 0]
    if (size === 0) return true
    const source = text.decode(bytes.subarray(at, at + size))
    const destination = text.decode(bytes.subarray(at + size, at + 2 * size))
    const isUp = source <= destination
    const pair = this.#pairOf(isUp ? source + destination : destination + source, interfaceId)
    const ms = timeOf(packet)
    if (pair.interfaceId !== interfaceId) {
      if (pair.lastMs < 0 || ms <= pair.lastMs + silenceMs) return false
      // It is the copy of a receiver that was late: another sender would show an outbound one first.
      if (pair.directions[isUp ? 0 : 1] === Direction.Outbound && direction === Direction.Inbound) return false
      pair.interfaceId = interfaceId
      pair.directions.fill(Direction.Unknown)
    }
    const way = isUp ? 0 : 1
    if (pair.directions[way] === Direction.Unknown) pair.directions[way] = direction
    if (pair.directions[way] !== direction) return false
    pair.lastMs = Math.max(pair.lastMs, ms)
    return true
  }

  #pairOf(name: string, interfaceId: number): Pair {
    let pair = this.#pairs.get(name)
    if (pair === undefined) {
      if (this.#pairs.size >= mostPairs) this.#pairs.delete(this.#pairs.keys().next().value!)
      pair = { interfaceId, lastMs: -1, directions: [Direction.Unknown, Direction.Unknown] }
      this.#pairs.set(name, pair)
    }
    return pair
  }
}
