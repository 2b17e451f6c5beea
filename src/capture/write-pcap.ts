/** Writes pcap files, which every tool reads. One link type for the whole file. */
import { LinkType, pcapHeaderLength, pcapMagic, pcapRecordLength } from './format.ts'
import { type CaptureSink, SinkBuffer } from './sink.ts'

/** Methods of both writers. */
export interface CaptureWriter {
  /**
   * Writes one packet, bytes[offset .. offset + length), with the time in seconds since 1970 and nanoseconds.
   * @param originalLength length on the wire, if the packet is cut
   * @param interfaceId of `addInterface`; a pcap file has only interface 0
   */
  packet(
    bytes: Uint8Array,
    offset: number,
    length: number,
    seconds: number,
    nanoseconds: number,
    originalLength?: number,
    interfaceId?: number,
  ): void
  /** Passes all buffered bytes to the sink. */
  flush(): void
  /** Flushes and closes the sink. */
  close(): void
}

/** Fields of the header of a pcap file. */
export interface PcapWriterOptions {
  /** Default: Ethernet. */
  linkType?: number
  /** Flag: time stamps in nanoseconds. Default: true; the oldest readers support only microseconds. */
  nanoseconds?: boolean
  littleEndian?: boolean
  /** Default: 262144. */
  snapLength?: number
}

/** Latest time, in seconds since 1970: 2106-02-07 06:28:15 UTC. */
const latest = 0xffffffff

/** Writes a pcap file. Times that do not fit into its 32 bits of seconds are set to the nearest that does, and are counted. */
export class PcapWriter implements CaptureWriter {
  readonly #out: SinkBuffer
  readonly #littleEndian: boolean
  readonly #nano: boolean
  readonly #snapLength: number
  /** Number of packets whose time does not fit in 32 bits of seconds: they have the nearest that does. */
  unfitTimes = 0

  constructor(sink: CaptureSink, options: PcapWriterOptions = {}) {
    const { linkType = LinkType.Ethernet, nanoseconds = true, littleEndian = true, snapLength = 262_144 } = options
    this.#out = new SinkBuffer(sink)
    this.#littleEndian = littleEndian
    this.#nano = nanoseconds
    this.#snapLength = snapLength
    const { view } = this.#out
    view.setUint32(0, nanoseconds ? pcapMagic.nano : pcapMagic.micro, littleEndian)
    view.setUint16(4, 2, littleEndian)
    view.setUint16(6, 4, littleEndian)
    view.setUint32(8, 0)
    view.setUint32(12, 0)
    view.setUint32(16, snapLength, littleEndian)
    view.setUint32(20, linkType, littleEndian)
    this.#out.at = pcapHeaderLength
  }

  packet(
    bytes: Uint8Array,
    offset: number,
    length: number,
    seconds: number,
    nanoseconds: number,
    originalLength: number = length,
  ): void {
    const out = this.#out
    const captured = Math.min(length, this.#snapLength)
    out.reserve(pcapRecordLength + captured)
    const { view, at } = out
    if (seconds < 0 || seconds > latest) {
      this.unfitTimes++
      seconds = seconds < 0 ? 0 : latest
      nanoseconds = seconds === 0 ? 0 : 999_999_999
    }
    view.setUint32(at, seconds, this.#littleEndian)
    view.setUint32(at + 4, this.#nano ? nanoseconds : Math.floor(nanoseconds / 1000), this.#littleEndian)
    view.setUint32(at + 8, captured, this.#littleEndian)
    view.setUint32(at + 12, originalLength, this.#littleEndian)
    out.bytes.set(bytes.subarray(offset, offset + captured), at + pcapRecordLength)
    out.at = at + pcapRecordLength + captured
  }

  flush(): void {
    this.#out.flush()
  }

  close(): void {
    this.flush()
    this.#out.sink.close?.()
  }
}
