/** Random programs of collectives, all ranks in one thread, give what a plain computation gives. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { collectives, type DecisionTable, operations } from '../../src/collectives/index.ts'
import { algorithmsOf } from '../../src/collectives/schedule/index.ts'
import { holds } from '../property.ts'
import { perform, type Step, types } from './reference.ts'
import { together } from './together.ts'

/** Up to some slots, and around the length from which data are written to where the receiver wants them. */
const counts = fc.oneof(
  { weight: 4, arbitrary: fc.nat(70) },
  { weight: 2, arbitrary: fc.integer({ min: 500, max: 3000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 20_000, max: 40_000 }) },
)
const steps: fc.Arbitrary<Step> = fc.record({
  collective: fc.constantFrom(...collectives),
  type: fc.constantFrom(...types),
  count: counts,
  root: fc.nat(7),
  operation: fc.constantFrom(...operations),
  allocated: fc.boolean(),
})
const tables = (size: number): fc.Arbitrary<DecisionTable> =>
  fc
    .tuple(...collectives.map((collective) => fc.constantFrom(...algorithmsOf(collective, size))))
    .map((algorithms) => ({
      version: 1,
      rules: collectives.map((collective, i) => ({ collective, algorithm: algorithms[i]! })),
    }))
const programs = fc.integer({ min: 1, max: 8 }).chain((size) =>
  fc.record({
    size: fc.constant(size),
    table: tables(size),
    directBytes: fc.constantFrom(0, 2048, 8192),
    program: fc.array(
      steps.map((step) => ({ ...step, root: step.root % size })),
      { minLength: 1, maxLength: 8 },
    ),
  }),
)

describe('programs of collectives', () => {
  it('give at every rank what a plain computation gives, whatever the algorithms', async () => {
    await holds(
      fc.asyncProperty(programs, async ({ size, table, directBytes, program }) => {
        let calls = 0
        await together(size, { device: 'shm0', table, directBytes }, async (comm) => {
          // Some are begun before the one before is over.
          const under: Promise<void>[] = []
          for (const [call, step] of program.entries()) {
            under.push(perform(comm, step, call))
            if (call % 2 === 0) await Promise.all(under.splice(0))
            calls++
          }
          await Promise.all(under)
        })
        expect(calls).toBe(size * program.length)
      }),
      12,
      200,
    )
  })
})
