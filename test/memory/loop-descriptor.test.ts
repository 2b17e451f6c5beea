import { once } from 'node:events'
import { expect, it } from 'vitest'
import { nativeAvailable } from '../../src/memory/index.ts'
import { startThread } from '../../src/memory/threads.ts'

// With nothing else to wait for, it would return after an hour.
it.skipIf(!nativeAvailable)('a thread that blocks on the descriptor of its event loop can be ended', async () => {
  const worker = startThread(new URL('./loop-blocker.worker.ts', import.meta.url))
  const [fd] = await once(worker, 'message')
  expect(fd).toBeGreaterThanOrEqual(0)
  expect(await worker.terminate()).toBe(1)
})
