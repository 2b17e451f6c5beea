/** The frame of node-types whose samples come in the event loop, to an inbox, and go out in frames. */
import type { Format, NodeCommon, ParsedNode, SettingsReader } from '../../index.ts'
import { inboxSamples } from './inbox.ts'
import { carries } from './settings.ts'

interface InboxNodeOptions {
  /** Settings and format of the node. */
  readonly settings: SettingsReader
  readonly format: Format
  /** Directions of the node; false for one that its settings leave out. */
  readonly reads?: boolean
  readonly writes?: boolean
  readonly needs?: ParsedNode['needs']
}

/** Makes such a node: one thread has both directions. */
export function inboxNode({ signals }: NodeCommon, start: ParsedNode['start'], options: InboxNodeOptions): ParsedNode {
  const { settings, format, reads = true, writes = true, needs } = options
  const check = carries(settings, format)
  return {
    signals,
    reads,
    writes,
    splits: false,
    keeps: inboxSamples,
    // It has codecs for any format that its settings have, used or not.
    check: (known) => check(known, { in: reads, out: writes }),
    ...(needs && { needs }),
    start,
  }
}
