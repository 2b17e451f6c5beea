/** Properties with a time budget or a number of runs, from a seed; a failure says which one command repeats it. */
import { randomInt } from 'node:crypto'
import { relative } from 'node:path'
import fc, { type IProperty } from 'fast-check'
import { expect } from 'vitest'

const slow = process.env.VERBENA_SLOW === '1'

export interface Budget {
  /** Milliseconds in `npm test`; with VERBENA_SLOW=1 thirty times as much. */
  ms: number
  /** The test file, and the title of the test. */
  file: string
  title: string
}

export function budgetMs({ ms }: Budget): number {
  return slow ? ms * 30 : ms
}

/**
 * As often as the budget allows, once at least. VERBENA_SEED chooses the seed, VERBENA_PATH the failing example within it.
 * Without them the seed is random, and in a failure's message.
 */
export async function repeatable<T>(
  budget: Budget,
  arbitrary: fc.Arbitrary<T>,
  body: (value: T) => Promise<void>,
): Promise<void> {
  let running: Promise<void> = Promise.resolve()
  const property = fc.asyncProperty(arbitrary, async (value) => {
    running = body(value)
    await running
  })
  const { seed, failing } = start()
  const check = async (more: fc.Parameters<[T]>) => {
    const details = await fc.check(property, { seed, numRuns: 1_000_000, markInterruptAsFailure: false, ...more })
    // A run that the time limit interrupted goes on to its end.
    await running.catch(() => {})
    return details
  }
  let found = await check({ ...failing, endOnFailure: true, interruptAfterTimeLimit: budgetMs(budget) })
  // The time limit came before the first run ended: without any run nothing would have been tested.
  if (found.numRuns === 0 && (!found.failed || found.counterexample === null))
    found = await check({ ...failing, endOnFailure: true, numRuns: 1 })
  expect(found.numRuns, 'completed runs of the property').toBeGreaterThan(0)
  if (!found.failed) return
  // Shrinking has a budget of its own.
  const shrinking = { path: found.counterexamplePath ?? '', interruptAfterTimeLimit: shrinkMs }
  const shrunk = 'path' in failing ? found : await check(shrinking)
  const { counterexample, counterexamplePath, errorInstance } = shrunk.failed ? shrunk : found
  const command = commandOf(seed, counterexamplePath, budget.file, budget.title)
  const program = fc.stringify(counterexample).slice(0, longest)
  throw new Error(
    `${textOf(errorInstance)}\nafter ${program}\nrepeat with: ${command}\nfirst seen as ${textOf(found.errorInstance)}`,
  )
}

/** A property that is quick, `runs` times. */
export function holds<T>(property: IProperty<T>, runs: number = 100): void {
  const { seed, failing } = start()
  const found = fc.check(property, { seed, numRuns: runs, ...failing })
  expect(found.numRuns, 'completed runs of the property').toBeGreaterThan(0)
  if (!found.failed) return
  const { testPath = '', currentTestName = '' } = expect.getState()
  const title = currentTestName.split(' > ').at(-1) ?? ''
  const command = commandOf(seed, found.counterexamplePath, relative(process.cwd(), testPath), title)
  const values = fc.stringify(found.counterexample).slice(0, longest)
  throw new Error(`${textOf(found.errorInstance)}\nafter ${values}\nrepeat with: ${command}`)
}

function start(): { seed: number; failing: { path?: string; endOnFailure?: true } } {
  const { VERBENA_SEED, VERBENA_PATH } = process.env
  const seed = VERBENA_SEED ? Number(VERBENA_SEED) : randomInt(0, 2 ** 31)
  return { seed, failing: VERBENA_PATH ? { path: VERBENA_PATH, endOnFailure: true } : {} }
}

function commandOf(seed: number, path: string | null, file: string, title: string): string {
  const quoted = title.replaceAll("'", "'\\''")
  return `VERBENA_SEED=${seed} VERBENA_PATH=${path} npx vitest run ${file} -t '${quoted}'`
}

/** Errors are not passed on as causes: the reporter would print the handles in them, and with these all memory. */
function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

const shrinkMs = 10_000
const longest = 3000
