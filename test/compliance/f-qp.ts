/** Group F of the conformance list: queue pairs, their states, their limits. The transitions are in f-qp-transitions.ts. */
import { expect } from 'vitest'
import { Access, EventType, nameOf, Opcode, type QpCap, QpState, QpType, SendFlag } from '../../src/index.ts'
import { defaults, fullAccess } from './end.ts'
import { expectSame, expectThrow, type Group } from './rig.ts'
import { bring } from './states.ts'

const types = { RC: QpType.RC, UC: QpType.UC, UD: QpType.UD } as const
const names = ['RC', 'UC', 'UD'] as const

export const groupF: Group = (it) => {
  // IBA CA17-28
  it('57 create RC, UC and UD, with and without attributes; another type is EINVAL', (t) => {
    const { pd, sendCq, recvCq } = t.end(0, QpType.RC)
    for (const name of names) {
      const plain = t.own(pd.createQp({ type: types[name], sendCq, recvCq }))
      const full = t.own(
        pd.createQp({ type: types[name], sendCq, recvCq, cap: defaults.cap, sqSigAll: true, qpContext: name }),
      )
      expect([plain.type, plain.state]).toEqual([types[name], QpState.Reset])
      for (const [got, given] of [
        [plain.pd, pd],
        [plain.sendCq, sendCq],
        [plain.recvCq, recvCq],
      ])
        expectSame(got, given)
      expect(full.qpContext).toBe(name)
      expect(full.qpNum).not.toBe(plain.qpNum)
      expect(full.qpNum).toBeGreaterThan(1)
      expect(full.qpNum).toBeLessThan(0xffffff)
    }
    for (const type of [0, 5, 8, 255, -1, Number.NaN, undefined])
      expectThrow(['EINVAL', 'EOPNOTSUPP'], () => pd.createQp({ type: type as never, sendCq, recvCq }))
    expectThrow('EINVAL', () => pd.createQp({ type: QpType.RC, sendCq, recvCq: undefined as never }))
    expectThrow('EINVAL', () => pd.createQp({ type: QpType.RC, sendCq: null as never, recvCq }))
  })

  it('57 a CQ of another context is EINVAL', (t) => {
    const a = t.end(0, QpType.RC)
    const b = t.end(1, QpType.RC)
    expectThrow('EINVAL', () => a.pd.createQp({ type: QpType.RC, sendCq: a.sendCq, recvCq: b.recvCq }))
  })

  const illegal: [string, (max: { maxQpWr: number; maxSge: number }) => Partial<QpCap>][] = [
    ['max_send_wr', ({ maxQpWr }) => ({ maxSendWr: maxQpWr + 1 })],
    ['max_recv_wr', ({ maxQpWr }) => ({ maxRecvWr: maxQpWr + 1 })],
    ['max_send_sge', ({ maxSge }) => ({ maxSendSge: maxSge + 1 })],
    ['max_recv_sge', ({ maxSge }) => ({ maxRecvSge: maxSge + 1 })],
  ]
  for (const [what, capOf] of illegal) {
    it(`57 ${what} above the limit is EINVAL`, (t) => {
      const { pd, sendCq, recvCq, context } = t.end(0, QpType.RC)
      const cap = capOf(context.queryDevice())
      for (const name of names) expectThrow('EINVAL', () => pd.createQp({ type: types[name], sendCq, recvCq, cap }))
    })
  }

  it('57 the limits themselves work', (t) => {
    const { pd, sendCq, recvCq, context } = t.end(0, QpType.RC)
    const { maxQpWr, maxSge, maxInlineData } = context.queryDevice()
    t.own(
      pd.createQp({ type: QpType.RC, sendCq, recvCq, cap: { maxSendWr: maxQpWr, maxRecvWr: maxQpWr, maxInlineData } }),
    )
    t.own(pd.createQp({ type: QpType.RC, sendCq, recvCq, cap: { maxSendSge: maxSge, maxRecvSge: maxSge } }))
    expectThrow('EINVAL', () =>
      pd.createQp({ type: QpType.RC, sendCq, recvCq, cap: { maxInlineData: maxInlineData + 1 } }),
    )
  })

  it('58 query_qp: state, and capabilities not less than asked', (t) => {
    const { pd, sendCq, recvCq } = t.end(0, QpType.RC)
    const asked = { maxSendWr: 17, maxRecvWr: 9, maxSendSge: 3, maxRecvSge: 2, maxInlineData: 33 }
    const qp = t.own(pd.createQp({ type: QpType.RC, sendCq, recvCq, cap: asked, sqSigAll: true }))
    const { attr, initAttr } = qp.query()
    expect(attr.state).toBe(QpState.Reset)
    expect([initAttr.type, initAttr.sqSigAll]).toEqual([QpType.RC, true])
    expect(initAttr.cap).toEqual(qp.cap)
    for (const key of Object.keys(asked) as (keyof QpCap)[])
      expect(initAttr.cap[key]).toBeGreaterThanOrEqual(asked[key])
  })

  it('60 UD: Q_Key and send PSN read back', (t) => {
    const [a] = t.pair(QpType.UD)
    expect(a.qp.query().attr.qkey).toBe(defaults.qkey)
    a.qp.modify({ state: QpState.Rts, qkey: 0x7654321 })
    expect(a.qp.query().attr.qkey).toBe(0x7654321)
    const other = t.end(0, QpType.UD)
    bring(t, other, 'Rtr')
    other.qp.modify({ state: QpState.Rts, sqPsn: 0xabcdef })
    expect(other.qp.query().attr).toMatchObject({ state: QpState.Rts, sqPsn: 0xabcdef })
  })

  it('61 max_rd_atomic and the other RC attributes read back', (t) => {
    const a = t.end(0, QpType.RC)
    const b = t.end(1, QpType.RC)
    t.connect(a, b, {
      maxRdAtomic: 3,
      maxDestRdAtomic: 5,
      timeout: 9,
      retryCnt: 2,
      rnrRetry: 3,
      minRnrTimer: 4,
      pathMtu: 512,
    })
    const { attr } = a.qp.query()
    expect(attr.maxRdAtomic).toBeGreaterThanOrEqual(3)
    expect(attr.maxDestRdAtomic).toBeGreaterThanOrEqual(5)
    expect(attr).toMatchObject({
      timeout: 9,
      retryCnt: 2,
      rnrRetry: 3,
      minRnrTimer: 4,
      pathMtu: 512,
      destQpNum: b.qp.qpNum,
      port: 1,
    })
    expect(attr.sqPsn).toBe(a.endpoint.psn)
    expect(attr.rqPsn).toBe(b.endpoint.psn)
    expect(attr.ah.grh?.dgid).toEqual(b.endpoint.gid)
  })

  it('62 a privileged Q_Key (bit 31) needs a capability: EPERM', (t) => {
    const a = t.end(0, QpType.UD)
    expectThrow('EPERM', () => a.qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, qkey: 0x80010000 }))
    a.expectState('Reset')
  })

  for (const name of names) {
    // IBA C10-96
    it(`63 ${name}: post_send in RESET, INIT and RTR is EINVAL`, (t) => {
      const a = t.end(0, types[name])
      const fields = name === 'UD' ? a.datagram(t, t.end(1, QpType.UD)) : {}
      for (const state of ['Reset', 'Init', 'Rtr'] as const) {
        bring(t, a, state)
        const error = expectThrow('EINVAL', () => a.post(Opcode.Send, null, fields))
        expect(error.badWr).toBeDefined()
      }
      bring(t, a, 'Rts')
      a.post(Opcode.Send, null, fields)
    })

    it(`64 ${name}: post_recv in RESET is EINVAL; in INIT, RTR and RTS it is taken`, (t) => {
      const a = t.end(0, types[name])
      expectThrow('EINVAL', () => a.recv())
      for (const state of ['Init', 'Rtr', 'Rts'] as const) {
        bring(t, a, state)
        a.recv()
      }
    })

    it(`64 ${name}: a QP in RTR receives`, async (t) => {
      const [a, b] = [t.end(0, types[name]), t.end(1, types[name])]
      b.endpoint = t.endpoint(b as never)
      t.connectTo(b as never, a.endpoint, { until: QpState.Rtr })
      t.connectTo(a as never, b.endpoint)
      b.recv(4, 0, 2048)
      const fields = name === 'UD' ? a.datagram(t, b as never) : {}
      expect(await t.run(a as never, Opcode.Send, b as never, fields)).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: 4, status: 'Success' })
      b.expectState('Rtr')
    })

    it(`65 ${name}: posting in ERR flushes`, async (t) => {
      const a = t.end(0, types[name])
      const fields = name === 'UD' ? a.datagram(t, t.end(1, QpType.UD)) : {}
      bring(t, a, 'Rts')
      a.qp.modify({ state: QpState.Err } as never)
      a.post(Opcode.Send, null, { wrId: 5, ...fields })
      a.post(Opcode.Send, null, { wrId: 6, sendFlags: 0, ...fields })
      a.recv(7)
      a.recv(8)
      await t.expectOrder(a.sendCq, [
        [5, 'WrFlushErr'],
        [6, 'WrFlushErr'],
      ])
      await t.expectOrder(a.recvCq, [
        [7, 'WrFlushErr'],
        [8, 'WrFlushErr'],
      ])
    })
  }

  it('66 a full send queue is ENOMEM, says which request, and has room after polling', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { maxSendWr } = a.qp.cap
    const list = Array.from({ length: maxSendWr + 1 }, (_, i) => a.request(Opcode.Write, b, { wrId: i, length: 8 }))
    for (let i = 0; i < maxSendWr; i++) Object.assign(list[i]!, { next: list[i + 1] })
    const error = expectThrow('ENOMEM', () => a.qp.postSend(list[0]!))
    expect(error.badWr).toMatchObject({ wrId: maxSendWr })
    for (let i = 0; i < maxSendWr; i++) await t.expectCompletion(a.sendCq, { wrId: i, status: 'Success' })
    a.qp.postSend(list[maxSendWr]!)
    await t.expectCompletion(a.sendCq, { wrId: maxSendWr, status: 'Success' })
  })

  it('66 unsignaled requests hold their places until a signaled one is polled', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { maxSendWr } = a.qp.cap
    for (let i = 0; i < maxSendWr; i++)
      a.post(Opcode.Write, b, { wrId: i, length: 8, sendFlags: i === maxSendWr - 1 ? SendFlag.Signaled : 0 })
    expectThrow('ENOMEM', () => a.post(Opcode.Write, b, { length: 8 }))
    await t.expectCompletion(a.sendCq, { wrId: maxSendWr - 1, status: 'Success' })
    for (let i = 0; i < maxSendWr; i++) a.post(Opcode.Write, b, { wrId: i, length: 8 })
  })

  it('66 a full receive queue is ENOMEM', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { maxRecvWr } = b.qp.cap
    for (let i = 0; i < maxRecvWr; i++) b.recv(i)
    const error = expectThrow('ENOMEM', () => b.recv(1000))
    expect(error.badWr).toMatchObject({ wrId: 1000 })
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 0 })
    b.recv(maxRecvWr)
    expectThrow('ENOMEM', () => b.recv(1000))
  })

  it('66 too many scatter/gather elements are EINVAL; what came before in the list is posted', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { maxSendSge, maxRecvSge } = a.qp.cap
    const many = (n: number) => Array.from({ length: n + 1 }, () => a.sge(0, 8))
    const bad = a.request(Opcode.Write, b, { wrId: 2, sgList: many(maxSendSge) })
    const first = { ...a.request(Opcode.Write, b, { wrId: 1 }), next: bad }
    expect(expectThrow('EINVAL', () => a.qp.postSend(first)).badWr).toMatchObject({ wrId: 2 })
    await t.expectCompletion(a.sendCq, { wrId: 1, status: 'Success' })
    expectThrow('EINVAL', () => a.qp.postRecv({ sgList: many(maxRecvSge) }))
  })

  it('67 inline data above the limit is EINVAL; up to it, it works', async (t) => {
    const [a, b] = t.pair(QpType.RC, { cap: { maxInlineData: 100 } })
    const { maxInlineData } = a.qp.cap
    const sendFlags = SendFlag.Signaled | SendFlag.Inline
    expectThrow('EINVAL', () => a.post(Opcode.Write, b, { sendFlags, length: maxInlineData + 1 }))
    expectThrow('EINVAL', () => a.post(Opcode.Write, b, { sendFlags, sgList: [a.sge(0, maxInlineData), a.sge(0, 1)] }))
    expectThrow('EINVAL', () => a.post(Opcode.Read, b, { sendFlags, length: 8 }))
    expect(await t.run(a, Opcode.Write, b, { sendFlags, length: maxInlineData })).toMatchObject({ status: 'Success' })
    expect(await t.run(a, Opcode.Write, b, { sendFlags, length: 0 })).toMatchObject({ status: 'Success' })
  })

  it('68 RTS to ERR flushes both queues in order', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    for (let i = 0; i < 10; i++) {
      a.recv(100 + i)
      // Without a receive at the peer the first waits, and all others behind it.
      a.post(Opcode.Send, b, { wrId: i, sendFlags: i % 2 === 0 ? SendFlag.Signaled : 0 })
    }
    await t.expectQuiet(a.sendCq, a.recvCq)
    a.qp.modify({ state: QpState.Err })
    a.expectState('Err')
    await t.expectOrder(a.sendCq, flushed(0, 10))
    await t.expectOrder(a.recvCq, flushed(100, 10))
    await t.expectQuiet(a.sendCq, a.recvCq, b.recvCq)
  })

  it('69 a QP is as new after RESET: queues empty, and it connects again', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    for (let i = 0; i < a.qp.cap.maxRecvWr; i++) a.recv(i)
    for (let i = 0; i < a.qp.cap.maxSendWr; i++) a.post(Opcode.Send, b, { wrId: i })
    for (const { qp } of [a, b]) qp.modify({ state: QpState.Reset })
    await t.expectQuiet(a.sendCq, a.recvCq)
    expectThrow('EINVAL', () => a.recv())
    t.connect(a, b)
    for (let i = 0; i < a.qp.cap.maxRecvWr; i++) a.recv(200 + i)
    for (let i = 0; i < 3; i++) {
      expect(await t.run(b, Opcode.Send, a, { wrId: i })).toMatchObject({ wrId: i, status: 'Success' })
      await t.expectCompletion(a.recvCq, { wrId: 200 + i, status: 'Success' })
      expect(await t.run(a, Opcode.Write, b, { wrId: 50 + i })).toMatchObject({ wrId: 50 + i, status: 'Success' })
    }
  })

  it('69 after an error too', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    expect(await t.run(a, Opcode.Write, b, { rkey: b.mr.rkey ^ 0x5555 })).toMatchObject({ status: 'RemAccessErr' })
    for (const { qp } of [a, b]) qp.modify({ state: QpState.Reset })
    t.connect(a, b)
    expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
  })

  for (const name of names) {
    it(`70 destroy a ${name} QP from every state`, (t) => {
      for (const state of ['Reset', 'Init', 'Rtr', 'Rts', 'Sqd', 'Err'] as const) {
        const a = t.end(0, types[name])
        bring(t, a, state)
        if (state !== 'Reset') a.recv()
        t.close(a.qp)
        t.close(a.mr)
        t.close(a.sendCq)
        t.close(a.recvCq)
        t.close(a.pd)
      }
    })
  }

  it('70 destroy with requests outstanding: their completions vanish', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.recv()
    for (let i = 0; i < 5; i++) a.post(Opcode.Send, b, { wrId: i })
    t.close(a.qp)
    // Also b's adapter takes what is outstanding, for which it has no receive.
    await t.expectQuiet(a.sendCq, a.recvCq, b.recvCq)
    b.recv()
    await t.expectQuiet(b.recvCq)
  })

  it('71 more QPs one after the other than fit at a time: numbers roll over, traffic goes on', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { maxQp } = a.context.queryDevice()
    const cap = { maxSendWr: 1, maxRecvWr: 1, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
    const { sendCq, recvCq } = a
    for (let i = 0; i < maxQp + 32; i++) {
      const qp = a.pd.createQp({ type: QpType.RC, sendCq, recvCq, cap })
      if (qp.qpNum === a.qp.qpNum || qp.qpNum <= 1 || qp.qpNum >= 0xffffff) expect.fail(`QP number ${qp.qpNum}`)
      qp.close()
      if (i % 4096 === 0 || i >= maxQp) expect(await t.run(a, Opcode.Read, b)).toMatchObject({ status: 'Success' })
    }
  })

  for (const type of [QpType.RC, QpType.UC])
    it(`71 the first message that reaches a QP of ${nameOf(QpType, type)} in RTR makes CommEst, once`, async (t) => {
      const [a, b] = t.pair(type)
      for (const { qp } of [a, b]) {
        const { ah, pathMtu, destQpNum, rqPsn, sqPsn } = qp.query().attr
        const rc = type === QpType.RC
        qp.modify({ state: QpState.Reset })
        qp.modify({ state: QpState.Init, pkeyIndex: 0, port: 1, accessFlags: fullAccess & ~Access.MwBind } as never)
        const more = rc ? { maxDestRdAtomic: 1, minRnrTimer: 1 } : {}
        qp.modify({ state: QpState.Rtr, ah, pathMtu, destQpNum, rqPsn, ...more } as never)
        const rts = rc ? { timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 } : {}
        if (qp === a.qp) qp.modify({ state: QpState.Rts, sqPsn, ...rts } as never)
      }
      for (let i = 0; i < 3; i++) b.recv(i)
      expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
      expectSame((await t.asyncEvent(b.context, EventType.CommEst)).qp, b.qp)
      for (const opcode of [Opcode.Send, Opcode.Write])
        expect(await t.run(a, opcode, b)).toMatchObject({ status: 'Success' })
      expect(await t.countAsyncEvents(b.context, EventType.CommEst)).toBe(0)
    })

  it('72 a CQ or an SRQ that a QP uses is EBUSY', (t) => {
    const { pd, context } = t.end(0, QpType.RC)
    const srq = t.own(pd.createSrq({ maxWr: 4 }))
    const [sendCq, recvCq] = [t.own(context.createCq(4)), t.own(context.createCq(4))]
    const first = t.own(pd.createQp({ type: QpType.RC, sendCq, recvCq, srq }))
    const second = t.own(pd.createQp({ type: QpType.UD, sendCq: recvCq, recvCq, srq }))
    for (const object of [sendCq, recvCq, srq]) expectThrow('EBUSY', () => object.close())
    t.close(first)
    for (const object of [recvCq, srq]) expectThrow('EBUSY', () => object.close())
    t.close(sendCq)
    t.close(second)
    t.close(srq)
    t.close(recvCq)
  })
}

function flushed(first: number, count: number): [number, 'WrFlushErr'][] {
  return Array.from({ length: count }, (_, i) => [first + i, 'WrFlushErr'])
}
