/** Writes packets of a capture that is being read into another one: formats, link types and interfaces as they were. */
import type { CapturedPacket, InterfaceInfo } from './packet.ts'
import type { CaptureSink } from './sink.ts'
import { type CaptureWriter, PcapWriter } from './write-pcap.ts'
import { PcapngWriter } from './write-pcapng.ts'

/** How a copy is written. */
export interface CaptureCopyOptions {
  format: 'pcap' | 'pcapng'
  /** pcap only. Default: true. */
  nanoseconds?: boolean
}

/** pcap has one link type for the whole file; a capture that has several needs pcapng. */
export class LinkTypeError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'ERR_CAPTURE_LINK_TYPE'
}

/**
 * Writes packets of one capture into another, in its format; interfaces are described when their first packet comes. Times and lengths
 * stay.
 */
export class CaptureCopy {
  /** Packets so far. */
  written = 0
  /** Of these, how many have another time than in the source, since a pcap file cannot hold that. */
  get unfitTimes(): number {
    return this.#writer instanceof PcapWriter ? this.#writer.unfitTimes : 0
  }

  readonly #sink: CaptureSink
  readonly #format: 'pcap' | 'pcapng'
  readonly #nanoseconds: boolean
  #writer: CaptureWriter | undefined
  #linkType = -1
  /** Interfaces of the source, in the numbers of the written file. */
  readonly #interfaces: number[] = []

  constructor(sink: CaptureSink, { format, nanoseconds = true }: CaptureCopyOptions) {
    this.#sink = sink
    this.#format = format
    this.#nanoseconds = nanoseconds
  }

  /** `known`: the interfaces of the source so far. Throws a LinkTypeError. The time is that of the packet unless another is given. */
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

  /** Writes what is left; a file without packets, too, is a capture. Closes the sink. */
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
      // Packets are cut as they were, not again.
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
