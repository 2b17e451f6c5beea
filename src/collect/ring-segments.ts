/** Frames of a ring that hold several RoCEv2 packets with one header; the kernel reports the length of each packet. */
import { CapturedPacket, LinkType } from '../capture/index.ts'
import { RingPacket } from '../memory/index.ts'
import { Datagrams, Dissection } from '../trace/index.ts'

export class RingSegments {
  readonly #datagrams = new Datagrams()
  readonly #dissection: Dissection
  readonly #whole = new CapturedPacket()
  readonly #one = new RingPacket()

  constructor(udpPorts: readonly number[]) {
    this.#dissection = new Dissection({ decodeAs: new Map(udpPorts.map((port) => [port, 'roce'])) })
    this.#whole.linkType = LinkType.Ethernet
  }

  /** Passes on each packet, or the whole frame if it cannot be split; returns false as soon as the handler does. */
  each(bytes: Uint8Array, frame: RingPacket, onPacket: (bytes: Uint8Array, packet: RingPacket) => boolean): boolean {
    const whole = this.#whole
    whole.bytes = bytes
    whole.offset = frame.offset
    whole.length = frame.length
    whole.originalLength = frame.originalLength
    const count = this.#datagrams.cut(whole, this.#dissection, frame.segmentBytes)
    if (count === 1) return onPacket(bytes, frame)
    const one = Object.assign(this.#one, frame)
    one.offset = 0
    one.segmentBytes = 0
    for (let i = 0; i < count; i++) {
      const packet = this.#datagrams.at(i)
      one.length = packet.length
      one.originalLength = packet.originalLength
      if (!onPacket(packet.bytes, one)) return false
    }
    return true
  }
}
