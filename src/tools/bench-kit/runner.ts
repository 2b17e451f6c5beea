/** The run of a benchmark: its sets are saved as they are measured, so that an interrupted run keeps what it has. */
import { join } from 'node:path'
import { beginSaving, type Results } from '../../report/index.ts'
import type { Plan, PlannedSet } from './product.ts'
import { clearTimestamps } from './results-dir.ts'
import { pacedSaver, saverOf } from './saving.ts'

/** A run as its caller starts it. */
export interface SavedRun<S, Set> {
  plan: Plan<S>
  outDir: string
  /** Signal that ends the run; what was measured until then is saved. */
  signal?: AbortSignal
  onSet?(set: Set, measured: number): void
  /** Called with a note for the user that does not stop the run. */
  onNote?(text: string): void
}

/** Adds a set to the results and saves them. `raw` writes its raw data to a path. */
export type Keep<Set> = (set: Set, raw?: (path: string) => void) => void

export interface Running {
  /** Called when the run is to end: threads that measure leave their loops. */
  interrupt?(): void
  /** Called after the last set, however the run ended. */
  end?(): Promise<void>
  /** Microseconds of processor time that other processes of the run have used. */
  elsewhereUs?(): number
  /** Returns false if something beside the sets was not measured. */
  isWhole?(): boolean
  /** True for sets so many and so short that the results are saved now and then. */
  paced?: boolean
}

/** Runs `body`, which measures the sets of the plan in its order; the results record whether all succeeded (`complete`). */
export async function keepSets<S extends object, R extends Results>(
  results: R,
  run: SavedRun<S, R['sets'][number]>,
  body: (keep: Keep<R['sets'][number]>, save: () => void) => Promise<void>,
  { interrupt, end, elsewhereUs, isWhole = () => true, paced = false }: Running = {},
): Promise<R> {
  const { plan, outDir, signal } = run
  const sets = results.sets as R['sets'][number][]
  const save = saverOf(results, outDir, elsewhereUs)
  const saveOften = paced ? pacedSaver(save) : save
  const onAbort = (): void => {
    interrupt?.()
    // A launcher that passes on a signal may kill this process soon after it, before a set is over.
    if (paced) save()
  }
  signal?.addEventListener('abort', onAbort)
  clearTimestamps(outDir)
  beginSaving(
    outDir,
    results,
    plan.sets.map(({ settings }) => settings),
  )
  try {
    await body((set, raw) => {
      raw?.(join(outDir, `${set.id}.csv`))
      sets.push(set)
      saveOften()
      run.onSet?.(set, sets.length)
    }, save)
    results.complete = isWhole() && sets.length === plan.sets.length && sets.every(({ error }) => error === undefined)
  } finally {
    signal?.removeEventListener('abort', onAbort)
    await end?.()
    save()
  }
  return results
}

/** Yields the sets of a plan in the order in which they are measured, until the run is interrupted. */
export function* plannedSets<S>({ sets, order }: Plan<S>, signal?: AbortSignal): Generator<PlannedSet<S>> {
  for (const index of order) {
    if (signal?.aborted) return
    yield sets[index]!
  }
}
