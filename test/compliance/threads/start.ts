/** Starts the threads of the compliance tests and talks with them. */
import type { CqHandle, OpenOptions, QpEndpoint, QpHandle, Sge } from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'
import type { Setup } from '../rig.ts'

/** What every thread gets: which device to open. */
export interface ThreadData {
  name: string
  options: OpenOptions
}

export interface EchoData extends ThreadData {
  remote: QpEndpoint
  messages: number
}

export interface ChurnData extends ThreadData {
  rounds: number
}

export interface VictimData extends ThreadData {
  rounds: number
}

export interface PosterData extends ThreadData {
  qp: QpHandle
  sge: Sge
  /** Number of the first message, and how many. */
  first: number
  count: number
}

export interface PollerData extends ThreadData {
  cq: CqHandle
  /** How many completions the pollers have taken, in shared memory. */
  taken: Int32Array
}

export interface Running {
  /** The next message of the thread; rejects when the thread fails or ends. */
  next<T>(): Promise<T>
  post(message: unknown): void
}

/** A thread that runs `threads/${file}.ts`; the test waits for its end. */
export function start<T extends ThreadData>(t: Setup, file: string, data: T): Running {
  const worker = startThread(new URL(`./${file}.ts`, import.meta.url), { workerData: data })
  const arrived: unknown[] = []
  const waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = []
  let ended: Error | null = null
  const end = (error: Error): void => {
    ended ??= error
    for (const { reject } of waiting.splice(0)) reject(ended)
  }
  worker.on('message', (message) => {
    const first = waiting.shift()
    if (first) first.resolve(message)
    else arrived.push(message)
  })
  worker.on('error', (error) => end(error as Error))
  const exit = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      end(new Error(`thread ${file} ended with code ${code}`))
      resolve()
    })
  })
  t.own({
    async close() {
      const late = setTimeout(() => void worker.terminate(), t.rig.patienceMs)
      await exit
      clearTimeout(late)
    },
  })
  return {
    next<T>(): Promise<T> {
      const message = new Promise<T>((resolve, reject) => {
        if (arrived.length > 0) resolve(arrived.shift() as T)
        else if (ended) reject(ended)
        else waiting.push({ resolve: (value) => resolve(value as T), reject })
      })
      // A test may fail before it looks.
      message.catch(() => {})
      return message
    },
    post: (message) => worker.postMessage(message),
  }
}

/** A thread that sends every message back; `done` when it has sent the last one. */
export async function startEcho(
  t: Setup,
  data: EchoData,
): Promise<{ endpoint: QpEndpoint; nodeGuid: bigint; done: Promise<unknown> }> {
  const echo = start(t, 'echo', data)
  const first = await echo.next<{ endpoint: QpEndpoint; nodeGuid: bigint }>()
  return { ...first, done: echo.next() }
}
