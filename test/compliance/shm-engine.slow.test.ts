/** The shared-memory device passes the compliance suite when threads of its own carry requests out. */
import { type Context, openDevice } from '../../src/index.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import { aging, beforeWrap } from '../verbs/aged.ts'
import { sameTables, shmRig } from './shm-rig.ts'
import { verbsCompliance } from './suite.ts'

const { Ctx } = layout
const names = ['shm0', 'shm1'] as const
const options = { engine: 'thread' } as const

/** All counts and positions are near their wraps, those of the doorbells, too. */
function open(side: 0 | 1): Context {
  const context = openDevice(names[side], options)
  const { i32 } = context.device.host
  const c = context.device.host.ctxWord((context as Context & { slot: number }).slot)
  // While its engine thread sleeps it looks at neither position.
  while (Atomics.load(i32, c + Ctx.doorbellSleeping) === 0);
  const at = beforeWrap()
  for (const word of [Ctx.doorbellTail, Ctx.doorbellHead]) Atomics.store(i32, c + word, at)
  return aging(context)
}

verbsCompliance('shm with engine threads', shmRig(names, options, { open, skip: sameTables }))
