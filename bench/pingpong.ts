/** One end of the measurements against another program: a thread. The other end is the same module. */
import { getHeapStatistics } from 'node:v8'
import {
  Access,
  type Context,
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  type QpEndpoint,
  QpType,
  recvWr,
  sendWr,
  workCompletions,
} from '../src/index.ts'
import { nowNs, pinThread, threadData } from '../src/memory/index.ts'
import { Control, closeAll, strideOf } from '../src/tools/bench-thread/index.ts'
import { serve } from '../src/tools/kit/index.ts'
import { bounce, type End, pingPong, type RunRequest, receivesAhead, sendDepth, stream } from './loops.ts'

export interface EndRequest {
  device: string
  sizeBytes: number
  core: number | null
}

export interface LineRequest extends RunRequest {
  /** Shared by both. */
  words: Int32Array
  core: number | null
}

/** Two lines, so that what a processor fetches along with a line is another one's. */
export const wordsApart = 32

const { control } = threadData<{ control: Int32Array }>()

let context: Context | null = null
const opened: { close(): void }[] = []
let local: QpEndpoint
let end: End

function keep<T extends { close(): void }>(object: T): T {
  opened.push(object)
  return object
}

function prepare({ device, sizeBytes, core }: EndRequest): { endpoint: QpEndpoint; pinned: boolean } {
  const pinned = core !== null && pinThread([core])
  context = openDevice(device)
  const stride = strideOf(sizeBytes)
  const pd = keep(context.allocPd())
  const mr = keep(pd.regMr(context.alloc(2 * stride).fill(1), Access.LocalWrite))
  const sendCq = keep(context.createCq(sendDepth, { singleThreaded: true }))
  const recvCq = keep(context.createCq(receivesAhead + 1, { singleThreaded: true }))
  const cap = { maxSendWr: sendDepth, maxRecvWr: receivesAhead + 1, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
  const qp = keep(pd.createQp({ type: QpType.RC, sendCq, recvCq, cap }))
  const send = sendWr({ opcode: Opcode.Send, sgList: [{ addr: mr.addr, length: sizeBytes, lkey: mr.lkey }] })
  const receive = recvWr({ sgList: [{ addr: mr.addr + stride, length: sizeBytes, lkey: mr.lkey }] })
  end = { control, qp, sendCq, recvCq, wcs: workCompletions(16), send, receive, unsignaled: 0, outstanding: 0 }
  local = endpointOf(qp)
  return { endpoint: local, pinned }
}

function connect(remote: QpEndpoint): void {
  connectQp(end.qp, local, remote, { minRnrTimer: 1 })
  for (let i = 0; i < receivesAhead; i++) end.qp.postRecv(end.receive)
}

/**
 * Bytes of heap that a message costs: the sum of all growth between looks at the heap while messages bounce, without
 * what the looks themselves cost. A collection makes the heap smaller and cannot hide growth that way.
 */
function allocation({ client, iterations }: RunRequest): { bytesPerMessage: number } {
  const chunks = 100
  const each = Math.ceil(iterations / chunks)
  const warm = bounce(end, 20_000, client)
  if (!client) {
    if (!warm || !bounce(end, each * chunks, false)) throw new Error('stopped')
    return { bytesPerMessage: 0 }
  }
  let grown = 0
  for (let chunk = 0; chunk < chunks; chunk++) {
    const before = getHeapStatistics().used_heap_size
    if (!bounce(end, each, true)) throw new Error('stopped')
    const after = getHeapStatistics().used_heap_size
    const look = getHeapStatistics().used_heap_size - after
    grown += Math.max(0, after - before - Math.max(0, look))
  }
  // A message each way.
  return { bytesPerMessage: grown / (2 * each * chunks) }
}

/**
 * What a cache line takes from one thread to the other, in nanoseconds: half of there and back. Each thread writes a word in a line
 * of its own, when it has seen the word of the other one change.
 */
function line({ words, client, iterations, core }: LineRequest): { oneWayNs: number } {
  if (core !== null) pinThread([core])
  const [mine, theirs] = client ? [0, wordsApart] : [wordsApart, 0]
  const travel = (from: number, to: number): boolean => {
    for (let i = from; i < to; i++) {
      if (client) Atomics.store(words, mine, i)
      for (let idle = 1; Atomics.load(words, theirs) !== i; idle++)
        if ((idle & 0xffff) === 0 && Atomics.load(control, Control.stop) !== 0) return false
      if (!client) Atomics.store(words, mine, i)
    }
    return true
  }
  const warmup = Math.ceil(iterations / 10)
  let whole = travel(1, 1 + warmup)
  const start = nowNs()
  whole &&= travel(1 + warmup, 1 + warmup + iterations)
  if (!whole) throw new Error('stopped')
  return { oneWayNs: (nowNs() - start) / iterations / 2 }
}

function close(): void {
  const closing = context
  context = null
  closeAll(opened, closing)
}

serve({
  prepare,
  connect,
  pingPong: (request: RunRequest) => pingPong(end, request),
  stream: (request: RunRequest) => stream(end, request),
  allocation,
  line,
  close,
})
