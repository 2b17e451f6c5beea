/** A thread of bells.test.ts: it can be rung for, says what Node warned of, and ends when it is told. */
import { parentPort, type Worker } from 'node:worker_threads'
import { Bells } from '../../src/memory/bells.ts'
import { startThread, threadData } from '../../src/memory/index.ts'

export interface BellThreadData {
  /** Records of both sides, and a word that the main thread sets when this one is to end. */
  readonly records: SharedArrayBuffer
  readonly endWord: number
}

export const startBellThread = (data: BellThreadData): Worker =>
  startThread(new URL(import.meta.url), { workerData: data })

if (parentPort !== null) {
  const { records, endWord } = threadData<BellThreadData>()
  const i32 = new Int32Array(records)
  const warnings: string[] = []
  process.on('warning', ({ message }) => warnings.push(message))
  const bells = new Bells(i32, new Float64Array(records), 8)
  const { usable } = bells
  bells.ring(0, process.pid)
  setImmediate(() => {
    parentPort!.postMessage({ usable, warnings })
    setImmediate(() => {
      Atomics.wait(i32, endWord, 0)
      process.exit()
    })
  })
}
