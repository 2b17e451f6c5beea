/** Group J of the conformance list: shared receive queues. */
import { expect } from 'vitest'
import { EventType, Opcode, QpState, QpType, type SharedReceiveQueue } from '../../src/index.ts'
import { type End, expectBytes, pattern } from './end.ts'
import { expectSame, expectThrow, type Group, type Setup } from './rig.ts'

type Rc = End<typeof QpType.RC>

export const groupJ: Group = (it) => {
  it('102 two QPs share an SRQ: each message takes the next receive', async (t) => {
    const { srq, pairs } = shared(t, 2)
    for (let i = 0; i < 20; i++) {
      const [a, b] = pairs[i % 3 === 0 ? 0 : 1]!
      a.buffer.set(pattern(64, i))
      srq.postRecv({ wrId: i, sgList: [b.sge(i * 64, 64)] })
      expect(await t.run(a, Opcode.Send, b, { length: 64 })).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: i, status: 'Success', qpNum: b.qp.qpNum, byteLen: 64 })
      expectBytes(b.buffer.subarray(i * 64, i * 64 + 64), pattern(64, i))
    }
  })

  it('102 receives posted together are taken in order, whoever takes them', async (t) => {
    const { srq, pairs } = shared(t, 2)
    const [, first] = pairs[0]!
    for (let i = 0; i < 8; i++) srq.postRecv({ wrId: i, sgList: [first.sge(i * 8, 8)] })
    for (let i = 0; i < 8; i++) {
      const [a, b] = pairs[i % 2]!
      const opcode = i < 4 ? Opcode.Send : Opcode.WriteWithImm
      expect(await t.run(a, opcode, b, { length: 8, immData: i, remoteOffset: 4096 })).toMatchObject({
        status: 'Success',
      })
      await t.expectCompletion(b.recvCq, { wrId: i, status: 'Success', opcode: i < 4 ? 'Recv' : 'RecvRdmaWithImm' })
    }
  })

  it('102 without a receive it is RNR; one posted later ends the wait', async (t) => {
    const { srq, pairs } = shared(t, 2)
    for (const [i, [a, b]] of pairs.entries()) a.post(Opcode.Send, b, { wrId: i })
    await t.expectQuiet(...pairs.map(([a]) => a.sendCq))
    for (const [, b] of pairs) srq.postRecv({ wrId: 5, sgList: [b.sge()] })
    for (const [i, [a, b]] of pairs.entries()) {
      await t.expectCompletion(a.sendCq, { wrId: i, status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: 5, status: 'Success' })
    }
    const [a, b] = shared(t, 1, { rnrRetry: 1, minRnrTimer: 1 }).pairs[0]!
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'RnrRetryExcErr' })
  })

  it('102 UD and UC QPs receive from an SRQ too', async (t) => {
    for (const type of [QpType.UD, QpType.UC]) {
      const pd = t.own(t.context(1).allocPd())
      const srq = t.own(pd.createSrq({ maxWr: 4 }))
      const [a, b] = t.pair(type, { b: { srq, pd } }) as [End, End]
      srq.postRecv({ wrId: 3, sgList: [b.sge(0, 2048)] })
      const fields = type === QpType.UD ? a.datagram(t, b) : {}
      expect(await t.run(a, Opcode.Send, b, fields)).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: 3, status: 'Success' })
    }
  })

  it('103 the limit event comes once, when fewer receives are left than the limit', async (t) => {
    const { srq, pairs, context } = shared(t, 1)
    const [a, b] = pairs[0]!
    for (let i = 0; i < 10; i++) srq.postRecv({ wrId: i, sgList: [b.sge()] })
    srq.modify({ srqLimit: 8 })
    expect(srq.query().srqLimit).toBe(8)
    const message = async () => {
      expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { status: 'Success' })
    }
    await message()
    await message()
    expect(await t.countAsyncEvents(context, EventType.SrqLimitReached)).toBe(0)
    await message()
    expectSame((await t.asyncEvent(context, EventType.SrqLimitReached)).srq, srq)
    expect(srq.query().srqLimit).toBe(0)
    for (let i = 0; i < 4; i++) await message()
    expect(await t.countAsyncEvents(context, EventType.SrqLimitReached)).toBe(0)
    srq.modify({ srqLimit: 3 })
    await message()
    await t.asyncEvent(context, EventType.SrqLimitReached)
  })

  it('103 a limit that is reached already, or above the size', async (t) => {
    const { srq, context } = shared(t, 1)
    const { maxWr } = srq.query()
    expectThrow('EINVAL', () => srq.modify({ srqLimit: maxWr + 1 }))
    expectThrow('EINVAL', () => srq.modify({ srqLimit: -1 }))
    srq.modify({ srqLimit: 1 })
    // Whether the event comes at once or with the next message is the device's choice; it never comes twice.
    expect(await t.countAsyncEvents(context, EventType.SrqLimitReached)).toBeLessThanOrEqual(1)
  })

  it('104 resize: what is posted stays; below it EINVAL', async (t) => {
    const { srq, pairs } = shared(t, 1)
    const [a, b] = pairs[0]!
    const { maxWr } = srq.query()
    for (let i = 0; i < maxWr; i++) srq.postRecv({ wrId: i, sgList: [b.sge()] })
    srq.modify({ maxWr: maxWr * 3 })
    const larger = srq.query().maxWr
    expect(larger).toBeGreaterThanOrEqual(maxWr * 3)
    for (let i = maxWr; i < larger; i++) srq.postRecv({ wrId: i, sgList: [b.sge()] })
    expectThrow('ENOMEM', () => srq.postRecv({ wrId: 0 }))
    expectThrow('EINVAL', () => srq.modify({ maxWr: larger - 1 }))
    for (let i = 0; i < larger - 2; i++) {
      expect(await t.run(a, Opcode.Send, b, { length: 4 })).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: i, status: 'Success' })
    }
    srq.modify({ maxWr: 2 })
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: larger - 2, status: 'Success' })
    const { maxSrqWr } = b.context.queryDevice()
    expectThrow('EINVAL', () => srq.modify({ maxWr: maxSrqWr + 1 }))
  })

  it('105 post_recv on a QP with an SRQ is EINVAL', (t) => {
    const { pairs } = shared(t, 1)
    expectThrow('EINVAL', () => pairs[0]![1].recv())
  })

  it('105 create_qp with an SRQ ignores the sizes of a receive queue', (t) => {
    const { srq, pairs } = shared(t, 1)
    const [, b] = pairs[0]!
    const { pd, sendCq, recvCq } = b
    for (const cap of [{ maxRecvWr: 2 ** 30 }, { maxRecvSge: 1e6 }])
      expect(t.own(pd.createQp({ type: QpType.RC, sendCq, recvCq, srq, cap })).cap).toMatchObject({ maxRecvWr: 0 })
  })

  it('106 max_wr + 1 receives are ENOMEM; too many elements EINVAL', (t) => {
    const { srq, pairs } = shared(t, 1)
    const [, b] = pairs[0]!
    const { maxWr, maxSge } = srq.query()
    for (let i = 0; i < maxWr; i++) srq.postRecv({ wrId: i, sgList: [b.sge()] })
    expect(expectThrow('ENOMEM', () => srq.postRecv({ wrId: 500, sgList: [b.sge()] })).badWr).toMatchObject({
      wrId: 500,
    })
    const other = t.own(b.pd.createSrq({ maxWr: 2, maxSge: 1 }))
    expect(maxSge).toBeGreaterThanOrEqual(1)
    const { maxSge: most } = other.query()
    expectThrow('EINVAL', () => other.postRecv({ sgList: Array.from({ length: most + 1 }, () => b.sge(0, 1)) }))
  })

  it('106 sizes above the limits of the device are EINVAL', (t) => {
    const { pd, context } = t.end(0, QpType.RC)
    const { maxSrqWr, maxSrqSge } = context.queryDevice()
    for (const init of [
      { maxWr: maxSrqWr + 1 },
      { maxWr: 4, maxSge: maxSrqSge + 1 },
      { maxWr: 0 },
      { maxWr: -1 },
      { maxWr: 2.5 },
    ])
      expectThrow('EINVAL', () => pd.createSrq(init))
    t.own(pd.createSrq({ maxWr: maxSrqWr, maxSge: 1 }))
    t.own(pd.createSrq({ maxWr: 1, maxSge: maxSrqSge }))
  })

  it('107 a flush of one QP leaves the SRQ to the others, and is followed by LAST_WQE_REACHED', async (t) => {
    const { srq, pairs, context } = shared(t, 2)
    const [[, b], [c, d]] = pairs as [[Rc, Rc], [Rc, Rc]]
    for (let i = 0; i < 4; i++) srq.postRecv({ wrId: i, sgList: [d.sge()] })
    b.qp.modify({ state: QpState.Err })
    expectSame((await t.asyncEvent(context, EventType.QpLastWqeReached)).qp, b.qp)
    await t.expectQuiet(b.recvCq, d.recvCq)
    t.close(b.qp)
    for (let i = 0; i < 4; i++) {
      expect(await t.run(c, Opcode.Send, d)).toMatchObject({ status: 'Success' })
      await t.expectCompletion(d.recvCq, { wrId: i, status: 'Success' })
    }
  })
}

/** `count` pairs whose second ends share an SRQ for 16 receives. */
function shared(
  t: Setup,
  count: number,
  connect = {},
): { srq: SharedReceiveQueue; pairs: [Rc, Rc][]; context: ReturnType<Setup['context']> } {
  const context = t.context(1)
  const pd = t.own(context.allocPd())
  const srq = t.own(pd.createSrq({ maxWr: 16, maxSge: 2 }))
  const pairs = Array.from({ length: count }, () => t.pair(QpType.RC, { b: { srq, pd }, connect }))
  return { srq, pairs, context }
}
