/** A run: rank 0 saves the measurements that it makes with the other ranks. */
import type { Group } from '../../collectives/launch/index.ts'
import type { Context } from '../../index.ts'
import { currentCores, pinThread } from '../../memory/index.ts'
import { type AlgorithmResults, type AlgorithmSet, medianOf, summarize, writeRepetitions } from '../../report/index.ts'
import { beginResults, keepSets, type PlannedSet, type RunHooks } from '../bench-kit/index.ts'
import { placeRanks, ranksHere } from '../rank-kit/index.ts'
import { FirstRanks } from './first-ranks.ts'
import { medianInterval } from './interval.ts'
import { MeasuringRank, rounds } from './rank.ts'
import type { AlgorithmPlan, AlgorithmSettings, Step } from './settings.ts'

export interface AlgorithmRun {
  group: Group
  context: Context
  plan: AlgorithmPlan
  timeoutMs: number
  /** True if each rank that takes part is pinned to a core of its own. */
  pin: boolean
}

/** Runs at rank 0. */
export async function runAlgorithms(
  run: AlgorithmRun,
  outDir: string,
  hooks: RunHooks<AlgorithmSet>,
): Promise<AlgorithmResults> {
  const results: AlgorithmResults = {
    ...beginResults(hooks.command, ranksHere(run.group).length),
    ...{ tool: 'algorithms', unit: 'ns', sets: [] },
  }
  return await keepSets(
    results,
    { ...hooks, plan: run.plan, outDir },
    async (keep) =>
      await measureAll(run, hooks.signal, (step, times) => {
        for (const [i, planned] of step.entries())
          keep(setOf(planned, times[i]!), (path) => writeRepetitions(path, times[i]!))
      }),
    { paced: true },
  )
}

/** Measures all steps; a collective call of all ranks. `onTimes`: nanoseconds of the repetitions of each set of a step. */
export async function measureAll(
  { group, context, plan, timeoutMs, pin }: AlgorithmRun,
  signal: AbortSignal,
  onTimes: (step: Step, times: readonly Float64Array[]) => void = () => undefined,
): Promise<void> {
  const cores = currentCores()
  for (const [size, steps] of plan.steps) {
    const stopped = await FirstRanks.work(
      ...([group, size] as const),
      () => signal.aborted,
      async (ranks) => {
        pinThread(cores)
        await placeRanks(ranks, pin)
        const rank = await MeasuringRank.open(ranks, context, steps, timeoutMs)
        try {
          for (const step of steps) {
            onTimes(step, await rank.measure(step))
            if (ranks.stopped) break
          }
          await rank.end()
        } finally {
          rank.close()
        }
      },
    )
    if (stopped) return
  }
}

function setOf({ id, settings }: PlannedSet<AlgorithmSettings>, times: Float64Array): AlgorithmSet {
  const block = Math.ceil(times.length / rounds)
  const medians = Array.from({ length: Math.ceil(times.length / block) }, (_, round) =>
    medianOf(times.subarray(round * block, (round + 1) * block)),
  )
  return {
    ...{ id, settings: { ...settings }, time: summarize(times) },
    mean: times.reduce((sum, time) => sum + time, 0) / times.length,
    interval: medianInterval(medians),
  }
}
