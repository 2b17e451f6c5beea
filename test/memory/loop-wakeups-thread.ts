/** A thread of loop-wakeups.test.ts: it can be woken, says what Node warned of, and ends when it is told. */
import { parentPort, type Worker } from 'node:worker_threads'
import { startThread, threadData } from '../../src/memory/index.ts'
import { LoopWakeups } from '../../src/memory/loop-wakeups.ts'

export interface WakeupThreadData {
  /** Records of both sides, and a word that the main thread sets when this one is to end. */
  readonly records: SharedArrayBuffer
  readonly endWord: number
}

export const startWakeupThread = (data: WakeupThreadData): Worker =>
  startThread(new URL(import.meta.url), { workerData: data })

if (parentPort !== null) {
  const { records, endWord } = threadData<WakeupThreadData>()
  const i32 = new Int32Array(records)
  const warnings: string[] = []
  process.on('warning', ({ message }) => warnings.push(message))
  const wakeups = new LoopWakeups(i32, new Float64Array(records), 8)
  const { usable } = wakeups
  wakeups.wake(0, process.pid)
  setImmediate(() => {
    parentPort!.postMessage({ usable, warnings })
    setImmediate(() => {
      Atomics.wait(i32, endWord, 0)
      process.exit()
    })
  })
}
