/** Properties that say how to run them again: the seed of a failure is in the command that the error names. */
import fc, { type IProperty } from 'fast-check'

const seed = process.env.VERBENA_SEED === undefined ? Date.now() & 0x7fffffff : Number(process.env.VERBENA_SEED)

export function repeatable<T>(property: IProperty<T>, runs?: number): void {
  const details = fc.check(property, { seed, ...(runs === undefined ? {} : { numRuns: runs }) })
  if (!details.failed) return
  const error = details.errorInstance instanceof Error ? details.errorInstance.message : ''
  throw new Error(
    `${JSON.stringify(details.counterexample)}: ${error}\nrepeat it with: VERBENA_SEED=${seed} npx vitest run ${process.argv.at(-1) ?? ''}`,
  )
}
