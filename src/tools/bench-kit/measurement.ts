/** Runs a plan of sets at the terminal: progress, then what `show` prints, or one JSON document. */

import { currentRun, exitCodes, interruptible, note, paint, print, printJson } from '../../cli/terminal/index.ts'
import { disturbance, type Machine } from '../../report/index.ts'
import { Progress } from './progress.ts'

interface Measurable {
  readonly machine: Machine
  readonly sets: readonly { readonly id: string; readonly error?: string | undefined }[]
}

/** Hooks of a run: callbacks for its progress, and the signal that ends it. */
export interface RunHooks<Set> {
  command: string[]
  signal: AbortSignal
  onSet(set: Set, measured: number): void
  onNote(text: string): void
}

export interface Measurement<Set, Results extends Measurable> {
  outDir: string
  json: boolean
  plannedSets: number
  /** Number of steps: the sets, and what is measured besides them. */
  plannedSteps?: number
  run(hooks: RunHooks<Set>): Promise<Results>
  /** Returns a few words for the line of progress. */
  describe(set: Set): string
  /** Returns the document that `--json` prints. */
  document(results: Results): object
  show(results: Results, outDir: string): void
}

/** Returns the exit code. */
export async function measure<Set, Results extends Measurable>(
  measurement: Measurement<Set, Results>,
): Promise<number> {
  const { outDir, json, plannedSets, plannedSteps = plannedSets } = measurement
  const interruption = interruptible()
  const progress = new Progress(plannedSteps)
  const notes = new Set<string>()
  let results: Results
  try {
    results = await measurement.run({
      command: ['verbena', ...currentRun().argv],
      signal: interruption.signal,
      onSet: (set, measured) => progress.update(measured, measurement.describe(set)),
      onNote: (text) => notes.add(text),
    })
  } finally {
    progress.stop()
    interruption.dispose()
  }
  for (const text of notes) note(text)
  const disturbed = disturbance(results.machine)
  if (json) printJson(measurement.document(results))
  else {
    measurement.show(results, outDir)
    if (disturbed !== undefined) print(paint('yellow', disturbed))
  }
  if (json && disturbed !== undefined) note(disturbed)
  for (const { id, error } of results.sets) if (error && error !== 'interrupted') note(`set ${id}: ${error}`)
  if (interruption.exitCode() !== undefined) {
    note(`interrupted after ${results.sets.length} of ${plannedSets} sets; they are in ${outDir}`)
    return interruption.exitCode()!
  }
  return results.sets.some((set) => set.error !== undefined) ? exitCodes.failed : exitCodes.done
}

export function settingText(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value ?? '–')
}
