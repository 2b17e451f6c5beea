/** Whichever thread is killed while it drives an adapter, at whichever store: connections go on, and nothing is lost or comes twice. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDevice, QpType } from '../../src/index.ts'
import { holds, seeds } from '../property.ts'
import { aging } from '../verbs/aged.ts'
import { mortal, mortalDevice, registerMortal } from './mortal.ts'
import { Ground, Traffic } from './traffic.ts'
import { type Faults, onLastTry } from './virtual.ts'

registerMortal()

let ground: Ground
beforeAll(() => {
  ground = new Ground((side) => aging(openDevice(mortal[side]!)))
})
afterAll(() => ground.close())

const kinds: Record<string, Faults> = {
  'RC: killed in most turns': { killing: 0.7, spares: onLastTry },
  'RC: killed now and then, and packets are lost': { killing: 0.3, loss: 0.02, duplication: 0.02, spares: onLastTry },
}

function survives(title: string, type: QpType, faults: Faults, runs: number): void {
  it(title, () => {
    const devices = mortal.map(mortalDevice)
    const deaths = (): number => devices.reduce((sum, device) => sum + device.deaths, 0)
    const before = deaths()
    holds(
      fc.property(seeds, (seed) => {
        new Traffic(ground, { seed, type, faults, bytes: 100_000 }).run()
      }),
      runs,
      30 * runs,
    )
    expect(deaths() - before).toBeGreaterThan(runs)
  })
}

for (const [title, faults] of Object.entries(kinds)) survives(title, QpType.RC, faults, 4)
survives('UC', QpType.UC, { killing: 0.5 }, 4)
survives('UD', QpType.UD, { killing: 0.5 }, 4)

it('a thread that is killed in the last completion of all: the next one finishes that', () => {
  new Traffic(ground, { seed: 1541189050, type: QpType.UC, faults: { killing: 0.5 }, bytes: 100_000 }).run()
})

it('the last try of each request is enough', () => {
  holds(
    fc.property(seeds, (seed) => {
      new Traffic(ground, { seed, type: QpType.RC, faults: { loss: 1, spares: onLastTry }, bytes: 20_000 }).run()
    }),
    1,
  )
})
