/**
 * The sending thread. For each message: write the time into the payload, post the prepared work request, see whether
 * completions arrived (t_comp), wait for the pause to end.
 *
 *     busy    polls the send CQ between posts and until the last completion
 *     event   looks for an event on the completion channel between posts, sleeps on it when there is nothing to post
 *
 * Nothing is allocated between the first and the last message of a phase.
 */
import {
  Access,
  type CompletionChannel,
  type CompletionQueue,
  type Context,
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  type QpEndpoint,
  type QueuePair,
  SendFlag,
  type SendWorkRequest,
  sendWr,
  type WorkCompletion,
  workCompletions,
} from '../../index.ts'
import { nowNs, threadData } from '../../memory/index.ts'
import { Random } from '../bench-kit/index.ts'
import {
  Control,
  closeAll,
  engineCores,
  minRnrTimer,
  Phase,
  placeThread,
  qpTypes,
  recordMemory,
  strideOf,
  tvNsecOf,
} from '../bench-thread/index.ts'
import { serve } from '../kit/index.ts'
import {
  completionError,
  type Prepared,
  qkey,
  recordWords,
  type SenderReport,
  type SetRequest,
  slotsOf,
  warmupBit,
  wordsOf,
} from './latency-set.ts'

const { control } = threadData<{ control: Int32Array }>()
const memory = recordMemory(4 * recordWords)
const times = new Float64Array(memory.words.buffer, 0, 2 * recordWords)
const pollBatch = 16
/** Pause between warm-up messages: the warm-up runs the same code with shorter pauses. */
const warmupPauseNs = 2000
/** Time by which a thread that sleeps may wake up late; the rest of a pause is spun. Shorter pauses are only spun. */
const sleepSlackNs = 100_000
/** Minimum rest of a pause that event mode sleeps through while a completion is outstanding. */
const eventPauseNs = 20_000

/** State of the loops: one object of one shape, whatever the settings are. */
interface Sending {
  qp: QueuePair
  wr: SendWorkRequest
  cq: CompletionQueue
  channel: CompletionChannel | null
  wcs: WorkCompletion[]
  /** Words of the payload slots. */
  words: Int32Array
  strideBytes: number
  addr: number
  remoteAddr: number
  remoteStrideBytes: number
  flags: number
  /** Number of messages of which one is signaled. */
  signalEvery: number
  depth: number
  pauseNs: number
  /** Times at which each message was posted and complete. */
  posts: Float64Array
  comps: Float64Array
  immBase: number
  count: number
  posted: number
  completed: number
  deadlineNs: number
  error: string
}

let context: Context | null = null
const opened: { close(): void }[] = []
let request: SetRequest
let local: QpEndpoint
let sending: Sending

function keep<T extends { close(): void }>(object: T): T {
  opened.push(object)
  return object
}

function prepare(asked: SetRequest): Prepared {
  request = asked
  const { settings } = request
  const pinFailure = placeThread(settings.pin, 'sender')
  context = openDevice(settings.device.split(',')[0]!, {
    engine: settings.engine,
    engineCores: engineCores(settings.pin),
  })
  const slots = slotsOf(request)
  const depth = Math.max(slots, 2)
  const strideBytes = strideOf(settings.size)
  const pd = keep(context.allocPd())
  const buffer = context.alloc(slots * strideBytes)
  const words = wordsOf(buffer)
  new Random(request.seed).fill(words)
  // The stamp is 8 bytes; its upper half is always 0.
  for (let slot = 0; slot < slots; slot++) words[((slot * strideBytes) >> 2) + 1] = 0
  const mr = keep(pd.regMr(buffer, Access.LocalWrite))
  const channel = settings.pollComp === 'event' ? keep(context.createCompChannel()) : null
  const cq = keep(context.createCq(depth + 1, { singleThreaded: true, ...(channel ? { channel } : {}) }))
  const unused = keep(context.createCq(1))
  const maxInlineData = settings.inline ? settings.size : 0
  const cap = { maxSendWr: depth, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1, maxInlineData }
  const qp = keep(pd.createQp({ type: qpTypes[settings.service], sendCq: cq, recvCq: unused, cap }))
  local = endpointOf(qp)
  sending = {
    qp,
    wr: sendWr({
      opcode: Opcode.SendWithImm,
      immData: 0,
      sgList: [{ addr: mr.addr, length: settings.size, lkey: mr.lkey }],
    }),
    cq,
    channel,
    wcs: workCompletions(pollBatch),
    words,
    strideBytes,
    addr: mr.addr,
    remoteAddr: 0,
    remoteStrideBytes: 0,
    flags: settings.inline ? SendFlag.Inline : 0,
    signalEvery: settings.unsignaled ? Math.max(1, depth >> 1) : 1,
    depth,
    pauseNs: 0,
    posts: times.subarray(0, recordWords),
    comps: times.subarray(recordWords),
    immBase: 0,
    count: 0,
    posted: 0,
    completed: 0,
    deadlineNs: 0,
    error: '',
  }
  return { endpoint: local, addr: mr.addr, rkey: mr.rkey, strideBytes, hugePages: memory.hugePages, pinFailure }
}

function connect(remote: Prepared): void {
  const { qp, wr } = sending
  const { service, op } = request.settings
  const datagram = service === 'UD'
  connectQp(qp, local, datagram ? null : remote.endpoint, { qkey, minRnrTimer })
  if (datagram) {
    const { lid, gid, qpn } = remote.endpoint
    wr.ah = keep(qp.pd.createAh({ dlid: lid, portNum: 1, grh: { dgid: gid } }))
    wr.remoteQpn = qpn
    wr.remoteQkey = qkey
  }
  if (op === 'write-imm') {
    wr.opcode = Opcode.WriteWithImm
    wr.rkey = remote.rkey
  }
  sending.remoteAddr = remote.addr
  sending.remoteStrideBytes = remote.strideBytes
}

