/** Two ends on a bad link: they agree in the end, nobody is connected without the other's consent, and nothing is left. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { holds } from '../property.ts'
import { World } from './world.ts'

const ms = 1e6
let established = 0
let carried = 0

afterAll(() => {
  console.log(
    `${carried.toLocaleString('en')} messages arrived, ${established.toLocaleString('en')} connections stood in the end`,
  )
  // Otherwise the checks have nothing to look at.
  expect(established).toBeGreaterThan(0)
})

const worlds = (loss: number) =>
  fc.record({
    seed: fc.nat(2 ** 31 - 1),
    loss: fc.double({ min: 0, max: loss, noNaN: true }),
    duplication: fc.double({ min: 0, max: 0.5, noNaN: true }),
    delayNs: fc.constantFrom(1 * ms, 20 * ms, 120 * ms),
    connections: fc.integer({ min: 1, max: 8 }),
    peerToPeer: fc.boolean(),
    sameGuid: fc.boolean(),
  })

test('both ends agree in the end', () => {
  holds(
    fc.property(worlds(0.5), (options) => {
      // Sixteen tries of 67 ms: no repetition is used up before the link becomes good.
      const world = new World({ ...options, faultsUntilNs: 700 * ms })
      world.run(30_000 * ms)
      world.checkAgreement()
      established += [...world.sides[0].connections].filter(({ state }) => state === 'ESTABLISHED').length
      carried += world.carried
      world.checkNoLeaks()
    }),
    150,
  )
})

test('a refusal that comes when a repetition of the request has been accepted is of the past', () => {
  // Found by the test above.
  const options = { loss: 0, duplication: 0.11607376905158164, delayNs: 120 * ms, peerToPeer: true, sameGuid: false }
  const world = new World({ ...options, seed: 2147483626, connections: 8, faultsUntilNs: 700 * ms })
  world.run(30_000 * ms)
  world.checkAgreement()
  world.checkNoLeaks()
})

test('nothing is left and nobody is connected alone, however bad the link', () => {
  holds(
    fc.property(worlds(1), (options) => {
      const world = new World({ ...options, faultsUntilNs: Number.POSITIVE_INFINITY })
      world.run(30_000 * ms)
      carried += world.carried
      world.checkNoLeaks()
    }),
    80,
  )
})
