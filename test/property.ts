/**
 * Properties: random inputs from a seed, tested a number of times. A failure says which one command repeats it, and a
 * property that completed no run fails. `npm test`, which has three minutes, makes `quickShare` of the given number of runs, the slower
 * suites (VERBENA_SLOW=1) `slowFactor` times as many as given, or as many as the third argument says; the tally at the end of each suite
 * says how many they were.
 *
 *     await holds(fc.asyncProperty(fc.nat(), async (n) => …), 200)
 *
 * A test file whose budgets matter is called `.random.test.ts`, and belongs to both; `.slow.test.ts` to the slower ones only.
 * VERBENA_SEED chooses the seed, VERBENA_PATH the failing example within it. Without them the seed is random.
 */
import { randomInt } from 'node:crypto'
import { relative } from 'node:path'
import fc, { type IAsyncProperty, type IProperty } from 'fast-check'
import { expect, TestRunner } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Completed runs of the properties of a test. */
    propertyRuns?: number
    /** A property of the test has a counterexample. */
    propertyFailed?: boolean
  }
}

export const slow = process.env.VERBENA_SLOW === '1'
export const slowFactor = 2
export const quickShare = 0.4

/** A seed for a generator of the test's own. A smaller seed is not a simpler example, so it is not shrunk. */
export const seeds = fc.noShrink(fc.nat(2 ** 31 - 1))

/** Tests a property `runs` times, in the slower suites `slowRuns` times, in `npm test` a part of them. */
export function holds<T>(property: IProperty<T>, runs?: number, slowRuns?: number): void
export function holds<T>(property: IAsyncProperty<T>, runs?: number, slowRuns?: number): Promise<void>
export function holds<T>(
  property: IProperty<T> | IAsyncProperty<T>,
  runs: number = 100,
  slowRuns: number = runs * slowFactor,
): void | Promise<void> {
  const { VERBENA_SEED, VERBENA_PATH } = process.env
  const seed = VERBENA_SEED ? Number(VERBENA_SEED) : randomInt(0, 2 ** 31)
  const numRuns = slow ? slowRuns : Math.ceil(quickShare * runs)
  // Shrinking comes after a failure and has a time limit of its own; an example that is repeated is not shrunk.
  const repeated = VERBENA_PATH ? { path: VERBENA_PATH } : {}
  const shrunk = (path: string) => fc.check(property, { seed, path, skipAllAfterTimeLimit: shrinkMs })
  const judge = (found: fc.RunDetails<T>): void | Promise<void> => {
    count(found.numRuns)
    expect(found.numRuns, 'completed runs of the property').toBeGreaterThan(0)
    if (!found.failed) return
    if (found.counterexamplePath === null || VERBENA_PATH) return fail(seed, found, found)
    const simpler = shrunk(found.counterexamplePath)
    return simpler instanceof Promise ? simpler.then((s) => fail(seed, found, s)) : fail(seed, found, simpler)
  }
  const found = fc.check(property, { seed, numRuns, endOnFailure: true, ...repeated }) as
    | fc.RunDetails<T>
    | Promise<fc.RunDetails<T>>
  return found instanceof Promise ? found.then(judge) : judge(found)
}

/** Adds to the runs that the tally tells. */
function count(runs: number): void {
  const meta = TestRunner.getCurrentTest()?.meta
  if (meta) meta.propertyRuns = (meta.propertyRuns ?? 0) + runs
}

function fail<T>(seed: number, first: fc.RunDetails<T>, shrunk: fc.RunDetails<T>): never {
  const meta = TestRunner.getCurrentTest()?.meta
  if (meta) meta.propertyFailed = true
  // Where the time limit came before the example failed once more, there is nothing simpler.
  const { counterexample, counterexamplePath, errorInstance } = shrunk.counterexample === null ? first : shrunk
  const { testPath = '', currentTestName = '' } = expect.getState()
  const title = (currentTestName.split(' > ').at(-1) ?? '').replaceAll("'", "'\\''")
  const file = relative(process.cwd(), testPath)
  const config = file.includes('.slow.') ? '--config vitest.slow.config.ts ' : ''
  const command = `VERBENA_SEED=${seed} VERBENA_PATH=${counterexamplePath} npx vitest run ${config}${file} -t '${title}'`
  const after = fc.stringify(counterexample).slice(0, longest)
  throw new Error(
    `${textOf(errorInstance)}\nafter ${after}\nrepeat with: ${command}\nfirst seen as ${textOf(first.errorInstance)}`,
  )
}

/** Errors are not passed on as causes: the reporter would print the handles in them, and with these all memory. */
function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

const shrinkMs = 10_000
const longest = 3000
