/**
 * The receiving thread. It posts a receive for every message of a phase, then waits for completions by polling or by
 * events, and writes down t_recv and the immediate, which numbers the messages. The payloads, with the sender's
 * stamps, stay where they arrived and are read afterwards.
 */
import {
  Access,
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  connectQp,
  endpointOf,
  openDevice,
  type QpEndpoint,
  type QueuePair,
  recvWr,
  type WorkCompletion,
  workCompletions,
} from '../../index.ts'
import { nowNs, threadData } from '../../memory/index.ts'
import {
  Control,
  closeAll,
  minRnrTimer,
  Phase,
  placeThread,
  qpTypes,
  recordMemory,
  strideOf,
} from '../bench-thread/index.ts'
import { serve } from '../kit/index.ts'
import {
  completionError,
  type Prepared,
  qkey,
  type ReceiverReport,
  recordWords,
  type SetRequest,
  slotsOf,
  warmupBit,
  wordsOf,
} from './latency-set.ts'
import { receiverStamps, rewriteStamps } from './stamps.ts'

const { control } = threadData<{ control: Int32Array }>()
const memory = recordMemory(4 * recordWords)
const pollBatch = 16
/** Bytes of the GRH with which a UD receive begins. */
const grhBytes = 40
/** Time without an arrival, after the sender has finished, that makes the remaining messages lost. */
const quietNs = 20e6

interface Receiving {
  cq: CompletionQueue
  channel: CompletionChannel | null
  wcs: WorkCompletion[]
  times: Float64Array
  numbers: Int32Array
  slots: Int32Array
  /** Messages of the sender, where this thread also rewrites their stamps; else null. */
  outgoing: Int32Array | null
  outgoingStrideWords: number
  phase: number
  count: number
  received: number
  deadlineNs: number
  /** First time at which the sender had finished and no message arrived; 0: not yet. */
  quietSinceNs: number
  error: string
}

let context: Context | null = null
const opened: { close(): void }[] = []
let request: SetRequest
let local: QpEndpoint
let qp: QueuePair
let receiving: Receiving
let buffer: { words: Int32Array; addr: number; lkey: number; strideBytes: number; slots: number; headroom: number }
/** Number of receives posted and used since the QP was created: the k-th uses slot k modulo the number of slots. */
let receivesPosted = 0
let receivesUsed = 0

function keep<T extends { close(): void }>(object: T): T {
  opened.push(object)
  return object
}

