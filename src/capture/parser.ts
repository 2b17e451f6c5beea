/**
 * Reads a capture as a stream of bytes: `room` and `filled` take bytes in, `next` returns one packet after the other.
 * It detects the format, never throws on the bytes that it reads, and records damage instead.
 */
import type { CapturedBlock } from './copy-blocks.ts'
import { DamageLog } from './damage.ts'
import { blockType, pcapMagic } from './format.ts'
import { CapturedPacket, type InterfaceInfo } from './packet.ts'
import { PcapReader } from './pcap.ts'
import { PcapngReader } from './pcapng.ts'
import { ByteWindow, Step, type StepValue } from './window.ts'

export { CapturedPacket, Direction, type InterfaceInfo, type PacketDirection, unreadLinkTypes } from './packet.ts'
export { Step } from './window.ts'

/** Format of a capture file. */
export type CaptureFormat = 'pcap' | 'pcapng'

/**
 * Reads a capture that arrives in chunks: `push` or `room` and `filled` take bytes, `next` reads the next packet into `packet`, `end`
 * marks the end of the bytes.
 */
export class CaptureParser {
  /** Packet of the last `Step.Packet`. */
  readonly packet: CapturedPacket = new CapturedPacket()
  readonly damage: DamageLog = new DamageLog()
  /** Function that receives each block of a pcapng file that is not a packet, before the packets after it. */
  onBlock: ((block: CapturedBlock) => void) | undefined
  /** Format of the file; undefined until its first bytes have arrived, and if it is not a capture file. */
  format: CaptureFormat | undefined
  readonly #window: ByteWindow
  #reader: PcapReader | PcapngReader | undefined

  constructor(windowSize?: number) {
    this.#window = new ByteWindow(windowSize)
  }

  get interfaces(): readonly InterfaceInfo[] {
    return this.#reader?.interfaces ?? []
  }

  get littleEndian(): boolean {
    return this.#reader?.littleEndian ?? true
  }

  /** Number of packets so far: the number of the last one may be greater (see `CapturedPacket`). */
  get packets(): number {
    return this.packet.number - (this.#reader instanceof PcapngReader ? this.#reader.others : 0)
  }

  /** Number of bytes consumed so far. */
  get fileOffset(): number {
    return this.#window.fileOffset
  }

  /** Returns space for at least `minimum` more bytes; moves unread bytes, so the last packet's bytes are no longer valid. */
  room(minimum: number): Uint8Array {
    return this.#window.room(minimum)
  }

  filled(count: number): void {
    this.#window.filled(count)
  }

  /** Marks the end of the bytes. */
  end(): void {
    this.#window.ended = true
  }

  push(chunk: Uint8Array): void {
    this.#window.room(chunk.length).set(chunk)
    this.#window.filled(chunk.length)
  }

  next(): StepValue {
    if (this.#reader === undefined) {
      const step = this.#open()
      if (step !== Step.Packet) return step
    }
    return this.#reader!.next()
  }

  #open(): StepValue {
    const window = this.#window
    if (!window.has(4)) {
      if (!window.ended) return Step.More
      const length = window.limit - window.start
      if (this.damage.count === 0)
        this.damage.add(0, 1, length === 0 ? 'the file is empty' : `no capture file: only ${length} bytes`)
      return Step.End
    }
    const { view, start } = window
    const { packet, damage } = this
    if (view.getUint32(start, true) === blockType.sectionHeader) {
      this.format = 'pcapng'
      const reader = new PcapngReader(window, packet, damage)
      reader.onBlock = this.onBlock
      this.#reader = reader
      return Step.Packet
    }
    for (const little of [true, false]) {
      const word = view.getUint32(start, little)
      if (word === pcapMagic.micro || word === pcapMagic.nano || word === pcapMagic.modified) {
        this.format = 'pcap'
        this.#reader = new PcapReader(window, packet, damage, little)
        return Step.Packet
      }
    }
    if (damage.count === 0) {
      const word = view.getUint32(start).toString(16).padStart(8, '0')
      damage.add(0, 1, `neither pcap nor pcapng: the file begins with ${word}`)
    }
    window.start = window.limit
    return Step.End
  }
}
