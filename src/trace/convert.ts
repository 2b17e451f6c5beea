/** `verbena trace convert`: the packets of one capture in another file format. */
import {
  type CaptureSink,
  type CaptureSource,
  type CaptureWriter,
  type Damage,
  type PacketHandler,
  PcapngWriter,
  PcapWriter,
} from '../capture/index.ts'
import { Dissection, dissect, type TraceOptions } from './dissect.ts'
import type { Filter } from './filter.ts'
import { type AnalysedHandler, readAhead } from './look-ahead.ts'
import { rowOf } from './row.ts'
import { Verdict } from './verdict.ts'

export interface ConvertOptions extends TraceOptions {
  format: 'pcap' | 'pcapng'
  /** pcap only. Default: true. */
  nanoseconds?: boolean
  filter?: Filter
}

export interface ConvertResult {
  packets: number
  written: number
  /** Of the source; undefined if it is no capture. */
  format: string | undefined
  damage: readonly Damage[]
  damageCount: number
}

/** pcap has one link type for the whole file; a capture that has several needs pcapng. */
class LinkTypeError extends Error {
  override readonly name = 'UsageError'
}

/** Reads to the end, and closes the sink; abandons it if that fails, or if the source is no capture. */
export async function convertCapture(
  source: CaptureSource,
  sink: CaptureSink,
  options: ConvertOptions,
): Promise<ConvertResult> {
  try {
    return await convert(source, sink, options)
  } catch (error) {
    sink.abandon?.()
    throw error
  }
}

async function convert(source: CaptureSource, sink: CaptureSink, options: ConvertOptions): Promise<ConvertResult> {
  const { format, filter, nanoseconds = true } = options
  const d = new Dissection(options)
  const v = new Verdict()
  let writer: CaptureWriter | undefined
  let linkType = -1
  let written = 0
  /** Interfaces of the source, in the numbers of the written file. */
  const interfaces: number[] = []
  const write: PacketHandler = (packet, { interfaces: known }) => {
    let id = 0
    if (format === 'pcapng') {
      writer ??= new PcapngWriter(sink, { application: 'verbena' })
      for (let next = interfaces.length; next < known.length; next++) {
        const { name, description, linkType: type, snapLength } = known[next]!
        const named = { ...(name !== undefined && { name }), ...(description !== undefined && { description }) }
        // Packets are cut as they were, not again.
        interfaces.push(
          (writer as PcapngWriter).addInterface({ linkType: type, ...named, snapLength: Math.max(0, snapLength) }),
        )
      }
      id = interfaces[packet.interfaceId]!
    } else if (writer === undefined) {
      linkType = packet.linkType
      writer = new PcapWriter(sink, { linkType, nanoseconds })
    } else if (packet.linkType !== linkType)
      throw new LinkTypeError(
        `packet ${packet.number} has another link type than those before: a pcap file has only one; write pcapng`,
      )
    const { bytes, offset, length, seconds, nanoseconds: rest, originalLength } = packet
    writer.packet(bytes, offset, length, seconds, rest, originalLength, id)
    written++
    return undefined
  }
  const ifWanted: AnalysedHandler = (packet, analysis, parser) => {
    dissect(packet, d, true)
    analysis.packet(packet, d, v)
    return filter!(rowOf(packet, d, v, analysis)) ? write(packet, parser) : undefined
  }
  const parser = filter === undefined ? await source.read(write, options) : await readAhead(source, ifWanted, options)
  const { packet, format: read, damage } = parser
  const result = { packets: packet.number, written, format: read, damage: damage.list, damageCount: damage.count }
  if (read === undefined) {
    sink.abandon?.()
    return result
  }
  writer ??=
    format === 'pcapng' ? new PcapngWriter(sink, { application: 'verbena' }) : new PcapWriter(sink, { nanoseconds })
  writer.close()
  return result
}
