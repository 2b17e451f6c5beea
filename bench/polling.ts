/**
 * What polling costs, in a thread that is both ends: an empty CQ, and completions of one QP or of a thousand QPs on
 * one CQ.
 */
import {
  Access,
  type CompletionQueue,
  type Context,
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  type ProtectionDomain,
  QpType,
  type QueuePair,
  recvWr,
  sendWr,
  type WorkCompletion,
  workCompletions,
} from '../src/index.ts'
import { nowNs } from '../src/memory/index.ts'
import { closeAll } from '../src/tools/bench-thread/index.ts'
import { serve } from '../src/tools/kit/index.ts'

export interface PollResult {
  /** Nanoseconds of a poll that finds nothing, and of each completion that a poll finds. */
  emptyNs: number
  completionNs: number
}

const messages = 1000
const rounds = 200
const emptyPolls = 200_000

function measure(qpCount: number): PollResult {
  const sender = openDevice('shm0')
  const receiver = openDevice('shm1')
  const opened: { close(): void }[] = []
  const keep = <T extends { close(): void }>(object: T): T => {
    opened.push(object)
    return object
  }
  try {
    const depth = Math.ceil(messages / qpCount)
    const unused = keep(sender.createCq(1))
    const sendCq = keep(sender.createCq(messages + 1, { singleThreaded: true }))
    const recvCq = keep(receiver.createCq(messages + 1, { singleThreaded: true }))
    const receiverUnused = keep(receiver.createCq(1))
    const from = side(sender, qpCount, depth, sendCq, unused, keep)
    const to = side(receiver, qpCount, depth, receiverUnused, recvCq, keep)
    for (const [i, qp] of from.qps.entries()) {
      const a = endpointOf(qp)
      const b = endpointOf(to.qps[i]!)
      connectQp(qp, a, b)
      connectQp(to.qps[i]!, b, a)
    }
    const wcs = workCompletions(16)
    const send = sendWr({
      opcode: Opcode.Send,
      sendFlags: 2,
      sgList: [{ addr: from.addr, length: 8, lkey: from.lkey }],
    })
    const receive = recvWr({ sgList: [{ addr: to.addr, length: 8, lkey: to.lkey }] })
    const times = new Float64Array(rounds)
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < messages; i++) {
        to.qps[i % qpCount]!.postRecv(receive)
        from.qps[i % qpCount]!.postSend(send)
      }
      times[round] = timeDrain(recvCq, wcs) / messages
      timeDrain(sendCq, wcs)
    }
    times.sort()
    const empty = Float64Array.from({ length: 9 }, () => timeEmpty(recvCq, wcs)).sort()
    return { emptyNs: empty[4]!, completionNs: times[rounds >> 1]! }
  } finally {
    closeAll(opened, sender)
    receiver.close()
  }
}

interface Side {
  qps: QueuePair[]
  addr: number
  lkey: number
}

function side(
  context: Context,
  qpCount: number,
  depth: number,
  sendCq: CompletionQueue,
  recvCq: CompletionQueue,
  keep: <T extends { close(): void }>(object: T) => T,
): Side {
  const pd: ProtectionDomain = keep(context.allocPd())
  const mr = keep(pd.regMr(context.alloc(64), Access.LocalWrite))
  const cap = { maxSendWr: depth + 1, maxRecvWr: depth + 1, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
  const qps = Array.from({ length: qpCount }, () => keep(pd.createQp({ type: QpType.RC, sendCq, recvCq, cap })))
  return { qps, addr: mr.addr, lkey: mr.lkey }
}

function timeDrain(cq: CompletionQueue, wcs: WorkCompletion[]): number {
  const start = nowNs()
  for (let got = 0; got < messages; ) got += cq.poll(wcs)
  return nowNs() - start
}

function timeEmpty(cq: CompletionQueue, wcs: WorkCompletion[]): number {
  const start = nowNs()
  for (let i = 0; i < emptyPolls; i++) cq.poll(wcs)
  return (nowNs() - start) / emptyPolls
}

serve({ measure })
