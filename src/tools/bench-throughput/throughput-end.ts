/** One end of the throughput benchmark, client or server: a thread that sets queues up and runs the echo. */
import {
  Access,
  type Context,
  connectQp,
  defaultQkey,
  endpointOf,
  Opcode,
  openDevice,
  pathTo,
  type QpEndpoint,
  type QueuePair,
  type RecvWorkRequest,
  recvWr,
  SendFlag,
  type SendWorkRequest,
  type SharedReceiveQueue,
  sendWr,
  workCompletions,
} from '../../index.ts'
import { threadData } from '../../memory/index.ts'
import { Control, closeAll, engineCores, minRnrTimer, placeThread, qpTypes, strideOf } from '../bench-thread/index.ts'
import { serve } from '../kit/index.ts'
import { type Echo, type EchoResult, type EchoTarget, echo, letter, signalEvery } from './echo.ts'
import { groupsOf } from './groups.ts'
import { pollsMemory, type ThroughputSettings } from './settings.ts'

export interface EndPrepared {
  endpoints: QpEndpoint[]
  /** Address of the inbox, which the peer writes to. */
  addr: number
  rkey: number
  strideBytes: number
  pinFailure: string | null
}

const { control, role } = threadData<{ control: Int32Array; role: 'client' | 'server' }>()
const client = role === 'client'
const grhBytes = 40
/** Number of receives beyond those outstanding, so that posting one again right after its completion never meets a full queue. */
const spareReceives = 1

let context: Context | null = null
const opened: { close(): void }[] = []
let settings: ThroughputSettings
let locals: QpEndpoint[]
let end: Echo

function keep<T extends { close(): void }>(object: T): T {
  opened.push(object)
  return object
}

function prepare(asked: ThroughputSettings): EndPrepared {
  settings = asked
  const { technique, service, concurrent, size, engine, pin } = settings
  const pinFailure = placeThread(pin, client ? 'sender' : 'receiver')
  const name = settings.device.split(',')[client ? 0 : 1]!
  context = openDevice(name, { engine, engineCores: engineCores(pin) })
  const qpCount = Math.min(settings.qps, concurrent)
  const headroom = service === 'UD' ? grhBytes : 0
  const strideBytes = strideOf(size + headroom)
  const pd = keep(context.allocPd())
  const inbox = context.alloc(concurrent * strideBytes).fill(0)
  const outbox = context.alloc(concurrent * strideBytes).fill(letter)
  const inMr = keep(pd.regMr(inbox, Access.LocalWrite | Access.RemoteWrite))
  const outMr = keep(pd.regMr(outbox, Access.LocalWrite))
  const maxInlineData = technique === 'write-inline' ? size : 0
  const groups = groupsOf(concurrent, Math.min(settings.batch, concurrent))
  const every = technique === 'send-recv' || technique === 'write' ? 1 : signalEvery
  // Room for what is outstanding, and for a signaled request among it.
  const depth = Math.max(2 * signalEvery, Math.ceil(concurrent / qpCount)) + groups[1]!
  const cqe = Math.min(context.queryDevice().maxCqe, qpCount * (Math.ceil(depth / every) + 1))
  const sendCq = keep(context.createCq(cqe, { singleThreaded: true }))
  const recvCq = keep(context.createCq(concurrent + 1, { singleThreaded: true }))
  const srq = technique === 'srq' ? keep(pd.createSrq({ maxWr: concurrent + spareReceives, maxSge: 1 })) : null
  const perQp = Math.ceil(concurrent / qpCount)
  const cap = {
    maxSendWr: depth,
    maxRecvWr: srq ? 1 : perQp + spareReceives,
    maxSendSge: 1,
    maxRecvSge: 1,
    maxInlineData,
  }
  const qps = Array.from({ length: qpCount }, () =>
    keep(pd.createQp({ type: qpTypes[service], sendCq, recvCq, cap, ...(srq ? { srq } : {}) })),
  )
  locals = qps.map((qp) => endpointOf(qp))
  const byMemory = pollsMemory(technique)
  end = {
    client,
    control,
    qps,
    srq,
    sendCq,
    recvCq,
    wcs: workCompletions(16),
    sendWcs: workCompletions(16),
    sends: sendRequests(groups, qpCount, outMr.addr, outMr.lkey, strideBytes),
    receives: byMemory ? [] : receiveRequests(inMr.addr, inMr.lkey, strideBytes, size + headroom),
    groups,
    immIs: technique === 'write-imm' ? 'slot' : technique === 'srq' ? 'rank' : 'none',
    flags: technique === 'write-inline' ? SendFlag.Inline : 0,
    signalEvery: every,
    depth,
    inbox,
    strideBytes,
    sizeBytes: size,
    outstanding: new Int32Array(qpCount),
    sinceSignal: new Int32Array(qpCount),
    arrived: 0,
    error: '',
  }
  return { endpoints: locals, addr: inMr.addr, rkey: inMr.rkey, strideBytes, pinFailure }
}

