/** `verbena trace show`: packet after packet, with the information that the whole capture adds to each. */
import type { CapturedPacket, CaptureSource, Damage } from '../capture/index.ts'
import { Dissection, dissect, type TraceOptions } from './dissect.ts'
import type { Filter } from './filter.ts'
import { readAhead } from './look-ahead.ts'
import { type Row, rowOf } from './row.ts'
import { Verdict } from './verdict.ts'

/** Options that select the packets to show. */
export interface ShowOptions extends TraceOptions {
  filter?: Filter
  /** Maximum number of rows, after which the reading ends. */
  limit?: number
}

/** Number of packets that were read and shown, and the damage of the file. */
export interface ShowResult {
  packets: number
  shown: number
  format: string | undefined
  damage: readonly Damage[]
  damageCount: number
}

/**
 * Passes each packet that matches the filter to `onRow`, with the objects that the row was made of, valid until that returns. A file is
 * read twice at once, so that the first packets of a connection are shown with what later ones reveal about it; a pipe is read once.
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
