/** `verbena trace show`: packet after packet, with what the whole capture tells about each. */
import type { CapturedPacket, CaptureSource, Damage } from '../capture/index.ts'
import { Dissection, dissect, type TraceOptions } from './dissect.ts'
import type { Filter } from './filter.ts'
import { readAhead } from './look-ahead.ts'
import { type Row, rowOf } from './row.ts'
import { Verdict } from './verdict.ts'

/** Which packets are shown. */
export interface ShowOptions extends TraceOptions {
  filter?: Filter
  /** Ends after so many rows. */
  limit?: number
}

/** How many packets were read and shown, and the damage of the file. */
export interface ShowResult {
  packets: number
  shown: number
  format: string | undefined
  damage: readonly Damage[]
  damageCount: number
}

/**
 * Hands each packet that the filter lets through to `onRow`, with what it was made of, valid until that returns. A file is read twice at once, so that the first packets of a
 * connection know what later ones tell about it; what comes through a pipe is read once.
 */
export async function showCapture(
  source: CaptureSource,
  onRow: (row: Row, packet: CapturedPacket, d: Dissection) => void,
  options: ShowOptions = {},
): Promise<ShowResult> {
  const { filter, limit = Number.POSITIVE_INFINITY } = options
  const d = new Dissection(options)
  const v = new Verdict()
  let shown = 0
  if (limit <= 0) return { packets: 0, shown, format: undefined, damage: [], damageCount: 0 }
  const parser = await readAhead(
    source,
    (packet, analysis) => {
      dissect(packet, d, true)
      analysis.packet(packet, d, v)
      const row = rowOf(packet, d, v, analysis)
      if (filter !== undefined && !filter(row)) return undefined
      onRow(row, packet, d)
      return ++shown < limit
    },
    options,
  )
  const { damage, format, packets } = parser
  return { packets, shown, format, damage: damage.list, damageCount: damage.count }
}
