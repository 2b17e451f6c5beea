/** A thread of queue-threads.test.ts: passes numbers from one queue to another, and samples of a pool. */
import { parentPort } from 'node:worker_threads'
import { IndexQueue } from '../../../src/gateway/index-queue.ts'
import { Pool, type PoolShare } from '../../../src/gateway/pool.ts'
import { SampleField } from '../../../src/gateway/samples.ts'
import { threadData } from '../../../src/memory/index.ts'

export type QueueTask = { queue: SharedArrayBuffer; capacity: number; pool: PoolShare; stop: SharedArrayBuffer } & (
  | { role: 'writer'; first: number; count: number }
  | { role: 'reader' }
)

const task = threadData<QueueTask>()
const queue = new IndexQueue(task.capacity, task.queue)
const pool = Pool.attach(task.pool)
const stop = new Int32Array(task.stop)
const { u32 } = pool.samples
const one = new Int32Array(1)

if (task.role === 'writer') {
  for (let i = 0; i < task.count; i++) {
    while (pool.take(one, 0, 1) === 0);
    u32[pool.samples.word(one[0]!) + SampleField.data] = task.first + i
    while (!queue.push(one[0]!));
  }
  parentPort!.postMessage(null)
} else {
  const found: number[] = []
  for (;;) {
    // Before the look: what was written before the stop is found.
    const last = Atomics.load(stop, 0) === 1
    const index = queue.shift()
    if (index >= 0) {
      found.push(u32[pool.samples.word(index) + SampleField.data]!)
      pool.drop(index)
    } else if (last) break
  }
  parentPort!.postMessage(Int32Array.from(found))
}
parentPort!.close()
