/**
 * One end of the measurements on a network, such as RoCE on loopback: a process with an adapter of its own. The client
 * posts; the server polls all the time, so that its adapter works, and takes what comes:
 *
 *     pingPong   SENDs bounce
 *     pour       a stream of SENDs or WRITEs for a given time, over one connection or many in turn
 *     absorb     the server of it, until a message says that it is over
 */
import {
  Access,
  type Context,
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  type QpEndpoint,
  QpType,
  type QueuePair,
  recvWr,
  SendFlag,
  type SendWorkRequest,
  sendWr,
  workCompletions,
} from '../src/index.ts'
import { nowNs, pinThread } from '../src/memory/index.ts'
import { closeAll, newControl, strideOf } from '../src/tools/bench-thread/index.ts'
import { closeBare, connectBare, openBare, pingPongBare } from './bare-udp.ts'
import {
  type End,
  pingPong,
  post,
  type RunRequest,
  receivesAhead,
  release,
  sendDepth,
  signalEvery,
  window,
} from './loops.ts'
import { serveParent } from './process-peer.ts'

export interface WireEndRequest {
  device: string
  operation: 'send' | 'write'
  sizeBytes: number
  connections: number
  core: number | null
}

export interface WireEndpoint {
  endpoints: QpEndpoint[]
  addr: number
  rkey: number
}

export interface PourResult {
  messages: number
  seconds: number
}

/** The message that ends a stream has this length, and no other has. */
const lastBytes = 1
/** Of each of many connections, of which each has a request or two outstanding. */
const sharedDepth = 32

let context: Context | null = null
const opened: { close(): void }[] = []
let locals: QpEndpoint[]
let qps: QueuePair[]
let next = 0
let end: End
let last: SendWorkRequest

function keep<T extends { close(): void }>(object: T): T {
  opened.push(object)
  return object
}

function prepare({ device, operation, sizeBytes, connections, core }: WireEndRequest): WireEndpoint {
  if (core !== null) pinThread([core])
  context = openDevice(device)
  const stride = strideOf(sizeBytes)
  const pd = keep(context.allocPd())
  const mr = keep(pd.regMr(context.alloc(2 * stride).fill(1), Access.LocalWrite | Access.RemoteWrite))
  const sendCq = keep(context.createCq(sendDepth, { singleThreaded: true }))
  const recvCq = keep(context.createCq(receivesAhead + 1, { singleThreaded: true }))
  const create = (maxSendWr: number, maxRecvWr: number): QueuePair =>
    keep(
      pd.createQp({
        type: QpType.RC,
        sendCq,
        recvCq,
        cap: { maxSendWr, maxRecvWr, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 },
      }),
    )
  // Messages arrive on the first one only.
  qps = [create(connections === 1 ? sendDepth : sharedDepth, receivesAhead + 1)]
  while (qps.length < connections) qps.push(create(sharedDepth, 1))
  next = 0
  const sge = { addr: mr.addr, length: sizeBytes, lkey: mr.lkey }
  const send = sendWr({ opcode: Opcode.Send, sgList: [sge] })
  if (operation === 'write') send.opcode = Opcode.Write
  last = sendWr({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [{ ...sge, length: lastBytes }] })
  const receive = recvWr({ sgList: [{ addr: mr.addr + stride, length: sizeBytes, lkey: mr.lkey }] })
  end = {
    ...{ control: newControl(), qp: qps[0]!, sendCq, recvCq, wcs: workCompletions(16) },
    ...{ send, receive, unsignaled: 0, outstanding: 0 },
  }
  locals = qps.map((qp) => endpointOf(qp))
  return { endpoints: locals, addr: mr.addr + stride, rkey: mr.rkey }
}

function connect({ endpoints, addr, rkey }: WireEndpoint): void {
  for (const [i, qp] of qps.entries()) connectQp(qp, locals[i]!, endpoints[i]!, { minRnrTimer: 1 })
  if (end.send.opcode === Opcode.Write) {
    end.send.remoteAddr = addr
    end.send.rkey = rkey
  }
  for (let i = 0; i < receivesAhead; i++) end.qp.postRecv(end.receive)
}

/** Posts for a fifth of the time to warm up, then for all of it, and waits for the completion of each. */
function pour({ durationNs }: { durationNs: number }): PourResult {
  fill(durationNs / 5)
  const start = nowNs()
  const messages = fill(durationNs)
  const seconds = (nowNs() - start) / 1e9
  end.qp.postSend(last)
  end.outstanding = 1
  while (end.outstanding > 0) releaseEach()
  return { messages, seconds }
}

/** The last request of a block is signaled: when nothing is outstanding any more, all have arrived. */
function fill(durationNs: number): number {
  const many = qps.length > 1
  const start = nowNs()
  let messages = 0
  do {
    for (let i = 0; i < signalEvery; i++) {
      if (many) {
        postInTurn()
        while (end.outstanding >= window) releaseEach()
      } else {
        post(end)
        while (end.outstanding >= window) release(end)
      }
    }
    messages += signalEvery
  } while (nowNs() - start < durationNs)
  while (end.outstanding > 0) {
    if (many) releaseEach()
    else release(end)
  }
  return messages
}

/** A completion acknowledges requests of one QP only, so each request is signaled where there are many QPs. */
function postInTurn(): void {
  end.send.sendFlags = SendFlag.Signaled
  qps[next]!.postSend(end.send)
  next = next + 1 === qps.length ? 0 : next + 1
  end.outstanding++
}

function releaseEach(): void {
  const { sendCq, wcs } = end
  const n = sendCq.poll(wcs)
  for (let i = 0; i < n; i++) if (wcs[i]!.status !== 0) throw new Error(`send: ${wcs[i]!.statusText}`)
  end.outstanding -= n
}

function absorb(): void {
  const { qp, recvCq, wcs, receive } = end
  for (;;) {
    const n = recvCq.poll(wcs)
    for (let i = 0; i < n; i++) {
      const wc = wcs[i]!
      if (wc.status !== 0) throw new Error(`receive: ${wc.statusText}`)
      if (wc.byteLen === lastBytes) return
      qp.postRecv(receive)
    }
  }
}

function close(): void {
  const closing = context
  context = null
  closeAll(opened, closing)
}

serveParent({
  openBare: () => openBare(locals[0]!.gid),
  connectBare,
  pingPongBare,
  closeBare,
  prepare,
  connect,
  pingPong: (request: RunRequest) => pingPong(end, request),
  pour,
  absorb,
  close,
})