/** Runs warm-up and burst. The report also has what was posted and completed before a failure. */
function run(): SenderReport {
  const { settings, warmup } = request
  times.fill(Number.NaN)
  let posted = 0
  try {
    if (sending.channel) sending.cq.reqNotify()
    if (phase(Phase.warmup, warmup, warmupBit)) {
      times.fill(Number.NaN)
      phase(Phase.burst, settings.burst, 0)
      posted = sending.posted
    }
  } catch (error) {
    sending.error ||= (error as Error).message
    if (control[Control.receiverPhase] === Phase.burst) posted = sending.posted
  }
  Atomics.store(control, Control.senderPhase, Phase.burst)
  const report: SenderReport = {
    posted,
    times: sending.posts.slice(0, posted),
    comps: sending.comps.slice(0, posted),
  }
  if (sending.error) report.error = sending.error
  return report
}

/** Runs one phase; returns true if all its messages were posted and completed. */
function phase(number: number, count: number, immBase: number): boolean {
  const s = sending
  s.count = count
  s.immBase = immBase
  s.posted = 0
  s.completed = 0
  s.pauseNs = number === Phase.warmup ? Math.min(request.settings.pause, warmupPauseNs) : request.settings.pause
  s.deadlineNs = nowNs() + request.timeoutNs
  control[Control.completed] = 0
  control[Control.posted] = 0
  while (Atomics.load(control, Control.receiverPhase) < number) if (halted(s)) return false
  const done = sendAll(s)
  Atomics.store(control, Control.senderPhase, number)
  return done
}

function sendAll(s: Sending): boolean {
  const { qp, wr, words, posts, count, strideBytes, remoteStrideBytes, signalEvery, pauseNs } = s
  const sge = wr.sgList[0]!
  const last = count - 1
  for (let i = 0; i < count; i++) {
    if (i - s.completed >= s.depth && !completeUntil(s, i - s.depth + 1)) return false
    sge.addr = s.addr + i * strideBytes
    wr.remoteAddr = s.remoteAddr + i * remoteStrideBytes
    wr.wrId = i
    wr.immData = s.immBase + i
    wr.sendFlags = (i + 1) % signalEvery === 0 || i === last ? s.flags | SendFlag.Signaled : s.flags
    s.posted = i + 1
    const now = nowNs()
    posts[i] = now
    words[(i * strideBytes) >> 2] = tvNsecOf(now)
    // The stamping thread may rewrite this slot from here on.
    control[Control.posted] = i + 1
    qp.postSend(wr)
    if (pauseNs === 0) look(s)
    else if (!pauseUntil(s, nowNs() + pauseNs)) return false
    if (s.error !== '' || Atomics.load(control, Control.stop) !== 0) return false
  }
  return completeUntil(s, count)
}

/** Takes the completions that are there; in event mode, those that an event announces. */
function look(s: Sending): number {
  return s.channel === null ? collect(s) : collectEvent(s, 0)
}

function collect(s: Sending): number {
  const n = s.cq.poll(s.wcs)
  if (n === 0) return 0
  const t = nowNs()
  if (n < 0) {
    s.error = 'the send CQ overran'
    return 0
  }
  for (let i = 0; i < n; i++) {
    const wc = s.wcs[i]!
    if (wc.status !== 0 && s.error === '') s.error = completionError(wc.status)
    s.comps[wc.wrId] = t
    s.completed = wc.wrId + 1
  }
  control[Control.completed] = s.completed
  return n
}

/** Waits at most `timeoutMs` for an event, arms the CQ again and takes the completions that are there. */
function collectEvent(s: Sending, timeoutMs: number): number {
  const cq = timeoutMs > 0 ? s.channel!.getEvent(timeoutMs) : s.channel!.tryGetEvent()
  if (cq === null) return 0
  cq.ackEvents(1)
  cq.reqNotify()
  let total = 0
  for (let n = collect(s); n > 0; n = collect(s)) total += n
  return total
}

/** Waits for completions until `target` messages are complete; returns false if the wait has to be given up. */
function completeUntil(s: Sending, target: number): boolean {
  let idle = 0
  while (s.completed < target) {
    const n = s.channel === null ? collect(s) : collectEvent(s, 20)
    if (s.error !== '') return false
    if (n > 0) idle = 0
    else if ((s.channel !== null || (++idle & 63) === 0) && halted(s)) return false
  }
  return true
}

/** Polls for completions until the given time; returns false if the wait has to be given up. */
function pauseUntil(s: Sending, untilNs: number): boolean {
  for (;;) {
    const leftNs = untilNs - nowNs()
    if (leftNs <= 0) return true
    const outstanding = s.completed < s.posted && s.signalEvery === 1
    if (outstanding && s.channel !== null && leftNs > eventPauseNs) collectEvent(s, leftNs / 1e6)
    else if (outstanding) look(s)
    else if (leftNs > sleepSlackNs) Atomics.wait(control, Control.stop, 0, (leftNs - sleepSlackNs) / 1e6)
    if (s.error !== '' || Atomics.load(control, Control.stop) !== 0) return false
  }
}

function halted(s: Sending): boolean {
  return Atomics.load(control, Control.stop) !== 0 || nowNs() > s.deadlineNs
}

function close(): void {
  const closing = context
  context = null
  closeAll(opened, closing)
}

serve({ prepare, connect, run, close })
