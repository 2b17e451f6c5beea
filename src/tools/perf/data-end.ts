/**
 * The data thread of one end: it owns the adapter, creates the objects of each measurement and runs the loops, and does not
 * use TCP. The main thread calls it (`open`, `prepare`, `connect`, `run`, `close`) and can stop it through the words of
 * `Control` while it runs.
 */
import {
  Access,
  type AddressHandle,
  type AhAttr,
  type CompletionQueue,
  type Context,
  connectQp,
  defaultQkey,
  grhLength,
  Opcode,
  type PathMtu,
  QpState,
  QpType,
  type QueuePair,
  type RecvWorkRequest,
  randomPsn,
  recvWr,
  SendFlag,
  type SendWorkRequest,
  sendWr,
  workCompletions,
} from '../../index.ts'
import { threadData } from '../../memory/index.ts'
import {
  addressVector,
  CmEnd,
  type CmWishes,
  EndError,
  gidFromHex,
  gidHex,
  isZero,
  type LocalPort,
  localPort,
  notify,
  openNamed,
  pinApart,
  serve,
} from '../kit/index.ts'
import { type BandwidthGoal, stream } from './bandwidth.ts'
import { answerAll, closedLoop, type LatencyGoal, type LatencyRun, openLoop } from './latency.ts'
import type { EndReport, LatencyStatistics, Prepared } from './protocol.ts'
import { Recorder } from './recorder.ts'
import { type EndSettings, isLatency, type PerfSettings, verbOf, warmupOf } from './settings.ts'
import type { DataEnd } from './state.ts'

export interface OpenRequest {
  end: EndSettings
  client: boolean
}

export interface Opened {
  device: string
  /** Bytes of the active MTU. */
  activeMtu: number
  lid: number
  gid: string
  gidIndex: number
  maxInlineData: number
}

export interface PrepareRequest {
  settings: PerfSettings
  /** Bytes of a message. */
  size: number
  mtu: number
  sameHost: boolean
}

const { control } = threadData<{ control: Int32Array }>()
const qpTypes = { RC: QpType.RC, UC: QpType.UC, UD: QpType.UD } as const
const minRnrTimer = 12
/** Room for the requests that a latency test leaves in the send queue between two signaled ones, and some more. */
const unsignaledRoom = 128
/** Room for the message that makes the last ones of a bandwidth test complete. */
const flushRoom = 1
/** Maximum duration of the warm-up of a latency test. */
const maxWarmupNs = 1e9

let context: Context
let end: EndSettings
let client: boolean
let local: LocalPort
const opened: { close(): void }[] = []
let request: PrepareRequest
let data: DataEnd
let psns: number[] = []
/** RDMA CM of this end; only with `-R`. */
let cm: CmEnd | null = null

function keep<T extends { close(): void }>(object: T): T {
  opened.push(object)
  return object
}

function open(asked: OpenRequest): Opened {
  end = asked.end
  client = asked.client
  context = openNamed(end.device)
  local = localPort(context, end.ibPort, end.gidIndex, '-x')
  const { lid, gid, gidIndex, activeMtu } = local
  const { maxInlineData } = context.queryDevice()
  return { device: context.name, activeMtu, lid, gid: gidHex(gid), gidIndex, maxInlineData }
}

