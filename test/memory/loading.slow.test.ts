/** Threads that are ended, and processes that end, while a thread loads native code. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { startThread } from '../../src/memory/index.ts'
import { useScratchModules } from './scratch-modules.ts'

const href = (path: string): string => JSON.stringify(new URL(`../../src/memory/${path}`, import.meta.url).href)
const entry = useScratchModules('loading')

/** Begins to load (words[0]), has loaded when words[3] says so (words[1]), and loads again (words[2]). */
const loader = (): URL =>
  entry(
    'loader.ts',
    `import { writeSync } from 'node:fs'
import { threadData } from ${href('threads.ts')}
import { gated } from ${href('native/loading.ts')}
const words = new Int32Array(threadData<SharedArrayBuffer>())
gated(() => {
  Atomics.store(words, 0, 1)
  Atomics.notify(words, 0)
  Atomics.wait(words, 3, 0, process.argv.includes('--say') ? 500 : 30_000)
  Atomics.store(words, 1, 1)
  if (process.argv.includes('--say')) writeSync(1, 'loaded')
})
gated(() => Atomics.store(words, 2, 1))
setInterval(() => {}, 1000)
`,
  )

/** A thread that starts a thread of that kind, and with --end ends when that loads. */
const nested = (): URL =>
  entry(
    'nested.ts',
    `import { startThread, threadData } from ${href('threads.ts')}
const words = new Int32Array(threadData<SharedArrayBuffer>())
startThread(new URL(${JSON.stringify(loader().href)}), { workerData: words.buffer })
setInterval(() => {
  if (process.argv.includes('--end') && Atomics.load(words, 0) === 1) process.exit()
}, 1)
`,
  )

function words(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(16))
}

/** What loads has loaded a moment later. */
function letLoad(word: Int32Array): void {
  setTimeout(() => {
    Atomics.store(word, 3, 1)
    Atomics.notify(word, 3)
  }, 50)
}

async function begun(word: Int32Array): Promise<void> {
  for (let n = 0; n < 2000 && Atomics.load(word, 0) === 0; n++) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(Atomics.load(word, 0)).toBe(1)
}

describe('a thread that loads native code', () => {
  it.each([
    ['is ended when it has loaded, and begins no other load', loader],
    ['holds up the end of the thread that started it, where that is terminated', nested],
  ])('%s', async (_, module) => {
    const seen = words()
    const thread = startThread(module(), { workerData: seen.buffer })
    await begun(seen)
    const ended = thread.terminate()
    letLoad(seen)
    await ended
    expect([...seen.subarray(1, 3)]).toEqual([1, 0])
  })

  it('is ended when it has loaded, also if it is a Worker of the program', async () => {
    const main = entry(
      'worker-of-the-program.ts',
      `import * as named from 'node:worker_threads'
import { gateWorkers } from ${href('threads.ts')}
gateWorkers({ prepare: () => console.log('prepare'), load: () => console.log('load') })
const plain = new named.Worker('', { eval: true })
await new Promise((resolve) => plain.on('exit', resolve))
class Own extends named.Worker {}
for (const Class of [named.Worker, Own]) {
  const words = new Int32Array(new SharedArrayBuffer(16))
  const workerData = { verbenaEntry: ${JSON.stringify(loader().href)}, verbenaData: words.buffer }
  const worker = new Class(new URL(${href('ts-worker.mjs')}), { workerData })
  while (Atomics.load(words, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const ended = worker.terminate()
  setTimeout(() => { Atomics.store(words, 3, 1); Atomics.notify(words, 3) }, 50)
  console.log(await ended, words.subarray(1, 3).join(), worker instanceof named.Worker, worker.constructor.name)
}
`,
    )
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', main.pathname], { encoding: 'utf8' })
    // The thread that has started it cleans up after it, and after one that has loaded nothing there is nothing to clean up.
    const programs = 'prepare\nprepare\nload\n1 1,0 true Worker\nprepare\nload\n1 1,0 true Own\n'
    expect({ stdout, stderr }).toEqual({ stdout: programs, stderr: '' })
  })

  it('holds up the end of the process', () => {
    const main = entry(
      'main.ts',
      `import { startThread } from ${href('threads.ts')}
const words = new Int32Array(new SharedArrayBuffer(16))
startThread(new URL(${JSON.stringify(loader().href)}), { workerData: words.buffer, argv: ['--say'] })
const look = () => {
  if (Atomics.load(words, 0) === 1) process.exit(3)
  setTimeout(look, 1)
}
look()
`,
    )
    const { stdout, status } = spawnSync(process.execPath, ['--import', 'tsx', main.pathname], { encoding: 'utf8' })
    expect({ stdout, status }).toEqual({ stdout: 'loaded', status: 3 })
  })

  it('holds up the end of a thread that ends by itself', async () => {
    const seen = words()
    const thread = startThread(nested(), { workerData: seen.buffer, argv: ['--end'] })
    const ended = once(thread, 'exit')
    await begun(seen)
    letLoad(seen)
    await ended
    expect([...seen.subarray(1, 3)]).toEqual([1, 0])
  })

  it('counts as dead where it comes to a closed gate: others take its locks, and do not wait for its operation', () => {
    const stopper = entry(
      'stopper.ts',
      `import { threadData } from ${href('threads.ts')}
import { gated } from ${href('native/loading.ts')}
import { Segment } from ${href('segment.ts')}
const words = new Int32Array(threadData<SharedArrayBuffer>())
const segment = Segment.ofProcess({ staticBytes: 4096, sizeBytes: 1 << 27 })
segment.lock(segment.controlLock)
segment.enterNow()
Atomics.store(words, 0, 1)
Atomics.wait(words, 1, 0)
gated(() => Atomics.store(words, 2, 1))
`,
    )
    const main = entry(
      'stopped.ts',
      `import { startThread } from ${href('threads.ts')}
import { Segment } from ${href('segment.ts')}
const segment = Segment.ofProcess({ staticBytes: 4096, sizeBytes: 1 << 27 })
const words = new Int32Array(new SharedArrayBuffer(16))
startThread(new URL(${JSON.stringify(stopper.href)}), { workerData: words.buffer })
process.on('exit', () => {
  Atomics.store(words, 1, 1)
  Atomics.notify(words, 1)
  segment.quiesce()
  segment.lock(segment.controlLock)
  console.log('ended', words[2])
})
const look = () => {
  if (Atomics.load(words, 0) === 1) process.exit(3)
  setTimeout(look, 1)
}
look()
`,
    )
    const options = { encoding: 'utf8', timeout: 20_000, killSignal: 'SIGKILL' } as const
    const { stdout, status } = spawnSync(process.execPath, ['--import', 'tsx', main.pathname], options)
    expect({ stdout, status }).toEqual({ stdout: 'ended 0\n', status: 3 })
  })
})
