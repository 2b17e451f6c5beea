import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { isMainThread, threadId as nodeThreadId, type Worker, workerData } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { atExit } from '../../src/memory/index.ts'
import {
  osThreadId,
  readStat,
  runs,
  startThread,
  threadAlive,
  threadData,
  threadId,
  threadStartTime,
} from '../../src/memory/threads.ts'
import { useScratchModules } from './scratch-modules.ts'

const hasProc = existsSync('/proc/thread-self')
const threadsUrl = new URL('../../src/memory/threads.ts', import.meta.url).href
const entry = useScratchModules('threads')

async function firstMessage(worker: Worker): Promise<Record<string, unknown>> {
  const failed = new Promise<never>((_, reject) => worker.once('error', reject))
  const [message] = await Promise.race([once(worker, 'message'), failed])
  return message
}

describe('startThread', () => {
  it('runs a TypeScript entry that imports TypeScript, with its data in both places', async () => {
    const worker = startThread(
      entry(
        'entry.ts',
        `import { parentPort, workerData, threadId as nodeThreadId } from 'node:worker_threads'
import { osThreadId, threadData, threadId } from ${JSON.stringify(threadsUrl)}
const data: { word: SharedArrayBuffer; port: MessagePort } = threadData()
Atomics.store(new Int32Array(data.word), 0, 42)
parentPort!.postMessage({ same: data === workerData, keys: Object.keys(workerData), ids: threadId === nodeThreadId && threadId > 0, tid: osThreadId() })
setInterval(() => {}, 1000)
`,
      ),
      { workerData: { word: new SharedArrayBuffer(4), list: [1] }, name: 'verbena-test' },
    )
    const message = await firstMessage(worker)
    expect(message).toMatchObject({ same: true, keys: ['word', 'list'], ids: true })
    const tid = message.tid as number
    if (hasProc) {
      const startTime = threadStartTime(process.pid, tid)
      expect(tid).not.toBe(osThreadId())
      expect(startTime).toBeGreaterThan(0)
      expect(threadAlive(process.pid, tid, startTime)).toBe(true)
      expect(threadAlive(process.pid, tid, startTime + 1)).toBe(false)
      await worker.terminate()
      expect(threadAlive(process.pid, tid, startTime)).toBe(false)
    } else await worker.terminate()
  })

  it('runs a JavaScript entry, with any data', async () => {
    const url = entry(
      'entry.mjs',
      `import { parentPort, workerData } from 'node:worker_threads'; parentPort.postMessage({ workerData })`,
    )
    for (const workerData of [undefined, null, 7, 'text', { entry: 'mine', data: [1] }])
      expect(await firstMessage(startThread(url, { workerData }))).toEqual({ workerData })
  })

  it('gives a TypeScript entry any data', async () => {
    const url = entry(
      'any.ts',
      `import { parentPort, workerData } from 'node:worker_threads'; parentPort!.postMessage({ workerData } satisfies object)`,
    )
    for (const workerData of [undefined, 'text', { entry: 'mine', data: [1] }])
      expect(await firstMessage(startThread(url, { workerData }))).toEqual({ workerData })
  })

  it('passes the transfer list on', async () => {
    const url = entry(
      'transfer.ts',
      `import { parentPort, workerData } from 'node:worker_threads'; parentPort!.postMessage({ bytes: (workerData as ArrayBuffer).byteLength })`,
    )
    const bytes = new ArrayBuffer(24)
    expect(await firstMessage(startThread(url, { workerData: bytes, transferList: [bytes] }))).toEqual({ bytes: 24 })
    expect(bytes.byteLength).toBe(0)
  })

  it('reports an error in the entry', async () => {
    const worker = startThread(entry('bad.ts', `const text: string = 'no'; throw new TypeError(text)`))
    const [error] = await once(worker, 'error')
    expect(error).toMatchObject({ name: 'TypeError', message: 'no' })
  })

  it('has no data in the main thread, an own number everywhere', () => {
    expect(threadId).toBe(nodeThreadId)
    expect(threadData()).toBe(isMainThread ? undefined : workerData)
  })
})

describe.skipIf(!hasProc)('threads of the kernel (skipped without /proc)', () => {
  it('knows this thread', () => {
    const tid = osThreadId()
    expect(existsSync(`/proc/${process.pid}/task/${tid}`)).toBe(true)
    const startTime = threadStartTime(process.pid, tid)
    expect(startTime).toBeGreaterThan(0)
    expect(threadAlive(process.pid, tid, startTime)).toBe(true)
    expect(threadAlive(process.pid, tid, 0)).toBe(true)
    expect(threadAlive(process.pid, tid, startTime - 1)).toBe(false)
  })

  it('knows that others do not exist', () => {
    expect(threadStartTime(0, 0)).toBe(0)
    expect(threadStartTime(process.pid, 2 ** 30)).toBe(0)
    expect(threadAlive(2 ** 30, 2 ** 30, 0)).toBe(false)
    expect(threadAlive(0, 0, 0)).toBe(false)
    expect(threadAlive(-1, 5, 0)).toBe(false)
  })

  it('reads the start time behind a name with spaces and parentheses', async () => {
    const child = spawn(
      process.execPath,
      ['-e', `process.title = 'a) (b 1 2) R 3'; console.log('up'); setInterval(() => {}, 1000)`],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(child.stdout, 'data')
    const pid = child.pid!
    expect(readFileSync(`/proc/${pid}/stat`, 'latin1')).toContain('(a) (b 1 2)')
    const startTime = threadStartTime(pid, pid)
    const own = threadStartTime(process.pid, process.pid)
    expect(startTime).toBeGreaterThanOrEqual(own)
    expect(threadAlive(pid, pid, startTime)).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(threadAlive(pid, pid, startTime)).toBe(false)
  })

  it('takes a thread of this process that is ending for dead, though the kernel still shows it', () => {
    const text = readFileSync('/proc/thread-self/stat', 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [flags, exiting] = [9 - 3, 4]
    expect(runs(readStat(text), true)).toBe(true)
    fields[flags] = `${Number(fields[flags]) | exiting}`
    const ending = readStat(`7 (a) b) ${fields.join(' ')}`)
    expect(runs(ending, true)).toBe(false)
    // One of another process may still have descriptors.
    expect(runs(ending, false)).toBe(true)
    expect(ending.startTime).toBe(threadStartTime(process.pid, osThreadId()))
  })

  it('takes a zombie for dead', async () => {
    // The shell starts a child, prints its id, and becomes a program that never waits for it.
    const shell = spawn('sh', ['-c', 'sleep 0.05 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(shell.stdout, 'data')
    const pid = Number(String(line))
    for (let i = 0; i < 500 && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')); i++)
      await new Promise((r) => setTimeout(r, 10))
    expect(threadStartTime(pid, pid)).toBeGreaterThan(0)
    expect(threadAlive(pid, pid, threadStartTime(pid, pid))).toBe(false)
    shell.kill('SIGKILL')
    await once(shell, 'exit')
  })
})

it('what is done at the exit of a thread needs no listener more', () => {
  // Modules that are loaded here have something to do then.
  const listeners = process.listenerCount('exit')
  atExit(() => undefined)
  expect([listeners > 0, process.listenerCount('exit')]).toEqual([true, listeners])
})

it('asks for the process where the thread is not known', () => {
  expect(threadAlive(process.pid, 0, 0)).toBe(true)
  expect(threadAlive(2 ** 22 + 12_345, 0, 0)).toBe(false)
})
