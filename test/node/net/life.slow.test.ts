import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { openDevice } from '../../../src/index.ts'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { allReclaimed, sweep } from '../../../src/verbs/provider/reclaim.ts'
import { until } from '../../devices/shm/rig.ts'
import { startable } from '../../entries.ts'
import { census } from '../../verbs/census.ts'
import { Lives } from './life.ts'

it.skipIf(!nativeAvailable)(
  'a process that is stopped in the middle of an operation keeps memory from being used again, and nobody from closing',
  async () => {
    const device = `shm:stopped-${process.pid}`
    const context = openDevice(device)
    const { host } = context.device
    const lives = await Lives.begin(device)
    await lives.one()
    const { file, execArgv } = startable(new URL('./stopped.process.ts', import.meta.url))
    const child = fork(file, [device], { execArgv })
    const messages: unknown[] = []
    child.on('message', (message) => messages.push(message))
    await until('its operation', () => messages.includes('in'))
    child.kill('SIGSTOP')
    sweep(host)
    const before = census(context, false)
    const longest: number[] = []
    for (let i = 0; i < 30; i++) {
      const begun = performance.now()
      await lives.one()
      longest.push(performance.now() - begun)
    }
    expect(Math.max(...longest)).toBeLessThan(5000)
    expect(allReclaimed(host)).toBe(false)
    expect(census(context, false).qp).toBeGreaterThanOrEqual(before.qp! + 60 - 4)
    child.kill('SIGCONT')
    await until('the end of its operation', () => messages.includes('left'))
    await until('what was closed', () => census(context, false).qp! <= before.qp!)
    child.disconnect()
    await once(child, 'exit')
    await lives.end()
    context.close()
  },
)
