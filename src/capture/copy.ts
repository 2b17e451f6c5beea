/** Writes packets of a capture that is being read into another one: formats, link types and interfaces stay the same. */
import type { CapturedPacket, InterfaceInfo } from './packet.ts'
import type { CaptureSink } from './sink.ts'
import { type CaptureWriter, PcapWriter } from './write-pcap.ts'
import { PcapngWriter } from './write-pcapng.ts'

/** Format of a copy. */
export interface CaptureCopyOptions {
  format: 'pcap' | 'pcapng'
  /** Flag for pcap only: time stamps in nanoseconds. Default: true. */
  nanoseconds?: boolean
}

/** Error of a pcap file, which has one link type for all packets; a capture with several needs pcapng. */
export class LinkTypeError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_CAPTURE_LINK_TYPE'
}

/**
 * Writes packets of one capture into another, in its format; an interface is described before its first packet. Times and lengths
 * stay the same.
 */
export class CaptureCopy {
  /** Number of packets written so far. */
  written = 0
  /** Number of these packets whose time differs from the source, since a pcap file cannot hold it. */
  get unfitTimes(): number {
    return this.#writer instanceof PcapWriter ? this.#writer.unfitTimes : 0
  }

  readonly #sink: CaptureSink
  readonly #format: 'pcap' | 'pcapng'
  readonly #nanoseconds: boolean
  #writer: CaptureWriter | undefined
  #linkType = -1
  /** Interface numbers of the written file, by those of the source. */
  readonly #interfaces: number[] = []

  constructor(sink: CaptureSink, { format, nanoseconds = true }: CaptureCopyOptions) {
    this.#sink = sink
    this.#format = format
    this.#nanoseconds = nanoseconds
  }

  /** Writes a packet, with its own time unless another is given. `known`: interfaces of the source so far. Throws a LinkTypeError. */
  packet(
    packet: CapturedPacket,
    known: readonly InterfaceInfo[],
    seconds: number = packet.seconds,
    nanoseconds: number = packet.nanoseconds,
  ): void {
    const { bytes, offset, length, originalLength } = packet
    const id = this.#format === 'pcapng' ? this.#interface(packet, known) : this.#onlyInterface(packet)
    this.#writer!.packet(bytes, offset, length, seconds, nanoseconds, originalLength, id)
    this.written++
  }

  /** Writes buffered bytes; a file without packets is a capture, too. Closes the sink. */
  close(): void {
    this.#writer ??=
      this.#format === 'pcapng'
        ? new PcapngWriter(this.#sink, { application: 'verbena' })
        : new PcapWriter(this.#sink, { nanoseconds: this.#nanoseconds })
    this.#writer.close()
  }

  #interface(packet: CapturedPacket, known: readonly InterfaceInfo[]): number {
    this.#writer ??= new PcapngWriter(this.#sink, { application: 'verbena' })
    const writer = this.#writer as PcapngWriter
    for (let next = this.#interfaces.length; next < known.length; next++) {
      const { name, description, linkType, snapLength } = known[next]!
      const named = { ...(name !== undefined && { name }), ...(description !== undefined && { description }) }
      // Packets keep their cut and are not cut again.
      this.#interfaces.push(writer.addInterface({ linkType, ...named, snapLength: Math.max(0, snapLength) }))
    }
    return this.#interfaces[packet.interfaceId]!
  }

  #onlyInterface({ linkType, number }: CapturedPacket): number {
    if (this.#writer === undefined) {
      this.#linkType = linkType
      this.#writer = new PcapWriter(this.#sink, { linkType, nanoseconds: this.#nanoseconds })
    } else if (linkType !== this.#linkType)
      throw new LinkTypeError(
        `packet ${number} has another link type than those before: a pcap file has only one; write pcapng`,
      )
    return 0
  }
}
