/** Properties of the codecs: a failure says which one command repeats it. */
import { randomInt } from 'node:crypto'
import fc from 'fast-check'

/** VERBENA_SEED chooses the seed, VERBENA_PATH the failing example within it. */
export function property<T>(file: string, title: string, arbitrary: fc.Arbitrary<T>, body: (value: T) => void): void {
  const { VERBENA_SEED, VERBENA_PATH } = process.env
  const seed = VERBENA_SEED ? Number(VERBENA_SEED) : randomInt(0, 2 ** 31)
  const path = VERBENA_PATH ? { path: VERBENA_PATH, endOnFailure: true } : {}
  const found = fc.check(fc.property(arbitrary, body), { seed, numRuns: 300, ...path })
  if (!found.failed) return
  const { counterexample, counterexamplePath, errorInstance } = found
  const command = `VERBENA_SEED=${seed} VERBENA_PATH=${counterexamplePath} npx vitest run ${file} -t '${title}'`
  const text = errorInstance instanceof Error ? errorInstance.stack : String(errorInstance)
  throw new Error(`${text}\nafter ${fc.stringify(counterexample).slice(0, 3000)}\nrepeat with: ${command}`)
}
