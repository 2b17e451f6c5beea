/** The head of the results of every benchmark, and how results are saved while they grow. */
import { currentCores, pinThread } from '../../memory/index.ts'
import { type Results, type ResultsHead, saveResults } from '../../report/index.ts'
import { watchDisturbance } from './disturbance.ts'
import { describeMachine, lockProcessMemory, versions } from './machine.ts'

/**
 * Begins the results of a run. It requests the privileges that a process needs to measure well, and records which were granted.
 * `pollingThreads`: maximum number of threads that poll without pause at the same time.
 */
export function beginResults(command: string[], pollingThreads: number): ResultsHead {
  const machine = { ...describeMachine(), pollingThreads }
  machine.permitted.lockedMemory = lockProcessMemory()
  machine.permitted.pinnedThreads = pinThread(currentCores())
  return {
    format: 'verbena-results',
    version: 1,
    command,
    startedAt: new Date().toISOString(),
    durationSeconds: 0,
    complete: false,
    machine,
    versions: versions(),
  }
}

/** Maximum share of the time that saving between two measurements may take. */
const savingShare = 1 / 10

/**
 * Returns a function that calls `save`, unless it did so recently that this would take too much of the time: for runs of so many and so
 * short sets that each cannot be saved as soon as it is done.
 */
export function pacedSaver(save: () => void, nowMs: () => number = () => performance.now()): () => void {
  let notBeforeMs = 0
  return () => {
    const began = nowMs()
    if (began < notBeforeMs) return
    save()
    const ended = nowMs()
    notBeforeMs = ended + (ended - began) * (1 / savingShare - 1)
  }
}

/**
 * Returns a function that saves the results as they are at its call, with the time elapsed since now and the disturbance of the run, the
 * sets in the order of the plan. `elsewhereUs`: see `watchDisturbance`.
 */
export function saverOf(results: Results, outDir: string, elsewhereUs: () => number = () => 0): () => void {
  const started = performance.now()
  const disturbed = watchDisturbance(elsewhereUs)
  return () => {
    Object.assign(results.machine, disturbed())
    results.durationSeconds = (performance.now() - started) / 1000
    results.sets.sort((a, b) => Number(a.id) - Number(b.id))
    saveResults(outDir, results)
  }
}
