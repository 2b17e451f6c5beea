/** Group G of the conformance list: what goes wrong on reliable connections, and with which status at which end. */
import { expect } from 'vitest'
import { Access, EventType, MwType, Opcode, QpState, QpType, SendFlag } from '../../src/index.ts'
import { type End, expectBytes, fullAccess, isZero, pattern, read64 } from './end.ts'
import { type Completion, expectSame, type Group } from './rig.ts'

const rdma = [Opcode.Write, Opcode.Read, Opcode.WriteWithImm] as const
const atomics = [Opcode.AtomicCmpAndSwp, Opcode.AtomicFetchAndAdd] as const
/** What the operations need besides addresses. */
const operands = { immData: 1, compareAdd: 1n, swap: 2n }
const nameOf = (opcode: number): string => Object.entries(Opcode).find(([, value]) => value === opcode)![0]

export const groupGErrors: Group = (it) => {
  for (const opcode of rdma) {
    it(`77 ${nameOf(opcode)} out of the remote region, front or rear, is REM_ACCESS_ERR`, async (t) => {
      for (const remoteOffset of [-1, 16384 - 1023, 16384, 2 ** 40]) {
        const [a, b] = t.pair(QpType.RC)
        a.buffer.set(pattern(1024))
        b.recv()
        expect(await t.run(a, opcode, b, { remoteOffset, ...operands })).toMatchObject({
          wrId: 1,
          status: 'RemAccessErr',
        })
        expect(isZero(b.buffer)).toBe(true)
        expect(isZero(a.buffer.subarray(1024))).toBe(true)
      }
    })
  }

  for (const opcode of [Opcode.Send, Opcode.Write, Opcode.Read, Opcode.AtomicFetchAndAdd] as const) {
    it(`78 a bad lkey in ${nameOf(opcode)} is LOC_PROT_ERR before anything leaves`, async (t) => {
      const length = opcode === Opcode.AtomicFetchAndAdd ? 8 : 1024
      const bad: [string, (end: End) => object][] = [
        ['wrong key', (end) => ({ ...end.sge(0, length), lkey: end.mr.lkey ^ 0x3300 })],
        ['out of bounds', (end) => end.sge(end.buffer.length - length + 1, length)],
        ['before the region', (end) => end.sge(-1, length)],
        ['far away', (end) => end.sge(2 ** 45, length)],
      ]
      for (const [what, element] of bad) {
        const [a, b] = t.pair(QpType.RC)
        b.recv(5)
        const sgList = opcode === Opcode.AtomicFetchAndAdd ? [element(a)] : [a.sge(0, 0), element(a)]
        const wc = await t.run(a, opcode, b, { wrId: 9, sgList: sgList as never, ...operands })
        expect(wc, what).toMatchObject({ wrId: 9, status: 'LocProtErr', qpNum: a.qp.qpNum })
        a.expectState('Err')
        b.expectState('Rts')
        expect(isZero(b.buffer)).toBe(true)
        await t.expectQuiet(b.recvCq)
      }
    })
  }

  it('78 a read into a region without LOCAL_WRITE is LOC_PROT_ERR; sending from it is fine', async (t) => {
    for (const [opcode, status] of [
      [Opcode.Write, 'Success'],
      [Opcode.Send, 'Success'],
      [Opcode.Read, 'LocProtErr'],
      [Opcode.AtomicFetchAndAdd, 'LocProtErr'],
    ] as const) {
      const [a, b] = t.pair(QpType.RC, { a: { access: Access.RemoteRead } })
      b.recv()
      expect(await t.run(a, opcode, b, operands)).toMatchObject({ status })
    }
  })

  it('78 an unsignaled request with a bad lkey completes all the same', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.post(Opcode.Write, b, { wrId: 8, sendFlags: 0, sgList: [{ ...a.sge(), lkey: 0 }] })
    await t.expectCompletion(a.sendCq, { wrId: 8, status: 'LocProtErr' })
  })

  for (const opcode of [...rdma, ...atomics]) {
    it(`79 a bad rkey in ${nameOf(opcode)} is REM_ACCESS_ERR, and QP_ACCESS_ERR at the responder`, async (t) => {
      const [a, b] = t.pair(QpType.RC)
      const untouched = b.buffer.slice()
      const refused = b.context.counters().resp_remote_access_errors!
      b.recv()
      const wc = await t.run(a, opcode, b, { wrId: 4, rkey: b.mr.rkey ^ 0xdead00, ...operands })
      expect(b.context.counters().resp_remote_access_errors! - refused).toBe(1)
      expect(wc).toMatchObject({ wrId: 4, status: 'RemAccessErr', qpNum: a.qp.qpNum })
      const event = await t.asyncEvent(b.context, EventType.QpAccessErr)
      expectSame(event.qp, b.qp)
      expectBytes(b.buffer, untouched)
      a.expectState('Err')
      b.expectState('Err')
    })
  }

  it('80 a receive that is too short: LOC_LEN_ERR there, REM_INV_REQ_ERR here, both QPs in ERR', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    b.recv(2, 0, 1023)
    b.recv(3)
    expect(await t.run(a, Opcode.Send, b, { wrId: 4 })).toMatchObject({ wrId: 4, status: 'RemInvReqErr' })
    await t.expectOrder(b.recvCq, [
      [2, 'LocLenErr'],
      [3, 'WrFlushErr'],
    ])
    a.expectState('Err')
    b.expectState('Err')
    // Not a byte beyond the receive.
    expect(isZero(b.buffer.subarray(1023))).toBe(true)
  })

  it('80 the elements of a receive together are its length', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    b.qp.postRecv({ wrId: 1, sgList: [b.sge(0, 500), b.sge(600, 524)] })
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success', byteLen: 1024 })
    b.qp.postRecv({ wrId: 2 })
    const rejected = a.context.counters().remote_invalid_requests!
    expect(await t.run(a, Opcode.Send, b, { length: 1 })).toMatchObject({ status: 'RemInvReqErr' })
    expect(a.context.counters().remote_invalid_requests! - rejected).toBe(1)
    await t.expectCompletion(b.recvCq, { wrId: 2, status: 'LocLenErr' })
  })

  it('81 a receive with a bad lkey, out of bounds, or not writable: LOC_PROT_ERR there, REM_OP_ERR here', async (t) => {
    const bad: ((end: End) => object)[] = [
      (end) => ({ ...end.sge(), lkey: end.mr.lkey ^ 0x7700 }),
      (end) => end.sge(16384 - 100),
      (end) => ({ ...end.sge(), lkey: end.region(t, Access.RemoteRead).lkey }),
    ]
    for (const element of bad) {
      const [a, b] = t.pair(QpType.RC)
      b.qp.postRecv({ wrId: 6, sgList: [element(b)] as never })
      expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'RemOpErr' })
      await t.expectCompletion(b.recvCq, { wrId: 6, status: 'LocProtErr' })
      a.expectState('Err')
      b.expectState('Err')
    }
  })

  for (const rnrRetry of [0, 1, 6]) {
    it(`82 no receive and rnr_retry ${rnrRetry}: RNR_RETRY_EXC_ERR`, async (t) => {
      for (const opcode of [Opcode.Send, Opcode.WriteWithImm]) {
        const [a, b] = t.pair(QpType.RC, { connect: { rnrRetry, minRnrTimer: 1 } })
        const before = [a.context.counters(), b.context.counters()] as const
        expect(await t.run(a, opcode, b, { wrId: 3, ...operands })).toMatchObject({ wrId: 3, status: 'RnrRetryExcErr' })
        a.expectState('Err')
        b.expectState('Rts')
        const [sender, receiver] = [a.context.counters(), b.context.counters()]
        expect(receiver.send_rnr_err! - before[1].send_rnr_err!).toBeGreaterThan(rnrRetry)
        expect(sender.rcvd_rnr_err! - before[0].rcvd_rnr_err!).toBeGreaterThan(rnrRetry)
        expect(sender.retry_rnr_exceeded_err! - before[0].retry_rnr_exceeded_err!).toBe(1)
      }
    })
  }

  it('82 no receive and rnr_retry 7: it waits until there is one', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.buffer.set(pattern(1024, 4))
    a.post(Opcode.Send, b, { wrId: 1 })
    a.post(Opcode.WriteWithImm, b, { wrId: 2, immData: 5, remoteOffset: 8192 })
    await t.expectQuiet(a.sendCq)
    a.expectState('Rts')
    b.recv(7)
    await t.expectCompletion(a.sendCq, { wrId: 1, status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 7, status: 'Success', byteLen: 1024 })
    b.recv(8)
    await t.expectCompletion(a.sendCq, { wrId: 2, status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 8, status: 'Success', immData: 5 })
    expectBytes(b.buffer.subarray(0, 1024), pattern(1024, 4))
  })

  const dead: [string, (b: End, close: (end: End) => void) => void][] = [
    ['a peer that is destroyed', (b, close) => close(b)],
    ['a peer in ERR', (b) => b.qp.modify({ state: QpState.Err })],
    ['a peer in RESET', (b) => b.qp.modify({ state: QpState.Reset })],
  ]
  for (const [what, kill] of dead) {
    it(`83 ${what}: RETRY_EXC_ERR, and the rest is flushed`, async (t) => {
      const [a, b] = t.pair(QpType.RC, { connect: { timeout: 8, retryCnt: 3 } })
      kill(b as unknown as End, (end) => t.close(end.qp))
      a.post(Opcode.Write, b, { wrId: 1 })
      a.post(Opcode.Write, b, { wrId: 2 })
      a.recv(3)
      await t.expectOrder(a.sendCq, [
        [1, 'RetryExcErr'],
        [2, 'WrFlushErr'],
      ])
      await t.expectOrder(a.recvCq, [[3, 'WrFlushErr']])
      a.expectState('Err')
    })
  }

  it('83 no such QP, or one that is connected with somebody else: RETRY_EXC_ERR', async (t) => {
    const [, b] = t.pair(QpType.RC)
    const connect = { timeout: 8, retryCnt: 1 }
    for (const qpn of [b.qp.qpNum, (b.qp.qpNum ^ 0x2aaaaa) | 0x100]) {
      const a = t.end(0, QpType.RC)
      t.connectTo(a, { ...b.endpoint, qpn, psn: 0x123 }, connect)
      expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'RetryExcErr' })
    }
    b.expectState('Rts')
  })

  it('83 with timeout 0 it waits for ever', async (t) => {
    const [a, b] = t.pair(QpType.RC, { connect: { timeout: 0, retryCnt: 1 } })
    b.qp.modify({ state: QpState.Reset })
    a.post(Opcode.Write, b, { wrId: 1 })
    await t.expectQuiet(a.sendCq)
    a.qp.modify({ state: QpState.Err })
    await t.expectCompletion(a.sendCq, { wrId: 1, status: 'WrFlushErr' })
  })

  it('83 a peer that is not ready yet is waited for', async (t) => {
    const a = t.end(0, QpType.RC)
    const b = t.end(1, QpType.RC)
    t.connectTo(a, b.endpoint, { timeout: 16, retryCnt: 7 })
    a.post(Opcode.Write, b, { wrId: 1 })
    t.connectTo(b, a.endpoint)
    await t.expectCompletion(a.sendCq, { wrId: 1, status: 'Success' })
  })

  const flags: [number, number][] = [
    [Opcode.Write, Access.RemoteWrite],
    [Opcode.Read, Access.RemoteRead],
    [Opcode.AtomicFetchAndAdd, Access.RemoteAtomic],
    [Opcode.AtomicCmpAndSwp, Access.RemoteAtomic],
  ]
  for (const [opcode, flag] of flags) {
    it(`84 ${nameOf(opcode)} that the region does not allow is REM_ACCESS_ERR`, async (t) => {
      const [a, b] = t.pair(QpType.RC, { b: { access: fullAccess & ~flag } })
      expect(await t.run(a, opcode, b, operands)).toMatchObject({ status: 'RemAccessErr' })
      expect(isZero(b.buffer)).toBe(true)
    })

    it(`84 ${nameOf(opcode)} that the QP does not allow is REM_INV_REQ_ERR`, async (t) => {
      const [a, b] = t.pair(QpType.RC)
      b.qp.modify({ state: QpState.Rts, accessFlags: fullAccess & ~flag & ~Access.MwBind })
      expect(await t.run(a, opcode, b, operands)).toMatchObject({ status: 'RemInvReqErr' })
      expect(isZero(b.buffer)).toBe(true)
    })
  }

  const wrongKeys: [string, (t: Parameters<Parameters<typeof it>[1]>[0], b: End, other: End) => Promise<number>][] = [
    ['key 0, which no window has', async () => 0],
    ['a key that does not exist', async (_t, b) => b.mr.rkey ^ 0x777700],
    // IBA o10-37.2.26
    ['a type 1 window', async (t, b) => (await b.bound(t, MwType.Type1)).rkey],
    ['a type 2 window of another QP', async (t, _b, other) => (await other.bound(t, MwType.Type2)).rkey],
  ]
  for (const [what, keyOf] of wrongKeys) {
    it(`85 SEND_INV of ${what} is REM_ACCESS_ERR, and the receive fails`, async (t) => {
      const [a, b] = t.pair(QpType.RC)
      const [, other] = t.pair(QpType.RC, { b: { pd: b.pd } })
      const invalidateRkey = await keyOf(t, b as unknown as End, other as unknown as End)
      b.recv(5)
      expect(await t.run(a, Opcode.SendWithInv, b, { invalidateRkey })).toMatchObject({ status: 'RemAccessErr' })
      const { wrId, status } = await t.pollOne(b.recvCq)
      expect([wrId, status === 'Success']).toEqual([5, false])
    })
  }

  for (const length of [16, 3000]) {
    it(`85 SEND_INV of ${length} bytes and a wrong key: the receive comes first, then its length, then the key`, async (t) => {
      const [a, b] = t.pair(QpType.RC, { connect: { rnrRetry: 1, minRnrTimer: 1 } })
      const fields = { length, invalidateRkey: b.mr.rkey ^ 0x777700 }
      expect(await t.run(a, Opcode.SendWithInv, b, fields)).toMatchObject({ status: 'RnrRetryExcErr' })
      const [c, d] = t.pair(QpType.RC)
      d.recv(5, 0, 8)
      expect(await t.run(c, Opcode.SendWithInv, d, fields)).toMatchObject({ status: 'RemInvReqErr' })
      await t.expectCompletion(d.recvCq, { wrId: 5, status: 'LocLenErr' })
    })
  }

  for (const opcode of atomics) {
    it(`87 ${nameOf(opcode)} at an address that is not a multiple of 8 is REM_INV_REQ_ERR`, async (t) => {
      for (const [remoteOffset, more] of [
        [1, {}],
        [4, {}],
        [12, { rkey: 1 }],
      ] as const) {
        const [a, b] = t.pair(QpType.RC)
        expect(await t.run(a, opcode, b, { remoteOffset, ...operands, ...more })).toMatchObject({
          status: 'RemInvReqErr',
        })
        expect(isZero(b.buffer)).toBe(true)
      }
    })

    it(`88 ${nameOf(opcode)} of a size that is not 8 is LOC_LEN_ERR`, async (t) => {
      for (const length of [0, 4, 7, 9, 16]) {
        const [a, b] = t.pair(QpType.RC)
        expect(await t.run(a, opcode, b, { length, ...operands })).toMatchObject({ status: 'LocLenErr' })
        expect(read64(b.buffer)).toBe(0n)
      }
    })

    it(`89 ${nameOf(opcode)} with a bad lkey is LOC_PROT_ERR, with a bad rkey REM_ACCESS_ERR; the memory stays`, async (t) => {
      const bad: [string, (a: End, b: End) => object][] = [
        ['LocProtErr', (a) => ({ sgList: [{ ...a.sge(0, 8), lkey: a.mr.lkey ^ 0x1100 }] })],
        ['RemAccessErr', (_a, b) => ({ rkey: b.mr.rkey ^ 0x1100 })],
        ['RemAccessErr', () => ({ remoteOffset: 16384 })],
      ]
      for (const [status, fields] of bad) {
        const [a, b] = t.pair(QpType.RC)
        const wc = await t.run(a, opcode, b, { ...operands, ...fields(a as unknown as End, b as unknown as End) })
        expect(wc).toMatchObject({ status })
        expect([read64(a.buffer), read64(b.buffer)]).toEqual([0n, 0n])
      }
    })
  }

  it('93 an error flushes what comes after it in order, and no completion is lost', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const signals = [1, 0, 1, /* bad: */ 0, 0, 1, 0, 1, 1]
    const list = signals.map((signaled, wrId) => {
      const rkey = wrId === 3 ? b.mr.rkey ^ 0xff00 : b.mr.rkey
      return a.request(Opcode.Write, b, { wrId, rkey, sendFlags: signaled ? SendFlag.Signaled : 0 })
    })
    for (let i = 0; i + 1 < list.length; i++) Object.assign(list[i]!, { next: list[i + 1] })
    a.recv(20)
    a.recv(21)
    a.qp.postSend(list[0]!)
    const flushed = [4, 5, 6, 7, 8].map((wrId): [number, Completion['status']] => [wrId, 'WrFlushErr'])
    await t.expectOrder(a.sendCq, [[0, 'Success'], [2, 'Success'], [3, 'RemAccessErr'], ...flushed])
    await t.expectOrder(a.recvCq, [
      [20, 'WrFlushErr'],
      [21, 'WrFlushErr'],
    ])
    await t.expectQuiet(a.sendCq, a.recvCq)
  })

  it('94 an RC QP connected to a UD QP: RETRY_EXC_ERR', async (t) => {
    const [ud] = t.pair(QpType.UD)
    const a = t.end(1, QpType.RC)
    ud.recv(1, 0, 4096)
    t.connectTo(a, ud.endpoint, { timeout: 8, retryCnt: 1 })
    expect(await t.run(a, Opcode.Send, null)).toMatchObject({ status: 'RetryExcErr' })
    await t.expectQuiet(ud.recvCq)
    ud.expectState('Rts')
  })
}
