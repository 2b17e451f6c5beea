/** All sets of a plan: rank 0 saves each when it is done, and the other ranks take part. */
import { type CollectiveResults, type CollectiveSet, summarize, writeRepetitions } from '../../report/index.ts'
import { beginResults, keepSets, type Plan, type PlannedSet, plannedSets, type RunHooks } from '../bench-kit/index.ts'
import type { Found, Rank } from './rank.ts'
import type { CollectiveSettings } from './settings.ts'

export interface CollectiveRun extends RunHooks<CollectiveSet> {
  rank: Rank
  plan: Plan<CollectiveSettings>
  outDir: string
}

/** Runs the sets at rank 0. */
export async function runCollective(run: CollectiveRun): Promise<CollectiveResults> {
  const { rank, plan, signal } = run
  const results: CollectiveResults = {
    ...beginResults(run.command, rank.pollingHere),
    ...{ tool: 'collective', unit: 'ns', sets: [] },
  }
  return await keepSets(
    results,
    run,
    async (keep) => {
      await rank.prime()
      // All ranks learn together that the run is interrupted.
      for (const planned of plannedSets(plan)) {
        const found = await rank.measure(planned, () => signal.aborted)
        keep(setOf(planned, found), (path) => writeRepetitions(path, found.values))
        if (found.stop) return
      }
    },
    { paced: true },
  )
}

/** Takes part in the sets at another rank. */
export async function follow(rank: Rank, signal: AbortSignal): Promise<void> {
  await rank.prime()
  for (const planned of plannedSets(rank.plan)) {
    const { stop } = await rank.measure(planned, () => signal.aborted)
    if (stop) return
  }
}

function setOf({ id, settings }: PlannedSet<CollectiveSettings>, { values, sent, received }: Found): CollectiveSet {
  const time = summarize(values)
  const measured = values.filter((value) => !Number.isNaN(value))
  const mean = measured.reduce((sum, value) => sum + value, 0) / Math.max(1, measured.length)
  const lost = sent > 0 ? Math.max(0, (sent - received) / sent) : 0
  return { id, settings: { ...settings }, time, mean, sent, received, lost }
}