function prepare(asked: PrepareRequest): Prepared {
  request = asked
  const { settings, size } = request
  const { test, connection, qps: qpCount, outs } = settings
  const verb = verbOf(test)
  const latency = isLatency(test)
  // Pinned apart, both ends have a core of their own; with one core, this end must yield to the other.
  const polite = asked.sameHost && !pinApart(client ? 'client' : 'server')
  const txDepth = settings.txDepth
  const maxSendWr = txDepth + (latency ? unsignaledRoom : flushRoom)
  const rxDepth = verb === 'send' ? Math.max(settings.rxDepth, 2) : 1
  const headroom = connection === 'UD' ? grhLength : 0
  const slots = test === 'write_lat' && settings.rate > 0 ? txDepth : 1
  const strideBytes = Math.ceil((size + headroom) / 64) * 64
  const pd = keep(context.allocPd())
  const inboxBytes = slots * strideBytes
  const buffer = context.alloc(2 * inboxBytes)
  opened.push({ close: () => context.free(buffer) })
  const access = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic
  const mr = keep(pd.regMr(buffer.fill(0), access))
  const outAddr = mr.addr + inboxBytes
  const channel = settings.events ? keep(context.createCompChannel()) : null
  const createCq = (cqe: number): CompletionQueue =>
    keep(context.createCq(cqe, { singleThreaded: true, ...(channel ? { channel } : {}) }))
  const limits = context.queryDevice()
  const sendCq = createCq(Math.min(limits.maxCqe, qpCount * maxSendWr + 1))
  const recvCq = createCq(Math.min(limits.maxCqe, qpCount * rxDepth + 1))
  const inline = verb === 'send' || verb === 'write' ? size <= settings.inlineSize : false
  const cap = { maxSendWr, maxRecvWr: rxDepth, maxSendSge: 1, maxRecvSge: 1, maxInlineData: inline ? size : 0 }
  const qps = Array.from({ length: qpCount }, () =>
    keep(pd.createQp({ type: qpTypes[connection], sendCq, recvCq, cap })),
  )
  psns = qps.map(() => randomPsn())
  for (const [i, qp] of qps.entries()) {
    const ah = { dlid: 0, portNum: end.ibPort }
    const accessFlags = connection === 'RC' ? access : Access.LocalWrite | Access.RemoteWrite
    connectQp(qp, { psn: psns[i]! }, null, { until: QpState.Init, ah, accessFlags })
  }
  const sge = { addr: outAddr, length: size, lkey: mr.lkey }
  const receiveBatch = latency ? 1 : Math.max(1, Math.min(16, rxDepth >> 1))
  data = {
    client,
    verb,
    connection,
    control,
    doubles: new Float64Array(control.buffer),
    qps,
    sendCq,
    recvCq,
    channel,
    wcs: workCompletions(32),
    lists: qps.map(() => linked(settings.postList, () => sendRequest(sge))),
    singles: qps.map(() => sendRequest(sge)),
    receives: qps.map((_, q) => {
      const receive = { wrId: q, sgList: [{ addr: mr.addr, length: size + headroom, lkey: mr.lkey }] }
      return linked(receiveBatch, () => recvWr(receive))[0]!
    }),
    receiveBatch,
    used: new Int32Array(qpCount),
    nextSeq: 0,
    completedSeq: -1,
    sendRoom: maxSendWr,
    txDepth,
    signalEvery: Math.min(settings.cqMod, Math.max(1, txDepth - settings.postList)),
    flags: inline ? SendFlag.Inline : 0,
    inbox: buffer.subarray(0, inboxBytes),
    outbox: buffer.subarray(inboxBytes),
    size,
    slots,
    strideBytes,
    outAddr,
    remoteAddr: 0,
    polite,
    // Messages that are sent at long intervals are not a stall.
    stallNs: end.stallMs === 0 ? 0 : Math.max(end.stallMs * 1e6, settings.rate > 0 ? 3e9 / settings.rate : 0),
    spins: 0,
    quietSinceNs: 0,
    error: '',
  }
  if (outs > limits.maxQpInitRdAtom || outs > limits.maxQpRdAtom)
    throw new EndError('EINVAL', `-o: at most ${Math.min(limits.maxQpInitRdAtom, limits.maxQpRdAtom)} here`)
  const endpoints = qps.map((qp, i) => ({ qpn: qp.qpNum, psn: psns[i]!, lid: local.lid, gid: gidHex(local.gid) }))
  cm = settings.rdmaCm ? keep(new CmEnd(context, qpTypes[connection])) : null
  const listening = cm === null || client ? {} : { cm: cm.listen(end.gidIndex) }
  return { endpoints, addr: mr.addr, rkey: mr.rkey, ...listening }
}

/** Returns a request of this test; its destination is set when the peer is known. */
function sendRequest(sge: { addr: number; length: number; lkey: number }): SendWorkRequest {
  const wr = sendWr({ opcode: Opcode.Send, sgList: [sge] })
  const { settings } = request
  switch (verbOf(settings.test)) {
    case 'send':
      wr.opcode = isLatency(settings.test) ? Opcode.SendWithImm : Opcode.Send
      break
    case 'write':
      wr.opcode = Opcode.Write
      break
    case 'read':
      wr.opcode = Opcode.Read
      break
    case 'atomic':
      wr.opcode = settings.atomicType === 'FETCH_AND_ADD' ? Opcode.AtomicFetchAndAdd : Opcode.AtomicCmpAndSwp
      wr.compareAdd = settings.atomicType === 'FETCH_AND_ADD' ? 1n : 0n
      break
  }
  return wr
}

