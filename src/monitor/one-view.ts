/**
 * Of a packet that is seen at several interfaces, or both when it is sent and when it comes, one copy: what two hosts exchange is taken from
 * the interface at which it was seen first, and of each direction those copies that go the way of the first one. When that interface has had
 * nothing of them for a second, the next one that has is the first again: its process may have ended, and another one have its address.
 *
 * So all times of a connection are those of one clock at one end, as if packets were captured at one place.
 */
import { type CapturedPacket, Direction, type PacketDirection } from '../capture/index.ts'
import { Ethernet, EtherType, Ipv4, Ipv6, u16 } from '../wire/index.ts'
import { timeOf } from './packet-time.ts'

interface Pair {
  interfaceId: number
  /** Of the latest packet that was taken, in milliseconds since 1970; −1 if none had a time. */
  lastMs: number
  /** From the lower address to the higher one, and back. */
  readonly directions: [PacketDirection, PacketDirection]
}

/** Of more pairs than that, the first ones are forgotten: they are taken from where they are seen next. */
const mostPairs = 65_536
/** So long another interface waits, in milliseconds of the packets' time: retransmissions of a peer that lives come sooner. */
const silenceMs = 1000
const text = new TextDecoder('latin1')

export class OneView {
  readonly #pairs = new Map<string, Pair>()

  /** Packets that were not taken. */
  leftOut = 0

  /** Whether it is the copy that counts. Frames without an IP header all are. */
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
      // The copy of a receiver that was late: another sender would show an outbound one first.
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
