/**
 * The echo of docs/guide/tutorial.md as two loops, one for arrivals that are seen in memory and one for arrivals that
 * make completions. Both ends run the same code:
 *
 *     client   posts all its messages once, then posts each again when it has come back
 *     server   posts each message when it has arrived
 *
 * Messages lie in slots of an outbox and an inbox, in a ring. Slots that are posted together (write-batch) form a
 * group; all other slots are groups of one. Every payload is 'AA…A', so that its first and last byte show that it has arrived;
 * the receiver clears them before it answers.
 */
import {
  type CompletionQueue,
  type QueuePair,
  type RecvWorkRequest,
  SendFlag,
  type SendWorkRequest,
  type SharedReceiveQueue,
  type WorkCompletion,
} from '../../index.ts'
import { nowNs } from '../../memory/index.ts'
import { Control } from '../bench-thread/index.ts'

export const letter = 65
/** Number of requests of which selective signaling signals one. */
export const signalEvery = 64

export interface Echo {
  client: boolean
  control: Int32Array
  /** Queue pairs; slot i uses `qps[i % qps.length]`. */
  qps: QueuePair[]
  srq: SharedReceiveQueue | null
  sendCq: CompletionQueue
  recvCq: CompletionQueue
  wcs: WorkCompletion[]
  sendWcs: WorkCompletion[]
  /** Prepared requests, one for each slot; those of a group are linked. */
  sends: SendWorkRequest[]
  /** Prepared receives, one for each slot; empty when arrivals are seen in memory. */
  receives: RecvWorkRequest[]
  /** First slot of each group, and one past the last. */
  groups: Int32Array
  /** Meaning of the immediate: the slot (write-imm) or the rank of the QP (srq); else the receive's wrId is the slot. */
  immIs: 'slot' | 'rank' | 'none'
  flags: number
  /** Number of requests of which one is signaled. */
  signalEvery: number
  /** Number of requests that a send queue takes. */
  depth: number
  inbox: Uint8Array
  strideBytes: number
  sizeBytes: number
  /** Number of requests in the send queue of each QP, and number of them since the last signaled one. */
  outstanding: Int32Array
  sinceSignal: Int32Array
  /** Number of messages that have arrived. */
  arrived: number
  error: string
}

export interface EchoTarget {
  /** Number of messages before the measurement begins; the wait for them is at most as long as the measurement. */
  warmup: number
  /** Number of messages, or duration, that ends the measurement; whichever is reached first. */
  messages: number
  durationNs: number
}

export interface EchoResult {
  messages: number
  seconds: number
  error?: string
}

const stallNs = 5e9

/** Runs one end until the client has reached its target. At the server the result is empty. */
export function echo(e: Echo, target: EchoTarget): EchoResult {
  const meter = {
    beganNs: nowNs(),
    startNs: 0,
    startMessages: 0,
    endNs: 0,
    endMessages: 0,
    warmup: target.warmup,
    messages: target.messages,
    durationNs: target.durationNs,
  }
  if (e.client) for (let g = 0; g < e.groups.length - 1; g++) postGroup(e, g)
  if (e.receives.length > 0) echoCompletions(e, meter)
  else echoMemory(e, meter)
  if (meter.endNs === 0 && meter.startNs !== 0) {
    // The run was stopped: messages that had arrived by then are included.
    meter.endNs = nowNs()
    meter.endMessages = e.arrived
  }
  const seconds = (meter.endNs - meter.startNs) / 1e9
  const result: EchoResult = { messages: meter.endMessages - meter.startMessages, seconds }
  if (e.error !== '') result.error = e.error
  return result
}

interface Meter extends EchoTarget {
  beganNs: number
  startNs: number
  startMessages: number
  endNs: number
  endMessages: number
}

/** Returns false when the measurement has ended: then the client posts no more. */
function measure(e: Echo, meter: Meter): boolean {
  if (meter.endNs !== 0) return false
  const now = nowNs()
  if (meter.startNs === 0) {
    if (e.arrived < meter.warmup && now - meter.beganNs < meter.durationNs) return true
    meter.startNs = now
    meter.startMessages = e.arrived
    return true
  }
  const messages = e.arrived - meter.startMessages
  if (
    now - meter.startNs < meter.durationNs &&
    messages < meter.messages &&
    Atomics.load(e.control, Control.stop) === 0
  )
    return true
  meter.endNs = now
  meter.endMessages = e.arrived
  return false
}

/** Number of messages between two reads of the clock. */
const measureEvery = 64

function echoMemory(e: Echo, meter: Meter): void {
  const { groups, inbox, strideBytes, sizeBytes, client } = e
  const groupCount = groups.length - 1
  const slots = groups[groupCount]!
  let underWay = client ? slots : 0
  let active = true
  let sinceMeasure = 0
  let slot = 0
  let group = 0
  for (;;) {
    const first = slot * strideBytes
    const last = first + sizeBytes - 1
    if (Atomics.load(inbox, last) !== letter || Atomics.load(inbox, first) !== letter) {
      if (!waitInMemory(e, first, last)) return
    }
    inbox[first] = 0
    inbox[last] = 0
    e.arrived++
    slot++
    if (slot < groups[group + 1]!) continue
    const size = groups[group + 1]! - groups[group]!
    if (client) {
      sinceMeasure += size
      if (sinceMeasure >= measureEvery || !active) {
        sinceMeasure = 0
        active = measure(e, meter)
      }
    }
    if (!client || active) postGroup(e, group)
    else {
      underWay -= size
      if (underWay === 0) return
    }
    if (e.error !== '') return
    group++
    if (group === groupCount) {
      group = 0
      slot = 0
    }
  }
}

