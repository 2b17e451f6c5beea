/** The frame of node-types whose samples come in the event loop, to an inbox, and go out in frames. */
import { GatewayError, type NodeCommon, type NodeContext, type ParsedNode, type RunningNode } from '../../index.ts'
import { inboxSamples } from './inbox.ts'

/** Such a node: one thread has both directions. It reads and writes unless `directions` says what its settings leave out. */
export function inboxNode(
  { signals }: NodeCommon,
  start: ParsedNode['start'],
  { reads = true, writes = true }: { reads?: boolean; writes?: boolean } = {},
): ParsedNode {
  return { signals, reads, writes, splits: false, keeps: inboxSamples, start }
}

/** What `make` returns; what it throws is said with the name of the node. */
export async function startNamed<T extends RunningNode>(context: NodeContext, make: () => T | Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    throw new GatewayError('ERR_GATEWAY_NODE', `${context.name}: ${(error as Error).message}`)
  }
}
