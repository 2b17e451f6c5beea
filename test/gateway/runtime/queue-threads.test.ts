/** Several threads write to a queue and several read from it, with samples of one pool: nothing is lost, nothing comes twice. */
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { IndexQueue } from '../../../src/gateway/index-queue.ts'
import { Pool } from '../../../src/gateway/pool.ts'
import { startThread } from '../../../src/memory/index.ts'
import type { QueueTask } from './queue.worker.ts'

const each = 20_000

it('two writers, two readers', async () => {
  const capacity = 16
  const { buffer } = new IndexQueue(capacity)
  const pool = Pool.create(32, 1)
  const stop = new SharedArrayBuffer(4)
  const common = { queue: buffer, capacity, pool: pool.share, stop }
  const tasks: QueueTask[] = [
    { role: 'writer', first: 0, count: each, ...common },
    { role: 'writer', first: each, count: each, ...common },
    { role: 'reader', ...common },
    { role: 'reader', ...common },
  ]
  const entry = new URL('./queue.worker.ts', import.meta.url)
  const said = tasks.map(async (workerData) => {
    const [message] = (await once(startThread(entry, { workerData }), 'message')) as [Int32Array | null]
    return message
  })
  await Promise.all(said.slice(0, 2))
  Atomics.store(new Int32Array(stop), 0, 1)
  const read = (await Promise.all(said.slice(2))) as Int32Array[]
  // What one reader gets of one writer is in order.
  for (const list of read)
    for (const from of [0, each]) {
      const ofWriter = [...list].filter((value) => value >= from && value < from + each)
      expect(ofWriter).toEqual(ofWriter.toSorted((a, b) => a - b))
    }
  const all = read.flatMap((list) => [...list]).sort((a, b) => a - b)
  expect(all).toEqual(Array.from({ length: 2 * each }, (_, i) => i))
  expect(pool.available).toBe(pool.capacity)
})
