/**
 * The processes of a measurement, and calls to them, as `Peer` and `serve` are for threads: the parent asks, a child
 * answers with what one of its handlers returns or throws. What is not answered in time, or not any more, fails.
 */
import { type ChildProcess, fork } from 'node:child_process'

interface Call {
  id: number
  name: string
  argument: unknown
}

interface Reply {
  id: number
  value?: unknown
  error?: string
}

/** In a child: answers the calls of its parent, and ends when that is gone. */
export function serveParent(handlers: Record<string, (argument: never) => unknown>): void {
  process.on('message', ({ id, name, argument }: Call) => {
    const reply: Reply = { id }
    try {
      reply.value = handlers[name]!(argument as never)
    } catch (error) {
      reply.error = error instanceof Error ? error.message : String(error)
    }
    process.send?.(reply)
  })
  process.on('disconnect', () => process.exit(0))
  // Ctrl-C at a terminal is for the whole group of processes: the parent ends its children.
  process.on('SIGINT', () => {})
}

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout
}

const patienceMs = 2_000

export class ProcessPeer {
  readonly name: string
  readonly #child: ChildProcess
  readonly #pending = new Map<number, Pending>()
  #next = 1
  #ended: string | null = null

  constructor(name: string, module: URL) {
    this.name = name
    this.#child = fork(module, [], { serialization: 'advanced' })
    this.#child.on('message', (reply) => this.#settle(reply as unknown as Reply))
    this.#child.on('error', (error) => this.#fail(`the ${name} process failed: ${error.message}`))
    this.#child.on('exit', (code, signal) => this.#fail(`the ${name} process ended with ${signal ?? `code ${code}`}`))
  }

  call<T>(name: string, argument: unknown, timeoutMs: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#ended !== null) {
        reject(new Error(this.#ended))
        return
      }
      const id = this.#next++
      const timer = setTimeout(() => {
        this.#pending.delete(id)
        reject(new Error(`the ${this.name} process did not answer '${name}' within ${timeoutMs} ms`))
      }, timeoutMs)
      this.#pending.set(id, { resolve: resolve as (value: unknown) => void, reject, timer })
      this.#child.send({ id, name, argument } satisfies Call)
    })
  }

  /** Ends the process: by itself, so that it can tidy up, or if it polls and hears nothing, by a signal. */
  async end(): Promise<void> {
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const timer = setTimeout(() => this.kill(), patienceMs)
    if (child.connected) child.disconnect()
    await exited
    clearTimeout(timer)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #settle({ id, value, error }: Reply): void {
    const pending = this.#pending.get(id)
    if (!pending) return
    this.#pending.delete(id)
    clearTimeout(pending.timer)
    if (error === undefined) pending.resolve(value)
    else pending.reject(new Error(error))
  }

  #fail(message: string): void {
    this.#ended ??= message
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer)
      reject(new Error(message))
    }
    this.#pending.clear()
  }
}
