/** Random programs of verbs on the virtual link agree with the model of test/verbs-model, with faults and without. */
import fc from 'fast-check'
import { afterAll, describe, it } from 'vitest'
import { openDevice } from '../../src/index.ts'
import { Setup, SharedContexts } from '../compliance/rig.ts'
import { holds } from '../property.ts'
import { seeded } from '../random.ts'
import { Harness } from '../verbs-model/harness.ts'
import type { TypeName } from '../verbs-model/model.ts'
import { configs, programs } from '../verbs-model/steps.ts'
import { type Faults, link, registerVirtual } from './virtual.ts'

registerVirtual()

const device = {
  names: ['virtual0', 'virtual1'] as const,
  open: (side: number) => openDevice(`virtual${side}`),
  // Time is virtual here: this only ends a test that hangs, on however busy a machine.
  patienceMs: 30_000,
  quietMs: 1,
  settle: () => void link.step(),
}

function agrees(title: string, runs: number, types: readonly TypeName[], faults: Faults): void {
  const contexts = new SharedContexts(device)
  afterAll(() => contexts.close())

  it(title, async () => {
    await holds(
      fc.asyncProperty(fc.tuple(configs(types), programs), async ([config, program]) => {
        const t = new Setup(device, contexts)
        let failed = true
        try {
          link.faults = faults
          link.random = seeded(1)
          await new Harness(t, config, false, true).run(program)
          failed = false
        } finally {
          link.faults = {}
          await t.dispose(failed)
          // What was still on its way arrives nowhere, and in no other test of this process.
          while (link.step());
        }
      }),
      runs,
      25 * runs,
    )
  })
}

describe('random programs of verbs agree with the model', () => {
  agrees('RC without faults', 20, ['RC'], {})
  agrees('UC and UD without faults', 15, ['UC', 'UD'], {})
  // Nothing may be lost here: a QP that has sent its last NAK is in ERR and does not repeat it.
  agrees('RC with faults', 25, ['RC'], { duplication: 0.05, reordering: 0.05, jitterNs: 2000 })
})
