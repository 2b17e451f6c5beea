/**
 * Random programs of verbs on two endpoints agree with the model in model.ts: no completion is lost, none comes twice,
 * each queue keeps its order, statuses and bytes are right, and no other byte changes.
 */
import fc from 'fast-check'
import { afterAll, describe, it } from 'vitest'
import type { OpenOptions } from '../../src/index.ts'
import { Setup, SharedContexts } from '../compliance/rig.ts'
import { shmRig } from '../compliance/shm-rig.ts'
import { holds } from '../property.ts'
import { Harness } from './harness.ts'
import type { TypeName } from './model.ts'
import { configs, programs } from './steps.ts'

function agrees(title: string, runs: number, types: readonly TypeName[], options: OpenOptions): void {
  const device = shmRig(['shm0', 'shm1'], options)
  const contexts = new SharedContexts(device)
  afterAll(() => contexts.close())

  it(title, async () => {
    await holds(
      fc.asyncProperty(fc.tuple(configs(types), programs), async ([config, program]) => {
        const t = new Setup(device, contexts)
        let failed = true
        try {
          await new Harness(t, config, options.engine !== 'thread').run(program)
          failed = false
        } finally {
          await t.dispose(failed)
        }
      }),
      runs,
      100 * runs,
    )
  })
}

describe('random programs of verbs agree with the model', () => {
  agrees('RC, the poster carries out', 50, ['RC'], {})
  agrees('UC and UD, the poster carries out', 25, ['UC', 'UD'], {})
  agrees('RC, an engine thread carries out', 40, ['RC'], { engine: 'thread' })
})
