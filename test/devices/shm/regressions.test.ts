/** Bugs that were found by reading or by accident: each must stay away. */
import { afterEach, describe, expect, it } from 'vitest'
import {
  Access,
  type Context,
  connectQp,
  endpointOf,
  Opcode,
  openDevice,
  QpType,
  ScatterGather,
  SendFlag,
  sendWr,
  VerbsError,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { sweepNow } from '../../../src/verbs/provider/reclaim.ts'
import { loopbackDevice } from '../../loopback.ts'
import { withSlot } from '../../verbs/slots.ts'
import { connect, drain, type End, makeEnd, until } from './rig.ts'

const cap = { maxSendWr: 4, maxRecvWr: 4, maxSendSge: 2, maxRecvSge: 1, maxInlineData: 64 }
const open: Disposable[] = []
const keep = <T extends Disposable>(object: T): T => {
  open.push(object)
  return object
}

afterEach(() => {
  for (const object of open.splice(0).reverse()) object[Symbol.dispose]()
})

type Side = ReturnType<typeof side>

function side(name: string) {
  const context: Context = keep(openDevice(name))
  const pd = keep(context.allocPd())
  const buffer = context.alloc(4096)
  const mr = keep(pd.regMr(buffer, Access.LocalWrite | Access.RemoteWrite))
  return { context, pd, buffer, mr, cq: keep(context.createCq(64)) }
}

describe('shm regressions', () => {
  it('a receive that a closed QP had waited for does not execute what a QP of another device in its place has posted', async () => {
    // In the segment of the process, as shm0 is: their queue pairs have the same slots.
    process.env.VERBENA_ROCE_SHARED = '0'
    const ends = ['shm0', 'shm0', loopbackDevice(1), loopbackDevice(1)].map(side)
    delete process.env.VERBENA_ROCE_SHARED
    const [a, b, c, d] = ends as [Side, Side, Side, Side]
    const qpOf = ({ pd, cq }: Side) => pd.createQp({ type: QpType.RC, sendCq: cq, recvCq: cq, cap })
    const join = (x: ReturnType<typeof qpOf>, y: ReturnType<typeof qpOf>): void => {
      const [ex, ey] = [endpointOf(x), endpointOf(y)]
      connectQp(x, ex, ey)
      connectQp(y, ey, ex)
    }
    const send = (qp: ReturnType<typeof qpOf>, { mr }: Side): void =>
      qp.postSend({
        opcode: Opcode.Send,
        sendFlags: SendFlag.Signaled,
        sgList: [{ addr: mr.addr, length: 8, lkey: mr.lkey }],
      })
    const waits = qpOf(a)
    const receiver = keep(qpOf(b))
    join(waits, receiver)
    send(waits, a)
    const { slot } = waits
    waits.close()
    const next = keep(withSlot(slot, () => qpOf(c)))
    const last = keep(qpOf(d))
    join(next, last)
    // Without a receive it stays at the front of its queue.
    send(next, c)
    const { host } = a.context.device
    receiver.postRecv({ sgList: [{ addr: b.mr.addr, length: 64, lkey: b.mr.lkey }] })
    expect(host.i32[host.qpWord(slot) + layout.Qp.pending]).toBe(0)
    last.postRecv({ sgList: [{ addr: d.mr.addr, length: 64, lkey: d.mr.lkey }] })
    const completed: { wrId: number; status: number }[] = []
    await until('completion', () => {
      drain(d.cq, completed)
      return drain(c.cq, completed).length === 2
    })
    expect(completed.map(({ status }) => status)).toEqual([WcStatus.Success, WcStatus.Success])
  })

  it('a completion that a killed sender could not count, and that was polled, is not written again for the next QP of the CQ', () => {
    const context = keep(openDevice('shm0'))
    const { host } = context.device
    const cq = keep(context.createCq(64))
    const [a, b] = [makeEnd(context), makeEnd(context, { recvCq: cq })]
    connect(a, b)
    const send = (from: End, to: End, wrId: number): void => {
      to.qp.postRecv({ wrId, sgList: [to.sge()] })
      from.qp.postSend({ opcode: Opcode.Send, sgList: [from.sge()] })
    }
    for (let i = 0; i < 4; i++) send(a, b, i)
    const head = host.cqWord(cq.slot) + layout.Cq.head
    host.i32[head] = host.i32[head]! - 1
    expect(drain(cq).map(({ wrId }) => wrId)).toEqual([0, 1, 2, 3])
    a.close()
    b.close()
    sweepNow(host)
    const [c, d] = [makeEnd(context), makeEnd(context, { recvCq: cq })]
    connect(c, d)
    // It needs no receive, and lets the sender prepare.
    c.qp.postSend({ opcode: Opcode.Write, remoteAddr: d.mr.addr, rkey: d.mr.rkey, sgList: [c.sge()] })
    for (let i = 4; i < 40; i++) {
      send(c, d, i)
      expect(drain(cq)).toEqual([{ wrId: i, status: WcStatus.Success }])
    }
    c.close()
    d.close()
  })

  it('a QP that is destroyed while it waits for an SRQ leaves its list, also when its place is used again', () => {
    const a = side('shm0')
    const b = side('shm1')
    const srq = keep(b.pd.createSrq({ maxWr: 16 }))
    const pair = () => {
      const x = a.pd.createQp({ type: QpType.RC, sendCq: a.cq, recvCq: a.cq, cap })
      const y = keep(b.pd.createQp({ type: QpType.RC, sendCq: b.cq, recvCq: b.cq, srq, cap }))
      const [ex, ey] = [endpointOf(x), endpointOf(y)]
      connectQp(x, ex, ey)
      connectQp(y, ey, ex)
      x.postSend({
        wrId: x.qpNum,
        opcode: Opcode.Send,
        sendFlags: SendFlag.Signaled,
        sgList: [{ addr: a.mr.addr, length: 8, lkey: a.mr.lkey }],
      })
      return x
    }
    pair().close()
    const second = keep(pair())
    const third = keep(pair()) // walked a list that pointed to itself
    for (let i = 0; i < 2; i++) srq.postRecv({ wrId: i, sgList: [{ addr: b.mr.addr, length: 64, lkey: b.mr.lkey }] })
    const wc = workCompletions(8)
    let done: number[] = []
    for (let tries = 0; done.length < 2 && tries < 1e6; tries++) {
      const n = a.cq.poll(wc)
      done = done.concat(wc.slice(0, n).map((w) => w.wrId))
    }
    expect(done.sort()).toEqual([second.qpNum, third.qpNum].sort())
  })

  it.each([
    ['negative', -8],
    ['beyond 32 bits', 2 ** 32 - 50],
    ['not a number', Number.NaN],
    ['a fraction', 8.5],
  ])('an element whose length was changed to something %s touches no memory outside', (_, length) => {
    const a = side('shm0')
    const b = side('shm1')
    const x = keep(a.pd.createQp({ type: QpType.RC, sendCq: a.cq, recvCq: a.cq, cap }))
    const y = keep(b.pd.createQp({ type: QpType.RC, sendCq: b.cq, recvCq: b.cq, cap }))
    const [ex, ey] = [endpointOf(x), endpointOf(y)]
    connectQp(x, ex, ey)
    connectQp(y, ey, ex)
    b.buffer.fill(0x55)
    const good = sendWr<typeof QpType.RC>({
      opcode: Opcode.Send,
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: a.mr.addr, length: 8, lkey: a.mr.lkey }],
    })
    for (const flags of [SendFlag.Signaled, SendFlag.Signaled | SendFlag.Inline]) {
      // First a good one, so that the fast path has learnt the regions.
      y.postRecv({ sgList: [{ addr: b.mr.addr + 1024, length: 10, lkey: b.mr.lkey }] })
      y.postRecv({ sgList: [{ addr: b.mr.addr + 1024, length: 10, lkey: b.mr.lkey }] })
      if (x.state === y.state) x.postSend(good)
      const bad = sendWr<typeof QpType.RC>({
        wrId: 7,
        opcode: Opcode.Send,
        sendFlags: flags,
        sgList: [{ addr: a.mr.addr, length: 8, lkey: a.mr.lkey }],
      })
      bad.sgList = [new ScatterGather(a.mr.addr, length, a.mr.lkey), new ScatterGather(a.mr.addr, 60, a.mr.lkey)]
      // Refused when posting, or an error completion.
      for (const elements of [2, 1]) {
        bad.sgList.length = elements
        try {
          x.postSend(bad)
        } catch (error) {
          expect(error).toBeInstanceOf(VerbsError)
        }
      }
      for (const { wrId, status } of drain(a.cq)) if (wrId === 7) expect(status).not.toBe(WcStatus.Success)
    }
    const outside = [...b.buffer].filter((byte, i) => (i < 1024 || i >= 1034) && byte !== 0x55)
    expect(outside).toEqual([])
  })
})
