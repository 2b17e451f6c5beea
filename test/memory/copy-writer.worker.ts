/** Copies messages whose every word is their number, each when the one before has been seen: see copy.test.ts. */
import { workerData } from 'node:worker_threads'
import { makeOrderedCopier } from '../../src/memory/copy.ts'
import type { WasmMemory } from '../../src/memory/native/index.ts'

const { memory, words, rounds, withWasm } = workerData as {
  memory: WasmMemory
  words: number
  rounds: number
  withWasm: boolean
}
const i32 = new Int32Array(memory.buffer)
const copy = makeOrderedCopier(new Uint8Array(memory.buffer), withWasm ? memory : undefined)
for (let round = 1; round <= rounds; round++) {
  i32.fill(round, 1024, 1024 + words)
  copy(0, 4096, words * 4)
  for (let i = 0; Atomics.load(i32, 2048) !== round; i++) if (i > 1000) Atomics.wait(i32, 2048, round - 1, 1)
}
