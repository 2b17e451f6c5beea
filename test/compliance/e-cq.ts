/** Group E of the conformance list: completion queues, channels and events. */
import { expect } from 'vitest'
import {
  type CompletionChannel,
  type CqHandle,
  EventType,
  Opcode,
  QpState,
  QpType,
  SendFlag,
  workCompletions,
} from '../../src/index.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import { defaults, type End } from './end.ts'
import { expectSame, expectThrow, type Group, type Setup } from './rig.ts'
import { start } from './threads/start.ts'

export const groupE: Group = (it) => {
  it('45 create CQs of all sizes; max_cqe + 1 and bad numbers are EINVAL', (t) => {
    const context = t.context(0)
    const { maxCqe } = context.queryDevice()
    for (const cqe of [1, 2, 3, 100, 1000, maxCqe]) {
      const cq = t.own(context.createCq(cqe, { cqContext: { cqe } }))
      expect(cq.cqe).toBeGreaterThanOrEqual(cqe)
      expect(cq.cqContext).toEqual({ cqe })
      expectSame(cq.channel, null)
      expect(cq.poll(workCompletions(2))).toBe(0)
    }
    for (const cqe of [0, -1, maxCqe + 1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '8', undefined])
      expectThrow('EINVAL', () => context.createCq(cqe as number))
  })

  it('45 a completion vector that does not exist is EINVAL', (t) => {
    const context = t.context(0)
    t.own(context.createCq(4, { compVector: 0 }))
    for (const compVector of [-1, 1 << 20, 0.5]) expectThrow('EINVAL', () => context.createCq(4, { compVector }))
  })

  it('46 resize up and down keeps the completions; below what is outstanding it is EINVAL', async (t) => {
    const [a, b] = t.pair(QpType.RC, { cqe: 32 })
    for (let i = 0; i < 20; i++) a.post(Opcode.Write, b, { wrId: i, length: 8 })
    await arrived(t, a, b)
    expectThrow('EINVAL', () => a.sendCq.resize(8))
    a.sendCq.resize(200)
    expect(a.sendCq.cqe).toBeGreaterThanOrEqual(200)
    a.sendCq.resize(24)
    expect(a.sendCq.cqe).toBeGreaterThanOrEqual(24)
    for (let i = 0; i < 20; i++) await t.expectCompletion(a.sendCq, { wrId: i, status: 'Success' })
    a.sendCq.resize(1)
    expect(await t.run(a, Opcode.Write, b, { wrId: 99 })).toMatchObject({ wrId: 99, status: 'Success' })
    const { maxCqe } = a.context.queryDevice()
    for (const cqe of [0, -1, maxCqe + 1]) expectThrow('EINVAL', () => a.sendCq.resize(cqe))
  })

  it('47 a channel with a CQ is EBUSY', (t) => {
    const context = t.context(0)
    const channel = t.own(context.createCompChannel())
    const cq = t.own(context.createCq(4, { channel }))
    expectSame(cq.channel, channel)
    expectThrow('EBUSY', () => channel.close())
    t.close(cq)
    t.close(channel)
    expectThrow(['EBADF', 'EINVAL'], () => context.createCq(4, { channel }))
  })

  it('47 a channel of another context is EINVAL; arming without a channel too', (t) => {
    const channel = t.own(t.context(1).createCompChannel())
    expectThrow('EINVAL', () => t.context(0).createCq(4, { channel }))
    expectThrow('EINVAL', () => t.own(t.context(0).createCq(4)).reqNotify())
  })

  for (const type of [QpType.UD, QpType.RC]) {
    it(`48 completion events wake ${type === QpType.UD ? 'UD' : 'RC'} sender and receiver`, async (t) => {
      const [a, b] = t.pair(type, { events: true })
      const fields = type === QpType.UD ? a.datagram(t, b) : {}
      for (let round = 0; round < 5; round++) {
        a.sendCq.reqNotify()
        b.recvCq.reqNotify()
        b.recv(round, 0, 2048)
        a.post(Opcode.Send, null, { wrId: round, ...fields })
        expectSame(await t.event(b.channel!), b.recvCq)
        expectSame(await t.event(a.channel!), a.sendCq)
        await t.expectCompletion(a.sendCq, { wrId: round, status: 'Success' })
        await t.expectCompletion(b.recvCq, { wrId: round, status: 'Success' })
      }
    })
  }

  it('48 events come to a blocking wait and to an asynchronous iterator', async (t) => {
    const [a, b] = t.pair(QpType.RC, { events: true })
    expectSame(a.channel!.getEvent(1), null)
    a.sendCq.reqNotify()
    expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
    expectSame(a.channel!.getEvent(t.rig.patienceMs), a.sendCq)
    a.sendCq.ackEvents(1)
    a.sendCq.reqNotify()
    setImmediate(() => a.post(Opcode.Write, b, { wrId: 2 }))
    for await (const cq of a.channel!) {
      expectSame(cq, a.sendCq)
      cq.ackEvents(1)
      break
    }
    await t.expectCompletion(a.sendCq, { wrId: 2, status: 'Success' })
  })

  const waits: [string, (channel: CompletionChannel, patienceMs: number, t: Setup) => unknown][] = [
    ['blocks for its event', (channel, patienceMs) => channel.getEvent(patienceMs)],
    ['looks for its event', (channel, _patienceMs, t) => t.until('event', () => channel.tryGetEvent())],
    ['iterates over events', async (channel) => (await channel[Symbol.asyncIterator]().next()).value],
  ]
  for (const [how, wait] of waits) {
    it(`48 a failure that takes time comes to one who only ${how}`, async (t) => {
      for (const kill of [true, false]) {
        // A peer that lives has to answer in time also on a busy machine.
        const connect = { timeout: kill ? 8 : 18, retryCnt: 1, rnrRetry: 1, minRnrTimer: 1 }
        const [a, b] = t.pair(QpType.RC, { events: true, connect })
        a.sendCq.reqNotify()
        if (kill) b.qp.modify({ state: QpState.Reset })
        a.post(Opcode.Send, b)
        expectSame(await wait(a.channel!, t.rig.patienceMs, t), a.sendCq)
        a.sendCq.ackEvents(1)
        await t.expectCompletion(a.sendCq, { status: kill ? 'RetryExcErr' : 'RnrRetryExcErr' })
      }
    })
  }

  it('49 create_cq_ex: a single-threaded CQ polled by the extended API; bad attributes are EINVAL', async (t) => {
    const context = t.context(0)
    const cq = t.own(context.createCq(64, { singleThreaded: true }))
    const a = t.end(0, QpType.RC, { cq })
    const b = t.end(1, QpType.RC)
    t.connect(a, b)
    a.recv(5)
    b.post(Opcode.SendWithImm, a, { immData: 0xfedcba98 })
    await t.until('completion', () => cq.startPoll())
    const { current } = cq
    expect(current).toMatchObject({ wrId: 5, status: 0, byteLen: 1024, immData: 0xfedcba98, qpNum: a.qp.qpNum })
    expect(current.statusText).toBe('success')
    expect(cq.nextPoll()).toBe(false)
    cq.endPoll()
    expectThrow('EINVAL', () => context.createCq(64, { compVector: '0' as never }))
    expectThrow('EINVAL', () => context.createCq(64, { channel: {} as never }))
  })

  it('50 extended polling takes a batch in order', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    expect(a.sendCq.startPoll()).toBe(false)
    for (let i = 0; i < 10; i++) a.post(Opcode.Write, b, { wrId: i })
    await arrived(t, a, b)
    const taken: number[] = []
    await t.until('completion', () => a.sendCq.startPoll())
    do taken.push(a.sendCq.current.wrId)
    while (a.sendCq.nextPoll())
    a.sendCq.endPoll()
    expect(taken).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('50 poll fills at most what it is asked for', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    for (let i = 0; i < 10; i++) a.post(Opcode.Write, b, { wrId: i })
    await arrived(t, a, b)
    const wc = workCompletions(16)
    expect(a.sendCq.poll(wc, 0)).toBe(0)
    expect(a.sendCq.poll(wc, 3)).toBe(3)
    expect(a.sendCq.poll(wc)).toBe(7)
    expect(wc.slice(0, 7).map(({ wrId }) => wrId)).toEqual([3, 4, 5, 6, 7, 8, 9])
    expect(a.sendCq.poll(wc)).toBe(0)
  })

  for (const solicitedSend of [false, true]) {
    for (const solicitedOnly of [false, true]) {
      const fires = solicitedSend || !solicitedOnly
      it(`51 a ${solicitedSend ? 'solicited' : 'plain'} send and notify ${solicitedOnly ? 'solicited' : 'any'}: ${fires ? 'event' : 'none'}`, async (t) => {
        const [a, b] = t.pair(QpType.RC, { events: true })
        b.recvCq.reqNotify(solicitedOnly)
        await t.expectNoEvent(b.channel!)
        await message(t, a, b, solicitedSend)
        if (fires) expectSame(await t.event(b.channel!), b.recvCq)
        await t.expectNoEvent(b.channel!, a.channel!)
      })
    }
  }

  it('51 a solicited write_imm is an event, a plain one is not', async (t) => {
    const [a, b] = t.pair(QpType.RC, { events: true })
    for (const solicited of [false, true]) {
      b.recvCq.reqNotify(true)
      b.recv()
      const sendFlags = SendFlag.Signaled | (solicited ? SendFlag.Solicited : 0)
      expect(await t.run(a, Opcode.WriteWithImm, b, { sendFlags, immData: 1 })).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { status: 'Success' })
      if (solicited) expectSame(await t.event(b.channel!), b.recvCq)
      else await t.expectNoEvent(b.channel!)
    }
  })

  it('51 an error is an event for solicited too', async (t) => {
    const [a, b] = t.pair(QpType.RC, { events: true })
    b.recvCq.reqNotify(true)
    b.recv(1, 0, 16)
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'RemInvReqErr' })
    expectSame(await t.event(b.channel!), b.recvCq)
  })

  it('52 any is not downgraded to solicited', async (t) => {
    const [a, b] = t.pair(QpType.RC, { events: true })
    b.recvCq.reqNotify(false)
    b.recvCq.reqNotify(true)
    await message(t, a, b, false)
    expectSame(await t.event(b.channel!), b.recvCq)
  })

  it('52 solicited is upgraded to any', async (t) => {
    const [a, b] = t.pair(QpType.RC, { events: true })
    b.recvCq.reqNotify(true)
    b.recvCq.reqNotify(false)
    await message(t, a, b, false)
    expectSame(await t.event(b.channel!), b.recvCq)
  })

  it('53 several CQs on one channel: each gives its event', async (t) => {
    const context = t.context(0)
    const channel = t.own(context.createCompChannel())
    const cqs = Array.from({ length: 20 }, (_, i) => t.own(context.createCq(16, { channel, cqContext: i })))
    const pairs = cqs.map((cq) => {
      const a = t.end(0, QpType.RC, { cq, bytes: 4096 })
      const b = t.end(1, QpType.RC, { bytes: 4096 })
      t.connect(a, b)
      return [a, b] as const
    })
    for (const [a, b] of pairs) {
      a.sendCq.reqNotify()
      a.post(Opcode.Write, b)
    }
    const seen = new Set<unknown>()
    for (let i = 0; i < cqs.length; i++) seen.add((await t.event(channel)).cqContext)
    expect(seen.size).toBe(cqs.length)
    await t.expectNoEvent(channel)
  })

  it('54 no spurious events: one for each arming, none without', async (t) => {
    const [a, b] = t.pair(QpType.RC, { events: true })
    a.sendCq.reqNotify()
    for (let i = 0; i < 3; i++) expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
    expectSame(await t.event(a.channel!), a.sendCq)
    await t.expectNoEvent(a.channel!)
    expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
    a.sendCq.reqNotify()
    await t.expectNoEvent(a.channel!, b.channel!)
  })

  it('54 acknowledging more events than there were is EINVAL', async (t) => {
    const [a, b] = t.pair(QpType.RC, { events: true })
    expectThrow('EINVAL', () => a.sendCq.ackEvents(1))
    a.sendCq.reqNotify()
    expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
    await t.event(a.channel!)
    expectThrow('EINVAL', () => a.sendCq.ackEvents(1))
  })

  // IBA C11-37
  it('55 a CQ overflow is the event CQ_ERR, and polling says so', async (t) => {
    const [a, b] = t.pair(QpType.RC, { a: { cqe: 4, cap: { maxSendWr: 256 } } })
    const { cqe } = a.sendCq
    for (let i = 0; i < cqe + 4; i++) {
      const length = 1
      a.post(Opcode.Write, b, { wrId: i, length })
    }
    const event = await t.asyncEvent(a.context, EventType.CqErr)
    expectSame(event.cq, a.sendCq)
    const wc = workCompletions(1)
    await t.until('CQ error', () => a.sendCq.poll(wc, 1) === -1)
    expect(a.sendCq.poll(wc, 1)).toBe(-1)
  })

  it('55 the other CQs of the device go on', async (t) => {
    const [a, b] = t.pair(QpType.RC, { a: { cqe: 1, cap: { maxSendWr: 256 } } })
    const [c, d] = t.pair(QpType.RC)
    for (let i = 0; i < a.sendCq.cqe + 2; i++) a.post(Opcode.Write, b, { wrId: i, length: 1 })
    await t.asyncEvent(a.context, EventType.CqErr)
    expect(await t.run(c, Opcode.Write, d)).toMatchObject({ status: 'Success' })
  })

  it('56 destroying a CQ with an unacknowledged event waits for the acknowledgement', async (t) => {
    const thread = start(t, 'unacked', { name: t.rig.names[0], options: t.rig.options ?? {} })
    const { handle } = await thread.next<{ handle: CqHandle }>()
    const closed = thread.next<string>()
    const early = await Promise.race([
      closed,
      new Promise((resolve) => setTimeout(() => resolve('waits'), t.rig.quietMs * 2)),
    ])
    expect(early).toBe('waits')
    t.own(t.context(0).importCq(handle)).ackEvents(1)
    expect(await closed).toBe('closed')
  })
}

/**
 * Waits until all that `a` has posted is done, without polling its send CQ: the last message has arrived, and its sender
 * knows.
 */
async function arrived(t: Setup, a: End, b: End): Promise<void> {
  b.recv(77)
  a.post(Opcode.Send, b, { wrId: 78, sendFlags: 0 })
  await t.expectCompletion(b.recvCq, { wrId: 77, status: 'Success' })
  const { host } = a.context.device
  const q = host.qpWord(a.qp.slot)
  await t.until('acknowledgement', () => {
    if (a.context.device.driven) a.context.device.progress()
    return host.i32[q + layout.Qp.sqNext] === host.i32[q + layout.Qp.sqHead]
  })
}

async function message(t: Setup, a: End, b: End, solicited: boolean): Promise<void> {
  b.recv(1, 0, defaults.message)
  a.post(Opcode.Send, b, { sendFlags: SendFlag.Signaled | (solicited ? SendFlag.Solicited : 0) })
  await t.expectCompletion(a.sendCq, { status: 'Success' })
  await t.expectCompletion(b.recvCq, { status: 'Success' })
}
