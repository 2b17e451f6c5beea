/** Processes that open and leave a named segment all at once: who is in one is in the one that the name stands for. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'

const part = fileURLToPath(new URL('./segment-names.process.ts', import.meta.url))

/** What three processes say that begin together. */
async function play(what: 'meet' | 'come-and-go'): Promise<{ rounds: number; wrong: number }[]> {
  const startMs = Date.now() + 2500
  const processes = [0, 1, 2].map((number) => {
    const args = ['--import', 'tsx', part, what, `names-${process.pid}`, `${number}`, `${startMs}`]
    return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  })
  return await Promise.all(processes.map(async ({ stdout }) => JSON.parse(await text(stdout))))
}

describe.skipIf(!nativeAvailable)('named segments', () => {
  it('processes that open one at the same time meet in it', async () => {
    for (const { rounds, wrong } of await play('meet')) expect({ rounds, wrong }).toEqual({ rounds: 100, wrong: 0 })
  })

  it('while others come and go, nobody is left alone in one that has lost its name', async () => {
    for (const { rounds, wrong } of await play('come-and-go')) {
      expect(rounds).toBeGreaterThan(10)
      expect(wrong).toBe(0)
    }
  })
})
