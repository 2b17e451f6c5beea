/** `verbena trace convert`: the packets of one capture in another file format. */
import {
  CaptureCopy,
  type CaptureCopyOptions,
  type CaptureSink,
  type CaptureSource,
  type Damage,
  type PacketHandler,
} from '../capture/index.ts'
import { Dissection, dissect, type TraceOptions } from './dissect.ts'
import type { Filter } from './filter.ts'
import { type AnalysedHandler, readAhead } from './look-ahead.ts'
import { rowOf } from './row.ts'
import { Verdict } from './verdict.ts'

export interface ConvertOptions extends TraceOptions, CaptureCopyOptions {
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
  const { filter } = options
  const d = new Dissection(options)
  const v = new Verdict()
  const copy = new CaptureCopy(sink, options)
  const write: PacketHandler = (packet, { interfaces }) => {
    copy.packet(packet, interfaces)
    return undefined
  }
  const ifWanted: AnalysedHandler = (packet, analysis, parser) => {
    dissect(packet, d, true)
    analysis.packet(packet, d, v)
    return filter!(rowOf(packet, d, v, analysis)) ? write(packet, parser) : undefined
  }
  const parser = filter === undefined ? await source.read(write, options) : await readAhead(source, ifWanted, options)
  const { packet, format: read, damage } = parser
  const result = {
    packets: packet.number,
    written: copy.written,
    format: read,
    damage: damage.list,
    damageCount: damage.count,
  }
  if (read === undefined) {
    sink.abandon?.()
    return result
  }
  copy.close()
  return result
}
