/**
 * `verbena trace convert`: the packets of one capture in another file. From pcapng to pcapng all blocks are as they were; pcap can hold
 * only bytes, link type and time.
 */
import {
  BlockCopy,
  CaptureCopy,
  type CaptureCopyOptions,
  type CapturedBlock,
  type CaptureSink,
  type CaptureSource,
  type Damage,
  extrasOf,
  type PacketHandler,
} from '../capture/index.ts'
import { Dissection, dissect, type TraceOptions } from './dissect.ts'
import type { Filter } from './filter.ts'
import { type AnalysedHandler, readAhead } from './look-ahead.ts'
import { rowOf } from './row.ts'
import { Verdict } from './verdict.ts'

/** Options of `convertCapture`. */
export interface ConvertOptions extends TraceOptions, CaptureCopyOptions {
  filter?: Filter
}

/** Counts of what was written, and of what could not be. */
export interface ConvertResult {
  packets: number
  written: number
  /** Packets whose time differs from the source's, since a pcap file can hold the years from 1970 to 2106 only. */
  unfitTimes: number
  /** Parts of the source that the written format cannot hold, as text, and those that their authors do not want copied. */
  leftOut: readonly string[]
  /** Format of the source; undefined if it is not a capture. */
  format: string | undefined
  damage: readonly Damage[]
  damageCount: number
}

/** Converts the source to its end, and closes the sink; abandons the sink if that fails, or if the source is not a capture. */
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
  const { filter } = options
  const d = new Dissection(options)
  const v = new Verdict()
  const copy = new CaptureCopy(sink, options)
  const extras = new Set<string>()
  let blocks: BlockCopy | undefined
  const onBlock = (block: CapturedBlock): void => {
    if (options.format === 'pcap') extrasOf(block, extras)
    else {
      blocks ??= new BlockCopy(sink)
      blocks.block(block)
    }
  }
  const write: PacketHandler = (packet, { format, interfaces, littleEndian }) => {
    if (format === 'pcapng' && options.format === 'pcapng') {
      blocks ??= new BlockCopy(sink)
      blocks.packet(packet, littleEndian)
    } else {
      if (format === 'pcapng') extrasOf(packet, extras, littleEndian)
      copy.packet(packet, interfaces)
    }
    return undefined
  }
  const ifWanted: AnalysedHandler = (packet, analysis, parser) => {
    dissect(packet, d, true)
    analysis.packet(packet, d, v)
    return filter!(rowOf(packet, d, v, analysis)) ? write(packet, parser) : undefined
  }
  const reading = { ...options, onBlock }
  const parser = filter === undefined ? await source.read(write, reading) : await readAhead(source, ifWanted, reading)
  const { packets, format: read, damage } = parser
  if (blocks !== undefined && blocks.leftOut > 0) extras.add('custom blocks that are not to be copied')
  const result = {
    packets,
    written: blocks?.written ?? copy.written,
    unfitTimes: copy.unfitTimes,
    leftOut: [...extras],
    format: read,
    damage: damage.list,
    damageCount: damage.count,
  }
  if (read === undefined) {
    sink.abandon?.()
    return result
  }
  if (blocks === undefined) copy.close()
  else blocks.close()
  return result
}
