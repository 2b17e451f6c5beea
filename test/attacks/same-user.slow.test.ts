/**
 * Another process of the same user, in the same segment. It is trusted not to write where it has no business; it is not
 * trusted to live. Killed at any moment, or stopped, it leaves the others with right data and without an error.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { long, moved, openStage, type Stage, sleep, until } from './stage.ts'

const comer = fileURLToPath(new URL('../slow/come-and-go.mjs', import.meta.url))
const segment = `attacks-${process.pid}`
const device = `shm:${segment}`

let stage: Stage | undefined
const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await stage?.close()
  stage = undefined
  rmSync(`/dev/shm/verbena-${segment}`, { force: true })
})

/** In the segment until it is killed, with queue pairs, or after `ms`. */
function comes(ms: number, how: 'exit' | 'kill'): ChildProcess {
  const child = fork(comer, [device, String(ms), how], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  children.push(child)
  return child
}

describe.skipIf(!nativeAvailable)('another process of the same user', { timeout: 60_000 * long(4) }, () => {
  it('is killed in the middle of what it does', async () => {
    stage = await openStage(device)
    await stage.during(async () => {
      for (let round = 0; round < 3 * long(15); round++) {
        const both = [comes((round * 37) % 61, 'kill'), comes((round * 17) % 61, 'kill')]
        await Promise.all(both.map((child) => once(child, 'exit')))
      }
    })
    await until('what they had is taken back', async () => {
      const { victim } = await stage!.stats()
      return moved(stage!, victim, 'stale_objects_reaped') > 0
    })
    await stage.judge()
  })

  it('is stopped for a while, as a debugger or a freezer does', async () => {
    stage = await openStage(device)
    const { bystander } = stage
    for (let round = 0; round < 2 * long(5); round++) {
      const child = comes(60_000, 'exit')
      await sleep(150 + ((round * 37) % 200))
      child.kill('SIGSTOP')
      await sleep(500 * long(4))
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await once(child, 'exit')
      expect((await bystander.ask<{ errors: string[] }>('stats')).errors).toEqual([])
    }
    // A stopped process may hold a lock, so that others wait for as long as it is stopped.
    await stage.judge({ stallMs: 4000 * long(2) })
  })
})
