/**
 * The data loops of the measurements against other programs: ping-pong and stream of RC SENDs, both sides busy polling.
 * Ends in threads (pingpong.ts) and in processes (wire-end.ts) run them alike.
 *
 * As a program that cares would do it: work requests prepared once, one in 64 signaled, receives posted ahead and
 * posted again after the answer has left, separate CQs that only this thread polls.
 */
import {
  type CompletionQueue,
  type QueuePair,
  type RecvWorkRequest,
  SendFlag,
  type SendWorkRequest,
  type WorkCompletion,
} from '../src/index.ts'
import { nowNs } from '../src/memory/index.ts'
import { medianOf } from '../src/stats/index.ts'
import { Control } from '../src/tools/bench-thread/index.ts'

export interface RunRequest {
  client: boolean
  iterations: number
}

export interface PingPongResult {
  /** One way, nanoseconds: half of the mean, and half of the median round trip. The median is 0 when it was not asked for. */
  averageNs: number
  medianNs: number
}

export interface StreamResult {
  bytesPerSecond: number
}

export const receivesAhead = 256
export const sendDepth = 256
export const signalEvery = 64
/** Requests of a stream that may be outstanding. */
export const window = 128

export interface End {
  /** Says when to stop before the end. */
  control: Int32Array
  qp: QueuePair
  sendCq: CompletionQueue
  recvCq: CompletionQueue
  wcs: WorkCompletion[]
  send: SendWorkRequest
  receive: RecvWorkRequest
  /** Requests since the last signaled one. */
  unsignaled: number
  /** Requests that no completion has released. */
  outstanding: number
}

export function post(e: End): void {
  const { send } = e
  if (++e.unsignaled === signalEvery) {
    e.unsignaled = 0
    send.sendFlags = SendFlag.Signaled
  } else send.sendFlags = 0
  e.qp.postSend(send)
  e.outstanding++
  if (e.unsignaled === 0) release(e)
}

/** Takes completions of sends; one stands for all requests since the one before. */
export function release(e: End): void {
  const n = e.sendCq.poll(e.wcs)
  for (let i = 0; i < n; i++) if (e.wcs[i]!.status !== 0) throw new Error(`send: ${e.wcs[i]!.statusText}`)
  e.outstanding -= n * signalEvery
}

/** Waits for one message; false when the measurement was stopped. */
function awaitMessage(e: End): boolean {
  const { recvCq, wcs } = e
  for (let idle = 1; recvCq.poll(wcs, 1) === 0; idle++) {
    if ((idle & 0xffff) === 0 && Atomics.load(e.control, Control.stop) !== 0) return false
  }
  if (wcs[0]!.status !== 0) throw new Error(`receive: ${wcs[0]!.statusText}`)
  return true
}

/** The answer leaves before the receive is posted again: that then happens while the message is on its way. */
export function bounce(e: End, iterations: number, client: boolean): boolean {
  const { qp, receive } = e
  if (client) post(e)
  for (let i = 1; i <= iterations; i++) {
    if (!awaitMessage(e)) return false
    if (!client || i < iterations) post(e)
    qp.postRecv(receive)
  }
  return true
}

/** The same with a look at the clock in every round trip. */
function bounceTimed(e: End, times: Float64Array): boolean {
  const { qp, receive } = e
  let before = nowNs()
  post(e)
  for (let i = 1; i <= times.length; i++) {
    if (!awaitMessage(e)) return false
    if (i < times.length) post(e)
    const now = nowNs()
    times[i - 1] = now - before
    before = now
    qp.postRecv(receive)
  }
  return true
}

/** Two passes, one for the mean and one for the median, so that the clock is not part of the mean. */
export function pingPong(e: End, { client, iterations }: RunRequest): PingPongResult {
  const warmup = Math.ceil(iterations / 10)
  const timed = Math.ceil(iterations / 4)
  const times = new Float64Array(timed)
  if (!client) {
    if (!bounce(e, warmup + iterations + warmup + timed, false)) throw new Error('stopped')
    return { averageNs: 0, medianNs: 0 }
  }
  let whole = bounce(e, warmup, true)
  const start = nowNs()
  whole &&= bounce(e, iterations, true)
  const averageNs = (nowNs() - start) / iterations / 2
  whole &&= bounceTimed(e, new Float64Array(warmup)) && bounceTimed(e, times)
  if (!whole) throw new Error('stopped')
  return { averageNs, medianNs: medianOf(times) / 2 }
}

/** A stream of SENDs from the client, at most a window of them outstanding. */
export function stream(e: End, { client, iterations }: RunRequest): StreamResult {
  const warmup = Math.ceil(iterations / 10)
  if (!client) {
    if (!drain(e, warmup + iterations)) throw new Error('stopped')
    return { bytesPerSecond: 0 }
  }
  let whole = flood(e, warmup)
  const start = nowNs()
  whole &&= flood(e, iterations)
  if (!whole) throw new Error('stopped')
  return { bytesPerSecond: (iterations * e.send.sgList[0]!.length * 1e9) / (nowNs() - start) }
}

/** Ends when all are known to have arrived: the last one is signaled. */
function flood(e: End, messages: number): boolean {
  for (let i = 0; i < messages; i++) {
    if (i === messages - 1) {
      // The completion of the last one stands for all before it.
      e.outstanding += signalEvery - 1 - e.unsignaled
      e.unsignaled = signalEvery - 1
    }
    post(e)
    for (let idle = 1; e.outstanding >= window; idle++) {
      release(e)
      if ((idle & 0xffff) === 0 && Atomics.load(e.control, Control.stop) !== 0) return false
    }
  }
  for (let idle = 1; e.outstanding > 0; idle++) {
    release(e)
    if ((idle & 0xffff) === 0 && Atomics.load(e.control, Control.stop) !== 0) return false
  }
  return true
}

function drain(e: End, messages: number): boolean {
  const { qp, recvCq, wcs, receive } = e
  let idle = 0
  for (let got = 0; got < messages; ) {
    const n = recvCq.poll(wcs)
    for (let i = 0; i < n; i++) {
      if (wcs[i]!.status !== 0) throw new Error(`receive: ${wcs[i]!.statusText}`)
      qp.postRecv(receive)
    }
    got += n
    if (n === 0 && (++idle & 0xffff) === 0 && Atomics.load(e.control, Control.stop) !== 0) return false
  }
  return true
}
