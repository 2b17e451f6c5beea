/** Two ends on a bad link: they agree in the end, nobody is connected without the other's consent, and nothing is left. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { repeatable } from '../verbs-model/repeat.ts'
import { World } from './world.ts'

const file = 'test/cm/lossy.test.ts'
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

const agree = 'both ends agree in the end'
test(agree, async () => {
  await repeatable({ ms: 2000, file, title: agree }, worlds(0.5), async (options) => {
    // Sixteen tries of 67 ms: no repetition is used up before the link becomes good.
    const world = new World({ ...options, faultsUntilNs: 700 * ms })
    world.run(30_000 * ms)
    world.checkAgreement()
    established += [...world.sides[0].connections].filter(({ state }) => state === 'ESTABLISHED').length
    carried += world.carried
    world.checkNoLeaks()
  })
})

test('a refusal that comes when a repetition of the request has been accepted is of the past', () => {
  // Found by the test above.
  const options = { loss: 0, duplication: 0.11607376905158164, delayNs: 120 * ms, peerToPeer: true, sameGuid: false }
  const world = new World({ ...options, seed: 2147483626, connections: 8, faultsUntilNs: 700 * ms })
  world.run(30_000 * ms)
  world.checkAgreement()
  world.checkNoLeaks()
})

const outage = 'nothing is left and nobody is connected alone, however bad the link'
test(outage, async () => {
  await repeatable({ ms: 1200, file, title: outage }, worlds(1), async (options) => {
    const world = new World({ ...options, faultsUntilNs: Number.POSITIVE_INFINITY })
    world.run(30_000 * ms)
    carried += world.carried
    world.checkNoLeaks()
  })
})