function prepare(asked: SetRequest): Prepared {
  request = asked
  const { settings } = request
  const pinFailure = placeThread(settings.pin, 'receiver')
  // Only the sender's requests are executed, so an engine thread at this end would have nothing to do but spin.
  context = openDevice(settings.device.split(',')[1]!)
  const slots = slotsOf(request)
  const headroom = settings.service === 'UD' ? grhBytes : 0
  const strideBytes = strideOf(settings.size + headroom)
  const pd = keep(context.allocPd())
  const bytes = context.alloc(slots * strideBytes)
  const mr = keep(pd.regMr(bytes.fill(0), Access.LocalWrite | Access.RemoteWrite))
  const channel = settings.poll === 'event' ? keep(context.createCompChannel()) : null
  const cq = keep(context.createCq(slots + 1, { singleThreaded: true, ...(channel ? { channel } : {}) }))
  const unused = keep(context.createCq(1))
  const cap = { maxSendWr: 1, maxRecvWr: slots + 1, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
  qp = keep(pd.createQp({ type: qpTypes[settings.service], sendCq: unused, recvCq: cq, cap }))
  local = endpointOf(qp)
  buffer = { words: wordsOf(bytes), addr: mr.addr, lkey: mr.lkey, strideBytes, slots, headroom }
  receivesPosted = 0
  receivesUsed = 0
  const { words } = memory
  receiving = {
    cq,
    channel,
    wcs: workCompletions(pollBatch),
    times: new Float64Array(words.buffer, 0, recordWords),
    numbers: words.subarray(2 * recordWords, 3 * recordWords),
    slots: words.subarray(3 * recordWords),
    outgoing: null,
    outgoingStrideWords: 0,
    phase: 0,
    count: 0,
    received: 0,
    deadlineNs: 0,
    quietSinceNs: 0,
    error: '',
  }
  return { endpoint: local, addr: mr.addr, rkey: mr.rkey, strideBytes, hugePages: memory.hugePages, pinFailure }
}

function connect(remote: Prepared): void {
  const accessFlags = Access.LocalWrite | Access.RemoteWrite
  connectQp(qp, local, request.settings.service === 'UD' ? null : remote.endpoint, { qkey, minRnrTimer, accessFlags })
  if (receiverStamps(request.settings)) {
    // The messages lie in memory of the sending adapter: on a network, the adapter of this end has other bytes at the same address.
    const sender = keep(openDevice(request.settings.device.split(',')[0]!))
    receiving.outgoing = wordsOf(sender.view(remote.addr, slotsOf(request) * remote.strideBytes))
    receiving.outgoingStrideWords = remote.strideBytes >> 2
  }
}

function run(): ReceiverReport {
  const { settings, warmup } = request
  const r = receiving
  let received = 0
  try {
    if (r.channel) r.cq.reqNotify()
    phase(Phase.warmup, warmup)
    if (r.error === '') {
      phase(Phase.burst, settings.burst)
      received = r.received
    }
  } catch (error) {
    r.error ||= (error as Error).message
    if (r.phase === Phase.burst) received = r.received
  }
  return report(received)
}

function report(received: number): ReceiverReport {
  const r = receiving
  const written = request.settings.op === 'write-imm'
  const numbers = new Int32Array(received)
  const stamps = new Int32Array(received)
  const times = new Float64Array(received)
  let count = 0
  for (let k = 0; k < received; k++) {
    const number = r.numbers[k]!
    if (number & warmupBit) continue
    // A SEND lies in the slot of the receive it used, a WRITE where its sender put it.
    const slot = written ? number : r.slots[k]!
    numbers[count] = number
    times[count] = r.times[k]!
    stamps[count] = buffer.words[(slot * buffer.strideBytes + buffer.headroom) >> 2]!
    count++
  }
  const done: ReceiverReport = {
    received: count,
    numbers: numbers.slice(0, count),
    stamps: stamps.slice(0, count),
    times: times.slice(0, count),
  }
  if (r.error) done.error = r.error
  return done
}

function phase(number: number, count: number): void {
  const r = receiving
  r.phase = number
  r.count = count
  r.received = 0
  r.quietSinceNs = 0
  r.deadlineNs = nowNs() + request.timeoutNs
  postReceives(count)
  Atomics.store(control, Control.receiverPhase, number)
  if (r.channel === null) receiveBusy(r)
  else receiveEvents(r)
  receivesUsed += r.received
}

/** Posts receives until `count` are posted; those that a lost warm-up message left over are used first. */
function postReceives(count: number): void {
  const { addr, lkey, strideBytes, slots, headroom } = buffer
  const { op, size } = request.settings
  const wr = recvWr({ sgList: op === 'write-imm' ? [] : [{ addr, length: size + headroom, lkey }] })
  while (receivesPosted - receivesUsed < count) {
    const slot = receivesPosted % slots
    wr.wrId = slot
    if (wr.sgList.length > 0) wr.sgList[0]!.addr = addr + slot * strideBytes
    qp.postRecv(wr)
    receivesPosted++
  }
}

function receiveBusy(r: Receiving): void {
  let idle = 0
  while (r.received < r.count) {
    if (r.outgoing !== null) rewriteStamps(r.outgoing, r.outgoingStrideWords, control, r.received)
    if (take(r) > 0) idle = 0
    else if (r.error !== '' || ((++idle & 255) === 0 && finished(r))) return
  }
}

function receiveEvents(r: Receiving): void {
  while (r.received < r.count) {
    const cq = r.channel!.getEvent(20)
    if (cq === null) {
      if (r.error !== '' || finished(r)) return
      continue
    }
    cq.ackEvents(1)
    cq.reqNotify()
    while (take(r) > 0);
  }
}

function take(r: Receiving): number {
  const n = r.cq.poll(r.wcs)
  if (n === 0) return 0
  const t = nowNs()
  if (n < 0) {
    r.error = 'the receive CQ overran'
    return 0
  }
  for (let i = 0; i < n; i++) {
    const wc = r.wcs[i]!
    if (wc.status !== 0) {
      r.error = completionError(wc.status)
      return 0
    }
    const k = r.received
    r.times[k] = t
    r.numbers[k] = wc.immData
    r.slots[k] = wc.wrId
    r.received = k + 1
  }
  r.quietSinceNs = 0
  control[Control.received] = r.received
  return n
}

/** True if no more messages are expected; called after a while without arrivals. */
function finished(r: Receiving): boolean {
  const now = nowNs()
  if (now > r.deadlineNs) return true
  if (Atomics.load(control, Control.stop) === 0 && Atomics.load(control, Control.senderPhase) < r.phase) return false
  if (r.quietSinceNs === 0) r.quietSinceNs = now
  return now - r.quietSinceNs > quietNs
}

function close(): void {
  const closing = context
  context = null
  closeAll(opened, closing)
}

serve({ prepare, connect, run, close })
