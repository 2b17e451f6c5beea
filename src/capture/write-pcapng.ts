/** Writes pcapng files: several interfaces with names, link types and clocks of their own, comments and directions. */
import { blockType, byteOrderMagic, LinkType, optionCode } from './format.ts'
import { type CaptureSink, SinkBuffer } from './sink.ts'
import { unitsOfResolution } from './time-stamp.ts'
import type { CaptureWriter } from './write-pcap.ts'

/** Fields of the section header. */
export interface PcapngWriterOptions {
  littleEndian?: boolean
  hardware?: string
  os?: string
  /** Name of the writing program. */
  application?: string
  comment?: string
}

/** Fields of an Interface Description Block. */
export interface InterfaceOptions {
  /** Default: Ethernet. */
  linkType?: number
  name?: string
  description?: string
  /** Maximum captured length; 0 (the default): no limit. */
  snapLength?: number
  /** Resolution as in the option if_tsresol: n for units of 10^-n s, 128 + n for units of 2^-n s. Default: 9, nanoseconds. */
  resolution?: number
  /** Seconds that readers add to each time stamp; the writer subtracts them. */
  offsetSeconds?: number
}

/** Options of an Enhanced Packet Block. */
export interface PacketOptions {
  comment?: string
  direction?: 'inbound' | 'outbound'
  /** Number of packets lost between this and the previous one. */
  dropCount?: number
}

interface WrittenInterface {
  unitsPerSecond: number
  offsetSeconds: number
  snapLength: number
}

const utf8 = new TextEncoder()

/** Writes a pcapng file of one section. A packet needs an interface: call `addInterface` first. Throws RangeError without one. */
export class PcapngWriter implements CaptureWriter {
  readonly #out: SinkBuffer
  readonly #littleEndian: boolean
  readonly #interfaces: WrittenInterface[] = []

  constructor(sink: CaptureSink, options: PcapngWriterOptions = {}) {
    this.#out = new SinkBuffer(sink)
    this.#littleEndian = options.littleEndian ?? true
    const start = this.#open(blockType.sectionHeader, 28 + optionsSize(Object.values(options)))
    this.#u32(byteOrderMagic)
    this.#u16(1)
    this.#u16(0)
    // The section's length is not known in advance: -1.
    this.#u32(0xffffffff)
    this.#u32(0xffffffff)
    this.#text(optionCode.comment, options.comment)
    this.#text(optionCode.shbHardware, options.hardware)
    this.#text(optionCode.shbOs, options.os)
    this.#text(optionCode.shbUserAppl, options.application)
    this.#close(start, true)
  }

  /** Writes the description of an interface and returns its number, which each of its packets refers to. */
  addInterface(options: InterfaceOptions = {}): number {
    const { linkType = LinkType.Ethernet, snapLength = 0, resolution = 9, offsetSeconds = 0 } = options
    const start = this.#open(blockType.interfaceDescription, 64 + optionsSize([options.name, options.description]))
    this.#u16(linkType)
    this.#u16(0)
    this.#u32(snapLength)
    this.#text(optionCode.ifName, options.name)
    this.#text(optionCode.ifDescription, options.description)
    this.#option(optionCode.ifTsresol, 1)
    this.#out.bytes[this.#out.at] = resolution
    this.#out.at += 4
    if (offsetSeconds !== 0) {
      this.#option(optionCode.ifTsoffset, 8)
      this.#out.view.setBigInt64(this.#out.at, BigInt(offsetSeconds), this.#littleEndian)
      this.#out.at += 8
    }
    this.#close(start, true)
    return this.#interfaces.push({ unitsPerSecond: unitsOfResolution(resolution), offsetSeconds, snapLength }) - 1
  }

  packet(
    bytes: Uint8Array,
    offset: number,
    length: number,
    seconds: number,
    nanoseconds: number,
    originalLength: number = length,
    interfaceId = 0,
    options?: PacketOptions,
  ): void {
    const info = this.#interfaces[interfaceId]
    if (info === undefined) throw new RangeError(`no interface ${interfaceId}: call addInterface first`)
    const captured = info.snapLength === 0 ? length : Math.min(length, info.snapLength)
    const padded = (captured + 3) & ~3
    const extra = options === undefined ? 0 : optionsSize([options.comment]) + 24
    const start = this.#open(blockType.enhancedPacket, 32 + padded + extra)
    this.#u32(interfaceId)
    this.#time(info, seconds, nanoseconds)
    this.#u32(captured)
    this.#u32(originalLength)
    const out = this.#out
    out.bytes.set(bytes.subarray(offset, offset + captured), out.at)
    out.bytes.fill(0, out.at + captured, out.at + padded)
    out.at += padded
    if (options !== undefined) this.#packetOptions(options)
    this.#close(start, options !== undefined)
  }

