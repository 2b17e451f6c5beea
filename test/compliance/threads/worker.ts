/** What the threads of the compliance tests share: an end of a connection in another thread, and waiting. */
import { parentPort } from 'node:worker_threads'
import {
  Access,
  type CompletionQueue,
  type Context,
  connectQp,
  endpointOf,
  openDevice,
  type QpEndpoint,
  QpType,
  type QueuePair,
  type WorkCompletion,
  workCompletions,
} from '../../../src/index.ts'
import { threadData } from '../../../src/memory/index.ts'
import type { ThreadData } from './start.ts'

export const access = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic
export const messageBytes = 1024

export function data<T extends ThreadData>(): T {
  return threadData<T>()
}

export function open(): Context {
  const { name, options } = data()
  return openDevice(name, options)
}

export function say(message: unknown): void {
  parentPort!.postMessage(message)
}

/** The next message of the test. */
export function hear<T>(): Promise<T> {
  return new Promise((resolve) => parentPort!.once('message', (message) => resolve(message as T)))
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export async function pollOne(cq: CompletionQueue, wc: WorkCompletion[] = workCompletions(1)): Promise<WorkCompletion> {
  const deadline = performance.now() + 20_000
  while (cq.poll(wc, 1) === 0) {
    if (performance.now() > deadline) throw new Error('no completion in the thread')
    await turn()
  }
  return wc[0]!
}

/** A queue pair with all it needs; closing closes all. */
export function makeEnd(context: Context, slots = 32) {
  const pd = context.allocPd()
  const cq = context.createCq(4 * slots)
  const buffer = context.alloc(16384)
  const mr = pd.regMr(buffer, access)
  const cap = { maxSendWr: slots, maxRecvWr: slots, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
  const qp: QueuePair<typeof QpType.RC> = pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap })
  return {
    context,
    pd,
    cq,
    mr,
    qp,
    buffer,
    sge: (offset = 0, length = messageBytes) => ({ addr: mr.addr + offset, length, lkey: mr.lkey }),
    endpoint: (gidIndex = 0): QpEndpoint => endpointOf(qp, { gidIndex }),
    connect(local: QpEndpoint, remote: QpEndpoint, options: object = {}): void {
      connectQp(qp, local, remote, {
        pathMtu: 1024,
        accessFlags: access,
        timeout: 10,
        retryCnt: 3,
        rnrRetry: 7,
        minRnrTimer: 1,
        ...options,
      })
    },
    close(): void {
      for (const object of [qp, mr, cq, pd]) object.close()
      context.free(buffer)
    },
  }
}
