/** Traffic arrives over a link with faults: random programs of messages, from seeds. All counts and positions are near their wraps. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDevice, QpType } from '../../src/index.ts'
import { holds, seeds } from '../property.ts'
import { aging } from '../verbs/aged.ts'
import { Ground, Traffic } from './traffic.ts'
import { congested, type Faults, onLastTry, registerVirtual } from './virtual.ts'

registerVirtual()

/** A byte leaves in 0.08 ns: 100 Gbit/s. */
const byteNs = 0.08
const kinds: Record<string, Faults> = {
  'no faults': {},
  loss: { loss: 0.06 },
  duplication: { duplication: 0.1 },
  reordering: { reordering: 0.015, reorderNs: 5000, byteNs },
  'delay and jitter': { delayNs: 100_000, jitterNs: 25, byteNs },
  corruption: { corruption: 0.06 },
  congestion: { marking: 0.02, loss: 0.01, byteNs },
  'all at once': {
    ...{ loss: 0.02, duplication: 0.03, reordering: 0.03, corruption: 0.02 },
    ...{ delayNs: 20_000, jitterNs: 15, byteNs },
  },
}

let plain: Ground
let controlled: Ground
beforeAll(() => {
  plain = new Ground((side) => aging(openDevice(`virtual${side}`)))
  controlled = new Ground((side) => aging(openDevice(congested[side]!)))
})
afterAll(() => {
  plain.close()
  controlled.close()
})

const spared = (faults: Faults): Faults =>
  faults.loss || faults.corruption ? { ...faults, spares: onLastTry } : faults

/** Programs from seeds. */
function fromSeeds(title: string, runs: number, type: QpType, faults: Faults, bytes: number): void {
  it(title, () => {
    const ground = faults.marking ? controlled : plain
    let messages = 0
    holds(
      fc.property(seeds, (seed) => {
        messages += new Traffic(ground, { seed, type, faults, bytes }).run()
      }),
      runs,
      8 * runs,
    )
    expect(messages).toBeGreaterThan(0)
  })
}

describe('traffic arrives intact, once and in order', () => {
  for (const [name, faults] of Object.entries(kinds)) fromSeeds(`RC: ${name}`, 5, QpType.RC, spared(faults), 500_000)
})

it('RC: ACKs of late duplicates, one implied NAK after the other while responses wait in the queue of the link', () => {
  new Traffic(plain, { seed: 1111523439, type: QpType.RC, faults: kinds.reordering!, bytes: 500_000 }).run()
})

describe('a message arrives whole or not at all', () => {
  for (const [name, faults] of Object.entries(kinds)) {
    fromSeeds(`UC: ${name}`, 3, QpType.UC, faults, 300_000)
    fromSeeds(`UD: ${name}`, 3, QpType.UD, faults, 300_000)
  }
})
