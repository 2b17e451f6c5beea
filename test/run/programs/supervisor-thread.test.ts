/** The supervisor's thread that starts before it is needed. */
import type { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { startSupervisorEarly, takeSupervisor } from '../../../src/run/programs/supervisor-thread.ts'

it('is the one that was started early, or another one if that could not start', async () => {
  const started: Worker[] = []
  const add = (thread: Worker): unknown => started.push(thread)
  process.on('worker', add)
  try {
    startSupervisorEarly()
    const first = takeSupervisor()
    startSupervisorEarly()
    await expect.poll(() => started.length).toBe(2)
    expect(first).toBe(started[0])
    started[1]!.emit('error', new Error('too many open files'))
    const third = takeSupervisor()
    await expect.poll(() => started.length).toBe(3)
    expect(third).toBe(started[2])
  } finally {
    process.off('worker', add)
    await Promise.all(started.map((thread) => thread.terminate()))
  }
})
