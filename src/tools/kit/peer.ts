/**
 * The threads of a measurement, and calls to them. The main thread sends a call (`peer.call('prepare', …)`), and a worker
 * returns the value or error of one of its handlers. A call that is not answered in time, or whose thread ended, fails:
 * no call waits for ever.
 */
import { parentPort, type Worker } from 'node:worker_threads'
// The memory that all threads share is created by the first import of the verbs; workers that start later inherit it.
import '../../index.ts'
import { startThread } from '../../memory/index.ts'

interface Call {
  id: number
  name: string
  argument: unknown
}

interface Reply {
  id: number
  value?: unknown
  error?: { name: string; message: string; code?: string }
}

export type Handlers = Record<string, (argument: never) => unknown>

/** Serves the calls of the main thread, one after the other; in a worker. */
export function serve(handlers: Handlers): void {
  parentPort?.on('message', (call: Call) => {
    void answer(handlers, call).then((reply) => parentPort?.postMessage(reply))
  })
}

/** Notifies the main thread while a call is still being executed; in a worker. */
export function notify(value: unknown): void {
  parentPort?.postMessage({ id: 0, value } satisfies Reply)
}

async function answer(handlers: Handlers, { id, name, argument }: Call): Promise<Reply> {
  try {
    return { id, value: await handlers[name]!(argument as never) }
  } catch (error) {
    const { name, message, code } = (error instanceof Error ? error : new Error(String(error))) as Error & {
      code?: unknown
    }
    return { id, error: { name, message, ...(typeof code === 'string' ? { code } : {}) } }
  }
}

/** Error of a call: the other thread failed, ended or did not answer. */
export class PeerError extends Error {
  override readonly name = 'PeerError'
  /** Name and code of the error that was thrown in the thread; null if it threw none. */
  readonly thrown: { name: string; code?: string } | null

  constructor(message: string, thrown: { name: string; code?: string } | null = null) {
    super(message)
    this.thrown = thrown
  }
}

/** Maximum delay of a timer of Node.js, milliseconds. */
const maxTimeoutMs = 0x7fffffff

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout
}

export class Peer {
  readonly name: string
  readonly #worker: Worker
  readonly #pending = new Map<number, Pending>()
  #next = 1
  /** Callback for values that the worker passes to `notify`. */
  onNotice: ((value: unknown) => void) | null = null
  #ended = false

  /** `entry` is the thread's module: see `entryModule`. */
  constructor(name: string, entry: URL, data?: unknown) {
    this.name = name
    this.#worker = startThread(entry, { workerData: data, name: `verbena ${name}` })
    this.#worker.on('message', (reply: Reply) => this.#settle(reply))
    this.#worker.on('error', (error) => this.#fail(`the ${name} thread failed: ${error.message}`))
    this.#worker.on('exit', () => this.#fail(`the ${name} thread ended`))
  }

  /** True until the thread has ended; then a new one has to be started. */
  get alive(): boolean {
    return !this.#ended
  }

  /** Calls a handler of the thread. `timeoutMs` is limited to 24 days, the maximum of a timer. */
  call<T>(name: string, argument: unknown, timeoutMs: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#ended) {
        reject(new PeerError(`the ${this.name} thread has ended`))
        return
      }
      const id = this.#next++
      const timer = setTimeout(
        () => {
          this.#pending.delete(id)
          reject(new PeerError(`the ${this.name} thread did not answer '${name}' within ${timeoutMs} ms`))
        },
        Math.min(timeoutMs, maxTimeoutMs),
      )
      this.#pending.set(id, { resolve: resolve as (value: unknown) => void, reject, timer })
      this.#worker.postMessage({ id, name, argument } satisfies Call)
    })
  }

  /** Lets the thread release its resources, by its handler `close`; one that does not is stopped. */
  async close(timeoutMs: number): Promise<void> {
    if (this.alive) await this.call('close', null, timeoutMs).catch(() => this.terminate())
  }

  async terminate(): Promise<void> {
    this.#fail(`the ${this.name} thread was stopped`)
    await this.#worker.terminate()
  }

  #settle(reply: Reply): void {
    if (reply.id === 0) this.onNotice?.(reply.value)
    const pending = this.#pending.get(reply.id)
    if (!pending) return
    this.#pending.delete(reply.id)
    clearTimeout(pending.timer)
    if (reply.error) pending.reject(new PeerError(reply.error.message, reply.error))
    else pending.resolve(reply.value)
  }

  #fail(message: string): void {
    this.#ended = true
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer)
      reject(new PeerError(message))
    }
    this.#pending.clear()
  }
}
