/**
 * Random programs of verbs on two endpoints agree with the model in model.ts: no completion is lost, none comes twice,
 * each queue keeps its order, statuses and bytes are right, and no other byte changes.
 */
import fc from 'fast-check'
import { afterAll, describe, it } from 'vitest'
import type { OpenOptions } from '../../src/index.ts'
import { Setup, SharedContexts } from '../compliance/rig.ts'
import { roceRig } from '../compliance/roce-rig.ts'
import { shmRig } from '../compliance/shm-rig.ts'
import { holds, slow } from '../property.ts'
import { Harness } from './harness.ts'
import type { TypeName } from './model.ts'
import { configs, programs } from './steps.ts'

/** The local ACK timeout, encoded: 67 ms are enough for a thread of a busy machine, eight times over. */
const busyTimeout = 14

function agrees(title: string, runs: number, types: readonly TypeName[], options: OpenOptions | 'roce'): void {
  const network = options === 'roce'
  const rig = network ? roceRig : shmRig(['shm0', 'shm1'], options)
  // The slower suites give it what processor time the tests against real peers leave.
  const device = slow ? { ...rig, patienceMs: 6 * rig.patienceMs } : rig
  const exact = !network && options.engine !== 'thread'
  const contexts = new SharedContexts(device)
  afterAll(() => contexts.close())

  it(title, async () => {
    await holds(
      fc.asyncProperty(fc.tuple(configs(types), programs), async ([config, program]) => {
        const t = new Setup(device, contexts)
        let failed = true
        try {
          await new Harness(t, config, exact, network, network ? busyTimeout : undefined).run(program)
          failed = false
        } finally {
          await t.dispose(failed)
        }
      }),
      runs,
      // Half a second each, over the network.
      (network ? 10 : 30) * runs,
    )
  })
}

describe('random programs of verbs agree with the model', () => {
  agrees('RC, the poster carries out', 50, ['RC'], {})
  agrees('UC and UD, the poster carries out', 25, ['UC', 'UD'], {})
  agrees('RC, an engine thread carries out', 40, ['RC'], { engine: 'thread' })
  agrees('RC, over the network', 4, ['RC'], 'roce')
})