function linked<T extends { next: T | null }>(count: number, make: () => T): T[] {
  const list = Array.from({ length: count }, make)
  for (let i = 0; i + 1 < count; i++) list[i]!.next = list[i + 1]!
  return list
}

function connect(remote: Prepared): void {
  const { settings, mtu } = request
  const { qps } = data
  if (remote.endpoints.length !== qps.length)
    throw new EndError('PEER_TEXT', `the peer has ${remote.endpoints.length} queue pairs, this end ${qps.length}`)
  if (cm !== null) connectByCm(cm, remote)
  else
    for (const [i, qp] of qps.entries()) {
      const { qpn, psn, lid, gid: hex } = remote.endpoints[i]!
      const gid = gidFromHex(hex)!
      if (local.ethernet && isZero(gid))
        throw new EndError('PEER_TEXT', 'the peer sent no GID, and on Ethernet nothing goes without: give it -x INDEX')
      const ah = addressVector(local, { lid, gid }, end.sl)
      const datagram = settings.connection === 'UD'
      connectQp(qp, { psn: psns[i]! }, datagram ? null : { qpn, psn, lid, gid }, {
        ah,
        pathMtu: mtu as PathMtu,
        accessFlags: accessOf(qp),
        maxRdAtomic: settings.outs,
        maxDestRdAtomic: settings.outs,
        minRnrTimer,
        timeout: settings.qpTimeout,
        retryCnt: settings.retryCount,
      })
      address(i, remote, datagram ? ah : null, qpn)
    }
  data.remoteAddr = remote.addr
  if (data.verb === 'send') postReceives(qps, data.receives)
  if (!data.channel) return
  data.sendCq.reqNotify()
  data.recvCq.reqNotify()
}

/** Connects with the RDMA CM, which exchanges addresses and numbers by itself. */
function connectByCm(cmEnd: CmEnd, remote: Prepared): void {
  const { settings, mtu } = request
  const { qps } = data
  const wishes: CmWishes = {
    mtu: mtu as PathMtu,
    outs: settings.outs,
    accessFlags: accessOf(qps[0]!),
    qpTimeout: settings.qpTimeout,
    retryCnt: settings.retryCount,
  }
  if (settings.connection === 'UD')
    for (const [i, qp] of qps.entries())
      connectQp(qp, { psn: psns[i]! }, null, { ah: { dlid: 0, portNum: end.ibPort }, accessFlags: 0 })
  if (client && remote.cm === undefined)
    throw new EndError('PEER_TEXT', 'the server does not listen with the RDMA CM: does its version know -R?')
  const peers = client ? cmEnd.connectAll(qps, remote.cm!, () => wishes) : cmEnd.acceptAll(qps, () => wishes)
  for (const i of qps.keys()) address(i, remote, peers[i]?.ahAttr ?? null, peers[i]?.qpNum ?? 0)
}

function accessOf(qp: QueuePair): number {
  return qp.type === QpType.RC ? remoteAccess : Access.LocalWrite | Access.RemoteWrite
}

/** Sets the destination of the requests of a queue pair; `ah` is that of datagrams. */
function address(i: number, remote: Prepared, ah: AhAttr | null, qpn: number): void {
  const { qps, lists, singles } = data
  const handle: AddressHandle | null = ah === null ? null : keep(qps[i]!.pd.createAh(ah))
  for (const wr of [...lists[i]!, singles[i]!]) {
    wr.remoteAddr = remote.addr
    wr.rkey = remote.rkey
    wr.ah = handle
    wr.remoteQpn = qpn
    wr.remoteQkey = defaultQkey
  }
}

const remoteAccess = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic

function postReceives(qps: readonly QueuePair[], receives: readonly RecvWorkRequest[]): void {
  for (const [i, qp] of qps.entries()) {
    const rounds = Math.floor(qp.cap.maxRecvWr / data.receiveBatch)
    for (let round = 0; round < rounds; round++) qp.postRecv(receives[i]!)
  }
}

