/**
 * The threads of a measurement, and calls to them. The main thread asks (`peer.call('prepare', …)`), a worker answers
 * with what one of its handlers returns or throws. A call that is not answered in time, or whose thread ended, fails:
 * nothing waits for ever.
 */
import { parentPort, type Worker } from 'node:worker_threads'
// The memory that all threads share is made by the first import of the verbs; workers that start later inherit it.
import '../index.ts'
import { startThread } from '../memory/index.ts'

interface Call {
  id: number
  name: string
  argument: unknown
}

interface Reply {
  id: number
  value?: unknown
  error?: { name: string; message: string }
}

export type Handlers = Record<string, (argument: never) => unknown>

/** In a worker: answers the calls of the main thread, one after the other. */
export function serve(handlers: Handlers): void {
  parentPort?.on('message', (call: Call) => {
    void answer(handlers, call).then((reply) => parentPort?.postMessage(reply))
  })
}

async function answer(handlers: Handlers, { id, name, argument }: Call): Promise<Reply> {
  try {
    return { id, value: await handlers[name]!(argument as never) }
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    return { id, error: { name, message } }
  }
}

/** The other thread failed, ended or did not answer. */
export class PeerError extends Error {
  override readonly name = 'PeerError'
}

/** What a timer of Node takes. */
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
  #ended = false

  /** `entry` is the thread's module: see `siblingModule`. */
  constructor(name: string, entry: URL, data?: unknown) {
    this.name = name
    this.#worker = startThread(entry, { workerData: data, name: `verbena ${name}` })
    this.#worker.on('message', (reply: Reply) => this.#settle(reply))
    this.#worker.on('error', (error) => this.#fail(`the ${name} thread failed: ${error.message}`))
    this.#worker.on('exit', () => this.#fail(`the ${name} thread ended`))
  }

  /** False once the thread has ended; another one has to be started then. */
  get alive(): boolean {
    return !this.#ended
  }

  /** At most 24 days, which is what a timer takes. */
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

  async terminate(): Promise<void> {
    this.#fail(`the ${this.name} thread was stopped`)
    await this.#worker.terminate()
  }

  #settle(reply: Reply): void {
    const pending = this.#pending.get(reply.id)
    if (!pending) return
    this.#pending.delete(reply.id)
    clearTimeout(pending.timer)
    if (reply.error) pending.reject(new PeerError(reply.error.message))
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

/** The module `name` (without suffix) beside the one whose `import.meta.url` this is, as source or as built. */
export function siblingModule(metaUrl: string, name: string): URL {
  return new URL(`./${name}${metaUrl.endsWith('.ts') ? '.ts' : '.js'}`, metaUrl)
}
