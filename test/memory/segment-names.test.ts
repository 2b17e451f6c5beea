/** Processes that open and leave a named segment all at once: who is in one is in the one that the name stands for. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { startable } from '../entries.ts'

const { file, execArgv } = startable(new URL('./segment-names.process.ts', import.meta.url))

/** What three processes say that begin together, when all have started. */
async function play(what: 'meet' | 'come-and-go'): Promise<{ rounds: number; wrong: number }[]> {
  const processes = [0, 1, 2].map((number) => {
    return fork(file, [what, `names-${process.pid}`, `${number}`], { execArgv })
  })
  const said = () => Promise.all(processes.map(async (child) => (await once(child, 'message'))[0]))
  await said()
  const done = said()
  const startMs = performance.timeOrigin + performance.now() + 20
  for (const child of processes) child.send(startMs)
  await done
  const results = said()
  for (const child of processes) child.send('all')
  return await results
}

describe.skipIf(!nativeAvailable)('named segments', () => {
  it('processes that open one at the same time meet in it', async () => {
    for (const { rounds, wrong } of await play('meet')) expect({ rounds, wrong }).toEqual({ rounds: 60, wrong: 0 })
  })

  it('while others come and go, nobody is left alone in one that has lost its name', async () => {
    for (const { rounds, wrong } of await play('come-and-go')) {
      expect(rounds).toBeGreaterThan(60)
      expect(wrong).toBe(0)
    }
  })
})