function run(): EndReport {
  const { settings } = request
  const report = isLatency(settings.test) ? runLatency(settings) : runBandwidth(settings)
  if (data.error !== '') report.error = data.error
  return report
}

const nothing: EndReport = { sent: null, received: null, latency: null }

function runLatency(settings: PerfSettings): EndReport {
  const { verb } = data
  if (!client) {
    if (verb === 'send' || verb === 'write') answerAll(data)
    else serveOnly()
    return { ...nothing }
  }
  const open = settings.rate > 0
  const loop = open ? openLoop : closedLoop
  const intervalNs = open ? 1e9 / settings.rate : 0
  const timed = settings.duration > 0
  const expected = timed ? Number.POSITIVE_INFINITY : settings.iters
  const forever = { fromNs: 0, untilNs: Number.POSITIVE_INFINITY, endNs: Number.POSITIVE_INFINITY }
  const warmup = warmupOf(settings, request.size)
  if (warmup > 0) {
    // The measuring loop runs once before, at a higher rate where it would take long.
    const goal: LatencyGoal = {
      ...forever,
      endNs: maxWarmupNs,
      messages: warmup,
      intervalNs: Math.min(intervalNs, 10_000),
    }
    loop(data, goal, new Recorder(timed ? expected : warmup))
  }
  const goal: LatencyGoal = {
    messages: expected,
    intervalNs,
    fromNs: timed ? settings.margin * 1e9 : 0,
    untilNs: timed ? (settings.duration - settings.margin) * 1e9 : Number.POSITIVE_INFINITY,
    endNs: timed ? settings.duration * 1e9 : Number.POSITIVE_INFINITY,
  }
  const recorder = new Recorder(expected)
  const measured: LatencyRun =
    data.error === '' ? loop(data, goal, recorder) : { messages: 0, lost: 0, recorded: 0, seconds: 0 }
  notify({ sent: data.nextSeq })
  const twoWay = verb === 'send' || verb === 'write'
  const scale = twoWay && !open ? 0.5 : 1
  const latency: LatencyStatistics = {
    ...recorder.statistics(scale),
    lost: measured.lost,
    what: twoWay ? (open ? 'round trip' : 'half round trip') : 'completion',
    from: open ? 'intended' : 'post',
    perSecond: measured.seconds > 0 ? measured.recorded / measured.seconds : 0,
  }
  const samples = end.samples ? recorder.samples(scale) : undefined
  return { ...nothing, latency, ...(samples === undefined ? {} : { samples }) }
}

const idleGoal: BandwidthGoal = {
  sends: false,
  receives: false,
  serves: false,
  warmup: 0,
  iters: 0,
  fromNs: 0,
  untilNs: Number.POSITIVE_INFINITY,
  endNs: Number.POSITIVE_INFINITY,
  intervalNs: 0,
  postList: 1,
  onSent: () => {},
}

/** Serves one-sided operations, which a target does not see: only TCP notifies it that the peer has gone. */
function serveOnly(): EndReport {
  data.stallNs = 0
  stream(data, { ...idleGoal, serves: true })
  return { ...nothing }
}

function runBandwidth(settings: PerfSettings): EndReport {
  const { verb } = data
  const sends = client || settings.bidirectional
  const peerSends = !client || settings.bidirectional
  const timed = settings.duration > 0
  const goal: BandwidthGoal = {
    sends,
    receives: peerSends && verb === 'send',
    serves: peerSends && verb !== 'send',
    warmup: warmupOf(settings, request.size),
    iters: timed ? 0 : settings.iters,
    fromNs: settings.margin * 1e9,
    untilNs: (settings.duration - settings.margin) * 1e9,
    endNs: settings.duration * 1e9,
    intervalNs: settings.rate > 0 ? 1e9 / settings.rate : 0,
    postList: settings.postList,
    onSent: (messages) => notify({ sent: messages }),
  }
  if (!goal.sends && goal.serves) return serveOnly()
  return { ...nothing, ...stream(data, goal) }
}

/** Ends a measurement; the adapter stays open for the next. */
function close(): void {
  for (const object of opened.reverse()) object.close()
  opened.length = 0
}

function shut(): void {
  close()
  context.close()
}

serve({ open, prepare, connect, run, close, shut })
