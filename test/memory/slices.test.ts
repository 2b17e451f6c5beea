/** Threads with segments run in short slices: see src/memory/README.md. */
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { startThread } from '../../src/memory/index.ts'
import { timeSliceNs } from '../../src/memory/native/index.ts'

// Before Linux 6.12 slices are the scheduler's own.
test.skipIf(timeSliceNs() === 0)(
  'a thread with a segment asks for short slices; threads that it starts have those that are usual',
  async () => {
    const worker = startThread(new URL('./slices.worker.ts', import.meta.url))
    const [slices] = await once(worker, 'message')
    expect(slices).toEqual({ usual: slices.usual, withSegment: 100_000, started: slices.usual, nice: 100_000 })
    expect(slices.usual).toBeGreaterThan(100_000)
  },
)
