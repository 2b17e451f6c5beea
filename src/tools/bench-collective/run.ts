/** All sets of a plan: rank 0 saves each when it is done, and the other ranks take part. */
import { join } from 'node:path'
import {
  beginSaving,
  type CollectiveResults,
  type CollectiveSet,
  summarize,
  writeRepetitions,
} from '../../report/index.ts'
import {
  beginResults,
  clearTimestamps,
  type PlannedSet,
  pacedSaver,
  type RunHooks,
  saverOf,
} from '../bench-kit/index.ts'
import type { Found, Rank } from './rank.ts'
import type { CollectiveSettings } from './settings.ts'

export interface CollectiveRun extends RunHooks<CollectiveSet> {
  rank: Rank
  outDir: string
}

/** Runs the sets at rank 0. */
export async function runCollective(run: CollectiveRun): Promise<CollectiveResults> {
  const { rank, outDir, signal } = run
  const { plan } = rank
  const results: CollectiveResults = {
    ...beginResults(run.command, rank.pollingHere),
    ...{ tool: 'collective', unit: 'ns', sets: [] },
  }
  const save = saverOf(results, outDir)
  clearTimestamps(outDir)
  beginSaving(
    outDir,
    results,
    plan.sets.map(({ settings }) => settings),
  )
  const saveOften = pacedSaver(save)
  // A launcher that passes on a signal may kill this process soon after it, before a set is over.
  signal.addEventListener('abort', save)
  try {
    await rank.prime()
    for (const index of plan.order) {
      const planned = plan.sets[index]!
      const found = await rank.measure(planned, () => signal.aborted)
      const set = setOf(planned, found)
      writeRepetitions(join(outDir, `${set.id}.csv`), found.values)
      results.sets.push(set)
      run.onSet(set, results.sets.length)
      if (found.stop) break
      saveOften()
    }
    results.complete = results.sets.length === plan.sets.length
  } finally {
    signal.removeEventListener('abort', save)
    save()
  }
  return results
}

/** Takes part in the sets at another rank. */
export async function follow(rank: Rank, signal: AbortSignal): Promise<void> {
  await rank.prime()
  for (const index of rank.plan.order) {
    const { stop } = await rank.measure(rank.plan.sets[index]!, () => signal.aborted)
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
