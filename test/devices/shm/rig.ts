/** What the tests of the shm device share: ends of connections, threads that play a part, and waiting. */
import type { Worker } from 'node:worker_threads'
import {
  Access,
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  connectQp,
  endpointOf,
  type OpenOptions,
  type QpEndpoint,
  QpType,
  type QueuePair,
  type SharedReceiveQueue,
  workCompletions,
} from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'

export const access = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic
/** How long anything may take that must happen; it decides only how late a test fails. */
export const patienceMs = 30_000

export interface EndOptions {
  slots?: number
  bytes?: number
  cqe?: number
  recvCq?: CompletionQueue
  srq?: SharedReceiveQueue
  maxSendSge?: number
  /** Of both completion queues. */
  channel?: CompletionChannel
  /** As `createCq` has it. */
  inLoop?: boolean
}

/** A queue pair of RC with everything it needs. */
export function makeEnd(context: Context, options: EndOptions = {}) {
  const slots = options.slots ?? 64
  const pd = options.srq?.pd ?? context.allocPd()
  const init = options.channel ? { channel: options.channel, inLoop: options.inLoop === true } : {}
  const cq = context.createCq(options.cqe ?? 4 * slots, init)
  const recvCq = options.recvCq ?? context.createCq(options.cqe ?? 4 * slots, init)
  const buffer = context.alloc(options.bytes ?? 65536)
  const mr = pd.regMr(buffer, access)
  const cap = {
    maxSendWr: slots,
    maxRecvWr: slots,
    maxSendSge: options.maxSendSge ?? 2,
    maxRecvSge: 1,
    maxInlineData: 64,
  }
  const qp: QueuePair<typeof QpType.RC> = pd.createQp({
    type: QpType.RC,
    sendCq: cq,
    recvCq,
    cap,
    ...(options.srq ? { srq: options.srq } : {}),
  })
  let mrOpen = true
  return {
    context,
    pd,
    cq,
    recvCq,
    buffer,
    mr,
    qp,
    sge: (offset = 0, length = 64) => ({ addr: mr.addr + offset, length, lkey: mr.lkey }),
    closeMr(): void {
      mr.close()
      mrOpen = false
    },
    close(): void {
      qp.close()
      if (mrOpen) mr.close()
      cq.close()
      if (!options.recvCq) recvCq.close()
      if (!options.srq) pd.close()
      context.free(buffer)
    },
  }
}
export type End = ReturnType<typeof makeEnd>

export const timing = { timeout: 10, retryCnt: 3, rnrRetry: 7, minRnrTimer: 1, accessFlags: access } as const

export function connect(a: End, b: End, options: object = {}): void {
  const [toB, toA] = [endpointOf(b.qp), endpointOf(a.qp)]
  connectQp(a.qp, toA, toB, { ...timing, ...options })
  connectQp(b.qp, toB, toA, { ...timing, ...options })
}

export function connectQpTo(end: End, local: QpEndpoint, remote: QpEndpoint, options: object = {}): void {
  connectQp(end.qp, local, remote, { ...timing, ...options })
}

/** Copies of the completions that are there now. */
export function drain(
  cq: CompletionQueue,
  into: { wrId: number; status: number }[] = [],
): { wrId: number; status: number }[] {
  const wc = workCompletions(32)
  for (let n = cq.poll(wc); n > 0; n = cq.poll(wc))
    for (const { wrId, status } of wc.slice(0, n)) into.push({ wrId, status })
  return into
}

/** Looks again and again, letting the event loop turn, until `ready`; fails after `patienceMs`. */
export async function until(what: string, ready: () => boolean): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!ready()) {
    if (performance.now() > deadline) throw new Error(`no ${what} within ${patienceMs} ms`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** What a part of part.worker.ts gets. */
export interface PartData {
  part: string
  device: string
  options?: OpenOptions
  [field: string]: unknown
}

export class Part {
  readonly worker: Worker
  /** Settles when the thread has ended. */
  readonly ended: Promise<void>
  readonly #arrived: unknown[] = []
  readonly #waiting: { resolve(value: unknown): void; reject(error: Error): void }[] = []
  #ended: Error | null = null

  constructor(data: PartData) {
    this.worker = startThread(new URL('./part.worker.ts', import.meta.url), { workerData: data })
    this.worker.on('message', (message) => {
      const first = this.#waiting.shift()
      if (first) first.resolve(message)
      else this.#arrived.push(message)
    })
    this.worker.on('error', (error) => this.#end(error as Error))
    this.ended = new Promise((resolve) => {
      this.worker.on('exit', (code) => {
        this.#end(new Error(`the thread '${data.part}' ended with code ${code}`))
        resolve()
      })
    })
    parts.push(this)
  }

  #end(error: Error): void {
    this.#ended ??= error
    for (const { reject } of this.#waiting.splice(0)) reject(this.#ended)
  }

  say(message: unknown): void {
    this.worker.postMessage(message)
  }

  /** The next message; fails when the thread has failed, ended, or been silent for `patienceMs`. */
  async hear<T>(): Promise<T> {
    if (this.#arrived.length > 0) return this.#arrived.shift() as T
    if (this.#ended) throw this.#ended
    let late: NodeJS.Timeout | undefined
    const message = new Promise<unknown>((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      late = setTimeout(() => reject(new Error(`a thread said nothing for ${patienceMs} ms`)), patienceMs)
    })
    try {
      return (await message) as T
    } finally {
      clearTimeout(late)
    }
  }
}

const parts: Part[] = []

/** For afterEach. */
export async function endParts(): Promise<void> {
  for (const part of parts.splice(0)) await part.worker.terminate()
}
