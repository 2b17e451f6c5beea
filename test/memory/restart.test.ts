/** Threads of other processes that are stopped for a moment, so that they make their calls again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { beginRestart, interrupt, mayBeIn, mayTrace, restarted, seize } from '../../src/memory/native/restart.ts'

const waits = `trap 'echo hit' USR1; trap 'echo on' USR2; echo $$; sleep 1000 & while :; do wait; done`

describe.skipIf(!nativeAvailable || !mayTrace())('a thread that is stopped for a moment', () => {
  let outer: ChildProcess | undefined
  let pid = 0
  let said = ''
  /** A shell below another one: what Node.js has started itself it would take for ended when it stops. */
  const start = async (): Promise<void> => {
    said = ''
    outer = spawn('/bin/sh', ['-c', `/bin/sh -c "$0" & wait`, waits], { detached: true })
    outer.stdout!.on('data', (chunk) => {
      said += String(chunk)
    })
    await expect.poll(() => said).toContain('\n')
    pid = Number.parseInt(said, 10)
    said = ''
  }
  afterEach(async () => {
    const ended = once(outer!, 'exit')
    process.kill(-outer!.pid!, 'SIGKILL')
    await ended
  })
  const untilRestarted = (): Promise<void> => expect.poll(() => restarted(pid), { interval: 1 }).toBe(true)

  it('goes on, and takes signals as before', async () => {
    await start()
    for (let i = 0; i < 20; i++) {
      expect(beginRestart(pid)).toBe(true)
      await untilRestarted()
    }
    process.kill(pid, 'SIGUSR1')
    await expect.poll(() => said).toBe('hit\n')
  })

  it('gets a signal that has come before the interruption, and one that has come after it', async () => {
    await start()
    expect(seize(pid)).toBe(true)
    process.kill(pid, 'SIGUSR1')
    interrupt(pid)
    await untilRestarted()
    await expect.poll(() => said).toBe('hit\n')
    expect(beginRestart(pid)).toBe(true)
    process.kill(pid, 'SIGUSR2')
    await untilRestarted()
    await expect.poll(() => said).toBe('hit\non\n')
  })

  it('that has ended is in no call, and is not stopped', async () => {
    await start()
    // It may be running at any moment, and while it ends.
    await expect.poll(() => mayBeIn(pid, -1, []), { interval: 1 }).toBe(false)
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => beginRestart(pid)).toBe(false)
    await expect.poll(() => mayBeIn(pid, 0, []), { interval: 1 }).toBe(false)
  })
})
