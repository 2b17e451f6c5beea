/**
 * The graph of a run, as in Potter (2018, "VILLASnode node-type benchmark"), as configurations of one gateway or of two:
 *
 *     sending     signal ──> node under test, file "input"
 *     receiving   node under test ──> file "output"
 *
 * The generator does not stamp when its samples are received (`builtin = false`), so that the latency is that of the node under
 * test; that node is written before the file. Paths have threads of their own.
 */
import type { Settings } from '../../gateway/index.ts'
import { coreFor } from '../bench-thread/index.ts'
import type { NodeSettings, UnderTest } from './settings.ts'

export interface RunPlan {
  /** Number of samples. */
  limit: number
  /** Number of samples of the warm-up, at 10 kHz; their sequence numbers come first. */
  warmUp: number
  /** Value of `--pin`: `auto`, `none`, or cores of the generator and the receiver. */
  pin: string
  files: { input: string; output: string }
}

/** Name of the node that is read only when the other nodes are connected. */
export const heldNode = 'source'

/** Bytes that the files buffer before they write: as much as most runs have, so that no write falls into the run. */
const bufferBytes = 1 << 26

/** Returns one configuration for each process, that of the receiver first. */
export function configurations(settings: NodeSettings, nodes: UnderTest, plan: RunPlan): Settings[] {
  const [sending, receiving] = [sendingPart(settings, nodes, plan), receivingPart(nodes, plan)]
  const parts =
    settings.ends === 'processes'
      ? [receiving, sending]
      : [{ nodes: { ...sending.nodes, ...receiving.nodes }, paths: [...sending.paths, ...receiving.paths] }]
  // Periodic reports would disturb the threads: the states of nodes are requested instead.
  return parts.map((part) => ({ ...part, stats: 0 }))
}

interface Part {
  nodes: Settings
  paths: Settings[]
}

function sendingPart({ values, rate, timer }: NodeSettings, { sender }: UnderTest, plan: RunPlan): Part {
  const { limit, warmUp, files } = plan
  const source = {
    ...{ type: 'signal', signal: 'mixed', values, rate, limit, timer, monitor_missed: false, in: { builtin: false } },
    ...(warmUp > 0 && { warmup: { samples: warmUp } }),
  }
  return {
    nodes: { source, sender, input: fileNode(files.input) },
    paths: [{ in: 'source', out: ['sender', 'input'], ...affinityOf(plan.pin, 'sender') }],
  }
}

function receivingPart({ receiver }: UnderTest, { pin, files }: RunPlan): Part {
  const from = receiver === null ? 'sender' : 'receiver'
  return {
    nodes: { ...(receiver !== null && { receiver }), output: fileNode(files.output) },
    paths: [{ in: from, out: 'output', original_sequence_no: true, ...affinityOf(pin, 'receiver') }],
  }
}

function fileNode(path: string): Settings {
  return { type: 'file', uri: path.replaceAll('%', '%%'), format: 'csv', out: { buffer_size: bufferBytes } }
}

function affinityOf(pin: string, role: 'sender' | 'receiver'): { affinity?: number } {
  const core = coreFor(pin, role)
  return core === undefined ? {} : { affinity: 2 ** core }
}
