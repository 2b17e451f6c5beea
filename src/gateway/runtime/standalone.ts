/** One node by itself, in the thread of the caller: for programs that only read it. */
import {
  type Clock,
  commonOfNode,
  type NodeConfig,
  Pool,
  type RunningNode,
  type Signal,
  settingsOfNode,
} from '../index.ts'
import { loadNodeType } from '../nodes/index.ts'
import { epochNs, SystemClock } from './clock.ts'
import type { LogLevel } from './messages.ts'

export interface StandaloneNode {
  readonly node: RunningNode
  readonly pool: Pool
  readonly signals: readonly Signal[]
  readonly clock: Clock
}

/** Starts a node for reading. Throws errors that an operator can understand. `samples`: of the pool, a power of 2. */
export async function startStandalone(
  config: NodeConfig,
  { samples, log }: { samples: number; log(level: LogLevel, line: string): void },
): Promise<StandaloneNode> {
  const settings = settingsOfNode(config)
  const parsed = (await loadNodeType(config.type)).parse(settings, commonOfNode(config))
  settings.done()
  if (parsed.signals === null) throw new Error(`node ${config.name} does not know its signals`)
  const { signals } = parsed
  const pool = Pool.create(samples, signals.length)
  const clock = new SystemClock(pool.samples, epochNs())
  const context = {
    name: config.name,
    pool,
    clock,
    signals: { in: signals, out: [] },
    readable: () => {},
    log,
    fail: (error: Error) => {
      throw error
    },
    finish: () => {},
    statistics: () => undefined,
  }
  const node = await parsed.start(context, { in: true, out: false }, parsed.share?.())
  return { node, pool, signals, clock }
}