/** Polls two bytes until both are there; returns false if it is time to end. */
function waitInMemory(e: Echo, first: number, last: number): boolean {
  const { inbox } = e
  let idle = 0
  let sinceNs = 0
  while (Atomics.load(inbox, last) !== letter || Atomics.load(inbox, first) !== letter) {
    if ((++idle & 1023) !== 0) continue
    if (sinceNs === 0) sinceNs = nowNs()
    // An engine may still execute what was posted: its completions are checked, too.
    if (over(e, sinceNs) || !stillWell(e)) return false
  }
  return true
}

function echoCompletions(e: Echo, meter: Meter): void {
  const { recvCq, wcs, qps, srq, sends, receives, client, immIs } = e
  const qpCount = qps.length
  let underWay = client ? sends.length : 0
  let active = true
  let sinceMeasure = 0
  let idle = 0
  let sinceNs = 0
  for (;;) {
    const n = recvCq.poll(wcs)
    if (n <= 0) {
      if (n < 0) e.error = 'the receive CQ overran'
      if (e.error !== '') return
      if ((++idle & 255) !== 0) continue
      if (sinceNs === 0) sinceNs = nowNs()
      if (over(e, sinceNs) || !stillWell(e)) return
      continue
    }
    idle = 0
    sinceNs = 0
    for (let i = 0; i < n; i++) {
      const wc = wcs[i]!
      if (wc.status !== 0) {
        e.error = `a receive ended with: ${wc.statusText}`
        return
      }
      e.arrived++
      // The queue pair that it arrived on, where the answer goes, and the receive that it consumed.
      const from = immIs === 'none' ? wc.wrId : wc.immData
      const q = from % qpCount
      const receive = receives[wc.wrId]!
      if (srq === null) qps[q]!.postRecv(receive)
      else srq.postRecv(receive)
      if (client) {
        if (++sinceMeasure >= measureEvery || !active) {
          sinceMeasure = 0
          active = measure(e, meter)
        }
        if (!active) {
          if (--underWay === 0) return
          continue
        }
      }
      postOne(e, q, sends[from]!)
      if (e.error !== '') return
    }
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
/** Time after which a waiting thread may share its core with the thread it waits for, and sleeps to let that one run. */
const politeAfterNs = 100_000

/** True when this end, waiting since `sinceNs`, has to give up or has been requested to end. */
function over(e: Echo, sinceNs: number): boolean {
  if (!e.client && Atomics.load(e.control, Control.senderPhase) === 1) return true
  if (Atomics.load(e.control, Control.stop) !== 0) return true
  const waitedNs = nowNs() - sinceNs
  if (waitedNs > politeAfterNs) Atomics.wait(sleeper, 0, 0, 0.02)
  if (waitedNs < stallNs) return false
  if (e.client) e.error = `no message came for ${stallNs / 1e9} s: one was lost`
  return e.client
}

function postGroup(e: Echo, group: number): void {
  const first = e.groups[group]!
  const size = e.groups[group + 1]! - first
  const { sends } = e
  const q = first % e.qps.length
  if (!makeRoom(e, q, size)) return
  for (let i = 0; i < size; i++) mark(e, q, sends[first + i]!)
  e.qps[q]!.postSend(sends[first]!)
  if (e.signalEvery === 1) collect(e)
}

function postOne(e: Echo, q: number, wr: SendWorkRequest): void {
  if (!makeRoom(e, q, 1)) return
  mark(e, q, wr)
  e.qps[q]!.postSend(wr)
  if (e.signalEvery === 1) collect(e)
}

/** Signals a request of QP q if its turn has come. Its wrId is the QP, so that the completion identifies the queue it released. */
function mark(e: Echo, q: number, wr: SendWorkRequest): void {
  wr.wrId = q
  e.outstanding[q]!++
  const since = e.sinceSignal[q]! + 1
  if (since === e.signalEvery) {
    e.sinceSignal[q] = 0
    wr.sendFlags = e.flags | SendFlag.Signaled
  } else {
    e.sinceSignal[q] = since
    wr.sendFlags = e.flags
  }
}

/** Waits until the send queue of QP q has room for `count` more requests. */
function makeRoom(e: Echo, q: number, count: number): boolean {
  let idle = 0
  let sinceNs = 0
  while (e.outstanding[q]! + count > e.depth) {
    if (collect(e) > 0) continue
    if (e.error !== '') return false
    if ((++idle & 255) !== 0) continue
    if (sinceNs === 0) sinceNs = nowNs()
    if (over(e, sinceNs)) return false
  }
  return true
}

/** Collects completions. Each indicates that all requests of its QP since the last signaled one are done. */
function collect(e: Echo): number {
  const n = e.sendCq.poll(e.sendWcs)
  for (let i = 0; i < n; i++) {
    const wc = e.sendWcs[i]!
    if (wc.status !== 0) {
      e.error = `a send ended with: ${wc.statusText}`
      return 0
    }
    e.outstanding[wc.wrId]! -= e.signalEvery
  }
  if (n < 0) e.error = 'the send CQ overran'
  return n
}

function stillWell(e: Echo): boolean {
  collect(e)
  return e.error === ''
}
