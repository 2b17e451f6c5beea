/** Whatever a stranger that listens says, connections of others come about and end as they would without it. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { holds } from '../property.ts'
import { World } from './world.ts'

const ms = 1e6
let strange = 0
afterAll(() => {
  console.log(`${strange.toLocaleString('en')} messages of a stranger`)
  expect(strange).toBeGreaterThan(0)
})

test('a message from a foreign source never changes a connection', () => {
  const worlds = fc.record({
    seed: fc.nat(2 ** 31 - 1),
    loss: fc.double({ min: 0, max: 0.5, noNaN: true }),
    duplication: fc.double({ min: 0, max: 0.5, noNaN: true }),
    delayNs: fc.constantFrom(1 * ms, 20 * ms, 120 * ms),
    connections: fc.integer({ min: 1, max: 6 }),
    peerToPeer: fc.boolean(),
    sameGuid: fc.boolean(),
  })
  holds(
    fc.property(worlds, (options) => {
      const world = new World({ ...options, faultsUntilNs: 700 * ms, stranger: true })
      world.run(30_000 * ms)
      strange += world.strange
    }),
    2,
  )
})
