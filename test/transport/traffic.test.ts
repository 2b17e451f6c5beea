/** Traffic arrives over a link with faults: random programs of messages, from seeds. */
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDevice, QpType } from '../../src/index.ts'
import { Ground, Traffic } from './traffic.ts'
import { congested, type Faults, registerVirtual } from './virtual.ts'

registerVirtual()

const slow = process.env.VERBENA_SLOW === '1'

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
  plain = new Ground((side) => openDevice(`virtual${side}`))
  controlled = new Ground((side) => openDevice(congested[side]!))
})
afterAll(() => {
  plain.close()
  controlled.close()
})

/** Programs from one seed after the other, for `ms`; VERBENA_SEED runs one. */
function fromSeeds(title: string, ms: number, type: QpType, faults: Faults, bytes: number): void {
  it(title, { timeout: 30 * ms + 60_000 }, () => {
    const given = process.env.VERBENA_SEED
    const until = performance.now() + (slow ? 30 * ms : ms)
    let messages = 0
    do {
      const seed = given ? Number(given) : randomInt(2 ** 31)
      try {
        const ground = faults.marking ? controlled : plain
        messages += new Traffic(ground, { seed, type, faults, bytes }).run()
      } catch (error) {
        const command = `VERBENA_SEED=${seed} npx vitest run test/transport/traffic.test.ts -t '${title}'`
        throw new Error(`${error instanceof Error ? error.stack : error}\nrepeat with: ${command}`)
      }
    } while (!given && performance.now() < until)
    expect(messages).toBeGreaterThan(0)
  })
}

describe('traffic arrives intact, once and in order', () => {
  for (const [name, faults] of Object.entries(kinds)) fromSeeds(`RC: ${name}`, 700, QpType.RC, faults, 500_000)
})

describe('a message arrives whole or not at all', () => {
  for (const [name, faults] of Object.entries(kinds)) {
    fromSeeds(`UC: ${name}`, 250, QpType.UC, faults, 300_000)
    fromSeeds(`UD: ${name}`, 150, QpType.UD, faults, 300_000)
  }
})
