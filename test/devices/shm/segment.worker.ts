/** A thread of the segment tests: attaches to the segment and does what it is told, one order at a time. */
import { parentPort } from 'node:worker_threads'
import { Segment, threadData } from '../../../src/memory/index.ts'

export interface SegmentWorkerData {
  /** Null: the segment of the process. */
  name: string | null
  options: { staticBytes: number; sizeBytes: number }
}

export type Order =
  | { do: 'count'; lock: number; word: number; times: number }
  /** Keeps the lock. */
  | { do: 'lock'; lock: number }
  /** Takes the lock and gives it back. */
  | { do: 'pass'; lock: number }
  /** An operation that never ends. */
  | { do: 'enter' }
  | { do: 'leave' }
  /** Sets the word to 1 and leaves, after a while in which this thread does nothing. */
  | { do: 'leave-later'; word: number; afterMs: number }
  | { do: 'bump'; times: number }
  | { do: 'quiesce' }
  /** Begins to clean up after another thread. */
  | { do: 'claim'; use: number }
  | { do: 'wait'; word: number; expected: number; timeoutMs: number }
  | { do: 'notify'; word: number; value: number }

const { name, options } = threadData<SegmentWorkerData>()
const segment = name === null ? Segment.ofProcess(options) : Segment.named(name, options)
const { i32 } = segment
const port = parentPort!

port.on('message', (order: Order) => {
  let error: string | null = null
  try {
    carryOut(order)
  } catch (caught) {
    error = (caught as Error).message
  }
  port.postMessage({ done: order.do, error })
})

function carryOut(order: Order): void {
  switch (order.do) {
    case 'count':
      for (let i = 0; i < order.times; i++) {
        segment.lock(order.lock)
        i32[order.word] = i32[order.word]! + 1
        segment.unlock(order.lock)
      }
      break
    case 'lock':
      segment.lock(order.lock)
      break
    case 'pass':
      segment.lock(order.lock)
      segment.unlock(order.lock)
      break
    case 'enter':
      segment.enter()
      Atomics.add(i32, segment.epochWord, 0)
      break
    case 'leave':
      segment.leave()
      break
    case 'leave-later':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.afterMs)
      Atomics.store(i32, order.word, 1)
      segment.leave()
      break
    case 'claim':
      if (segment.claim(order.use) === 0) throw new Error('somebody else cleans up')
      break
    case 'quiesce':
      segment.quiesce()
      break
    case 'bump':
      for (let i = 0; i < order.times; i++) segment.bumpEpoch()
      break
    case 'wait':
      segment.wait(order.word, order.expected, order.timeoutMs)
      break
    case 'notify':
      Atomics.store(i32, order.word, order.value)
      segment.notify(order.word)
      break
  }
}

port.postMessage({ done: 'attach', me: segment.me })