  /**
   * Writes the statistics of an interface at the end of its capture: packets that passed its filter, and those of them that were lost.
   * `timeMs`: milliseconds since 1970.
   */
  statistics(interfaceId: number, timeMs: number, counts: { received: number; dropped: number }): void {
    const info = this.#interfaces[interfaceId]
    if (info === undefined) throw new RangeError(`no interface ${interfaceId}: call addInterface first`)
    const start = this.#open(blockType.interfaceStatistics, 64)
    this.#u32(interfaceId)
    const seconds = Math.floor(timeMs / 1000)
    this.#time(info, seconds, Math.round((timeMs - seconds * 1000) * 1e6))
    for (const [code, count] of [
      [optionCode.isbIfRecv, counts.received],
      [optionCode.isbIfDrop, counts.dropped],
    ] as const) {
      this.#option(code, 8)
      this.#out.view.setBigUint64(this.#out.at, BigInt(count), this.#littleEndian)
      this.#out.at += 8
    }
    this.#close(start, true)
  }

  flush(): void {
    this.#out.flush()
  }

  close(): void {
    this.flush()
    this.#out.sink.close?.()
  }

  #packetOptions({ comment, direction, dropCount }: PacketOptions): void {
    this.#text(optionCode.comment, comment)
    if (direction !== undefined) {
      this.#option(optionCode.epbFlags, 4)
      this.#u32(direction === 'inbound' ? 1 : 2)
    }
    if (dropCount !== undefined) {
      this.#option(optionCode.epbDropCount, 8)
      this.#out.view.setBigUint64(this.#out.at, BigInt(dropCount), this.#littleEndian)
      this.#out.at += 8
    }
  }

  /** Writes the two words of a time stamp, computed without bigint for the usual resolutions. */
  #time({ unitsPerSecond, offsetSeconds }: WrittenInterface, seconds: number, nanoseconds: number): void {
    const whole = seconds - offsetSeconds
    if (unitsPerSecond !== 1e6 && unitsPerSecond !== 1e9) {
      const units = BigInt(unitsPerSecond)
      // Rounded up if the unit is too coarse for nanoseconds: reading rounds down.
      const fraction = (BigInt(nanoseconds) * units + 999_999_999n) / 1_000_000_000n
      const exact = unitsPerSecond > 1e9 ? fraction : (BigInt(nanoseconds) * units) / 1_000_000_000n
      const count = BigInt(whole) * units + exact
      this.#u32(Number((count >> 32n) & 0xffffffffn))
      this.#u32(Number(count & 0xffffffffn))
      return
    }
    const fraction = Math.floor(nanoseconds / (1e9 / unitsPerSecond))
    const lowSeconds = whole % 65536
    const highSeconds = (whole - lowSeconds) / 65536
    // count = highSeconds · units · 2^16 + lowSeconds · units + fraction, each product below 2^53
    const upper = highSeconds * unitsPerSecond
    const lower = lowSeconds * unitsPerSecond + fraction
    const low = (upper % 65536) * 65536 + (lower % 0x1_0000_0000)
    this.#u32(Math.floor(upper / 65536) + Math.floor(lower / 0x1_0000_0000) + Math.floor(low / 0x1_0000_0000))
    this.#u32(low % 0x1_0000_0000)
  }

  #open(type: number, atMost: number): number {
    this.#out.reserve(atMost)
    const start = this.#out.at
    this.#u32(type)
    this.#u32(0)
    return start
  }

  #close(start: number, hasOptions: boolean): void {
    if (hasOptions) this.#u32(optionCode.end)
    const total = this.#out.at + 4 - start
    this.#u32(total)
    this.#out.view.setUint32(start + 4, total, this.#littleEndian)
  }

  #text(code: number, text: string | undefined): void {
    if (text === undefined) return
    const bytes = utf8.encode(text).subarray(0, 0xffff)
    this.#option(code, bytes.length)
    const out = this.#out
    const padded = (bytes.length + 3) & ~3
    out.bytes.set(bytes, out.at)
    out.bytes.fill(0, out.at + bytes.length, out.at + padded)
    out.at += padded
  }

  #option(code: number, length: number): void {
    this.#u16(code)
    this.#u16(length)
    // Values of up to eight bytes are written by the caller; their padding is zero.
    this.#out.bytes.fill(0, this.#out.at, this.#out.at + Math.min((length + 3) & ~3, 8))
  }

  #u16(value: number): void {
    this.#out.view.setUint16(this.#out.at, value, this.#littleEndian)
    this.#out.at += 2
  }

  #u32(value: number): void {
    this.#out.view.setUint32(this.#out.at, value, this.#littleEndian)
    this.#out.at += 4
  }
}

/** Returns an upper bound of the size of options: a UTF-16 unit becomes at most three bytes. */
function optionsSize(texts: readonly unknown[]): number {
  let size = 8
  for (const text of texts) if (typeof text === 'string') size += 8 + text.length * 3
  return size
}
