/** Runs a property within a time budget, from a seed; a failure says which one command repeats it. */
import { randomInt } from 'node:crypto'
import fc from 'fast-check'

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
 * VERBENA_SEED chooses the seed, VERBENA_PATH the failing example within it. Without them the seed is random, and in a
 * failure's message.
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
  const { VERBENA_SEED, VERBENA_PATH } = process.env
  const seed = VERBENA_SEED ? Number(VERBENA_SEED) : randomInt(0, 2 ** 31)
  const check = async (more: fc.Parameters<[T]>) => {
    const details = await fc.check(property, { seed, numRuns: 1_000_000, markInterruptAsFailure: false, ...more })
    // A run that the time limit interrupted goes on to its end.
    await running.catch(() => {})
    return details
  }
  const path = VERBENA_PATH ? { path: VERBENA_PATH } : {}
  const found = await check({ ...path, endOnFailure: true, interruptAfterTimeLimit: budgetMs(budget) })
  // Without a counterexample it is the time limit that came before the first run ended.
  if (!found.failed || found.counterexample === null) return
  // Shrinking has a budget of its own.
  const shrinking = { path: found.counterexamplePath ?? '', interruptAfterTimeLimit: shrinkMs }
  const shrunk = VERBENA_PATH ? found : await check(shrinking)
  const { counterexample, counterexamplePath, errorInstance } = shrunk.failed ? shrunk : found
  const command = `VERBENA_SEED=${seed} VERBENA_PATH=${counterexamplePath} npx vitest run ${budget.file} -t '${budget.title}'`
  const program = fc.stringify(counterexample).slice(0, longest)
  throw new Error(
    `${textOf(errorInstance)}\nafter ${program}\nrepeat with: ${command}\nfirst seen as ${textOf(found.errorInstance)}`,
  )
}

/** Errors are not passed on as causes: the reporter would print the handles in them, and with these all memory. */
function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

const shrinkMs = 10_000
const longest = 3000
