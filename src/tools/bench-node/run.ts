/** All runs of a plan, one after the other; each is saved when it is done. */
import { GatewayError } from '../../gateway/index.ts'
import { type NodeResults, type NodeSet, type Setting, summarize } from '../../report/index.ts'
import { beginResults, keepSets, type Plan, type PlannedSet, plannedSets, type RunHooks } from '../bench-kit/index.ts'
import { measureNode } from './measure.ts'
import type { NodeSettings } from './settings.ts'

export interface NodeRun extends RunHooks<NodeSet> {
  plan: Plan<NodeSettings>
  /** Returns the number of samples of a run. */
  limitOf(settings: NodeSettings): number
  warmUp: number
  pin: string
  outDir: string
}

/** Number of threads that poll: the generator polls before each step, the receiver all the time. */
const pollingThreads = 2

export async function runNodes(run: NodeRun): Promise<NodeResults> {
  const { plan, signal } = run
  const results: NodeResults = { ...beginResults(run.command, pollingThreads), tool: 'node', unit: 'ns', sets: [] }
  let elsewhereUs = 0
  return await keepSets(
    results,
    run,
    async (keep) => {
      for (const planned of plannedSets(plan, signal)) {
        const set = await measured(planned, run, (us) => {
          elsewhereUs += us
        })
        // Before a sample was generated there is nothing to save.
        if (set.error === interrupted && set.steps === 0) return
        keep(set)
      }
    },
    { elsewhereUs: () => elsewhereUs },
  )
}

const interrupted = 'interrupted'

async function measured(
  { id, settings, repeat }: PlannedSet<NodeSettings>,
  run: NodeRun,
  usedElsewhere: (us: number) => void,
): Promise<NodeSet> {
  const { warmUp, pin, outDir, signal } = run
  const limit = run.limitOf(settings)
  const known: Record<string, Setting> = { ...settings, repeat }
  try {
    const found = await measureNode(settings, {
      ...{ id, limit, warmUp, pin, folder: outDir, signal },
      log: (line) => run.onNote(`${settings.node} ${settings.mode}: ${line}`),
    })
    const { interrupted: wasInterrupted, elsewhereUs, ...figures } = found
    usedElsewhere(elsewhereUs)
    return { id, settings: known, ...figures, ...(wasInterrupted && { error: interrupted }) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const nothing = {
      lat: summarize([]),
      limit,
      steps: 0,
      missed: 0,
      missing: 0,
      notTransmitted: 0,
      notTransmittedConnected: 0,
    }
    return { id, settings: known, ...nothing, counts: { sender: {}, receiver: {} }, error: error.message }
  }
}
