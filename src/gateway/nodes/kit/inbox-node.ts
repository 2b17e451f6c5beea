/** The frame of node-types whose samples come in the event loop, to an inbox, and go out in frames. */
import type { NodeCommon, ParsedNode } from '../../index.ts'
import { inboxSamples } from './inbox.ts'

/** Such a node: one thread has both directions. It reads and writes unless `directions` says what its settings leave out. */
export function inboxNode(
  { signals }: NodeCommon,
  start: ParsedNode['start'],
  { reads = true, writes = true }: { reads?: boolean; writes?: boolean } = {},
): ParsedNode {
  return { signals, reads, writes, splits: false, keeps: inboxSamples, start }
}