function sendRequests(
  groups: Int32Array,
  qpCount: number,
  addr: number,
  lkey: number,
  strideBytes: number,
): SendWorkRequest[] {
  const { technique, concurrent, size } = settings
  const sends = Array.from({ length: concurrent }, (_, slot) =>
    sendWr({
      opcode: Opcode.SendWithImm,
      immData: technique === 'srq' ? slot % qpCount : slot,
      sgList: [{ addr: addr + slot * strideBytes, length: size, lkey }],
    }),
  )
  for (const wr of sends) {
    if (technique === 'send-recv') wr.opcode = Opcode.Send
    else if (technique === 'write-imm') wr.opcode = Opcode.WriteWithImm
    else if (technique !== 'srq') wr.opcode = Opcode.Write
  }
  for (let g = 0; g + 1 < groups.length; g++) {
    for (let slot = groups[g]!; slot + 1 < groups[g + 1]!; slot++) sends[slot]!.next = sends[slot + 1]!
  }
  return sends
}

function receiveRequests(addr: number, lkey: number, strideBytes: number, length: number): RecvWorkRequest[] {
  const written = settings.technique === 'write-imm'
  return Array.from({ length: settings.concurrent }, (_, slot) =>
    recvWr({ wrId: slot, sgList: written ? [] : [{ addr: addr + slot * strideBytes, length, lkey }] }),
  )
}

function connect(remote: EndPrepared): void {
  const { qps, srq, sends, receives } = end
  const accessFlags = Access.LocalWrite | Access.RemoteWrite
  for (const [i, qp] of qps.entries()) {
    connectQp(qp, locals[i]!, settings.service === 'UD' ? null : remote.endpoints[i]!, { accessFlags, minRnrTimer })
  }
  const ah = settings.service === 'UD' ? keep(qps[0]!.pd.createAh(pathTo(remote.endpoints[0]!))) : null
  for (const [slot, wr] of sends.entries()) {
    wr.remoteAddr = remote.addr + slot * remote.strideBytes
    wr.rkey = remote.rkey
    wr.ah = ah
    wr.remoteQpn = remote.endpoints[0]!.qpn
    wr.remoteQkey = defaultQkey
  }
  for (const [slot, wr] of receives.entries()) postReceive(srq ?? qps[slot % qps.length]!, wr)
}

function postReceive(queue: SharedReceiveQueue | QueuePair, wr: RecvWorkRequest): void {
  queue.postRecv(wr)
}

function run(target: EchoTarget): EchoResult {
  try {
    return echo(end, target)
  } finally {
    // The server polls until the client is done, however it ended.
    if (client) Atomics.store(control, Control.senderPhase, 1)
  }
}

function close(): void {
  const closing = context
  context = null
  closeAll(opened, closing)
}

serve({ prepare, connect, run, close })
