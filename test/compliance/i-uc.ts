/** Group I of the conformance list: unreliable connections. */
import { expect } from 'vitest'
import { Access, Opcode, QpState, QpType, WcFlag } from '../../src/index.ts'
import { expectBytes, fullAccess, isZero, pattern } from './end.ts'
import { expectThrow, type Group, refusedOr } from './rig.ts'

export const groupI: Group = (it) => {
  it('101 send, with immediate data too', async (t) => {
    const [a, b] = t.pair(QpType.UC, { bytes: 1 << 16 })
    for (const [opcode, length] of [
      [Opcode.Send, 1024],
      [Opcode.SendWithImm, 0],
      [Opcode.SendWithImm, 30_000],
    ] as const) {
      a.buffer.set(pattern(length, length))
      b.recv(length, 100, length)
      expect(await t.run(a, opcode, b, { length, immData: 77 })).toMatchObject({ status: 'Success', opcode: 'Send' })
      const wc = await t.expectCompletion(b.recvCq, {
        wrId: length,
        status: 'Success',
        opcode: 'Recv',
        byteLen: length,
      })
      expect(wc.wcFlags & WcFlag.WithImm).toBe(opcode === Opcode.Send ? 0 : WcFlag.WithImm)
      expectBytes(b.buffer.subarray(100, 100 + length), pattern(length, length))
    }
  })

  it('101 write, with immediate data too', async (t) => {
    const [a, b] = t.pair(QpType.UC, { bytes: 1 << 16 })
    a.buffer.set(pattern(20_000))
    expect(await t.run(a, Opcode.Write, b, { length: 20_000, remoteOffset: 1 })).toMatchObject({ status: 'Success' })
    b.qp.postRecv({ wrId: 8 })
    const fields = { length: 20_000, remoteOffset: 30_000, immData: 0x80000000 }
    expect(await t.run(a, Opcode.WriteWithImm, b, fields)).toMatchObject({ status: 'Success', opcode: 'Write' })
    await t.expectCompletion(b.recvCq, { wrId: 8, opcode: 'RecvRdmaWithImm', immData: 0x80000000, byteLen: 20_000 })
    expectBytes(b.buffer.subarray(1, 20_001), pattern(20_000))
    expectBytes(b.buffer.subarray(30_000, 50_000), pattern(20_000))
  })

  it('101 SEND with invalidate is not for UC', (t) => {
    const [a, b] = t.pair(QpType.UC)
    expectThrow('EINVAL', () => a.post(Opcode.SendWithInv as never, b as never, { invalidateRkey: 5 }))
  })

  it('101 without a receive a message is lost and only that: the sender sees success, the next one arrives', async (t) => {
    const [a, b] = t.pair(QpType.UC)
    for (const opcode of [Opcode.Send, Opcode.WriteWithImm])
      expect(await t.run(a, opcode, b, { immData: 1, length: 3000 })).toMatchObject({ status: 'Success' })
    await t.expectQuiet(b.recvCq)
    b.recv(2)
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 2, status: 'Success' })
  })

  for (const withSrq of [false, true])
    it(`101 a receive${withSrq ? ' of an SRQ' : ''} that is too short loses the message, and serves the next one`, async (t) => {
      const pd = t.own(t.context(1).allocPd())
      const srq = withSrq ? t.own(pd.createSrq({ maxWr: 4 })) : undefined
      const [a, b] = t.pair(QpType.UC, { b: srq ? { pd, srq } : { pd } })
      ;(srq ?? b.qp).postRecv({ wrId: 1, sgList: [b.sge(0, 3000)] })
      const dropped = b.context.counters().uc_drops_length!
      for (const length of [3001, 10_000])
        expect(await t.run(a, Opcode.Send, b, { length })).toMatchObject({ status: 'Success' })
      a.buffer.set(pattern(3000))
      expect(await t.run(a, Opcode.Send, b, { length: 3000 })).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success', byteLen: 3000 })
      expectBytes(b.buffer.subarray(0, 3000), pattern(3000))
      await t.expectQuiet(b.recvCq)
      b.expectState('Rts')
      expect(b.context.counters().uc_drops_length! - dropped).toBe(2)
    })

  it('101 a write with a bad rkey, out of bounds or not allowed is dropped; the sender sees success', async (t) => {
    const [a, b] = t.pair(QpType.UC, { b: { access: fullAccess & ~Access.RemoteWrite } })
    const good = b.region(t, fullAccess)
    a.buffer.set(pattern(1024))
    const refused = b.context.counters().resp_remote_access_errors!
    for (const fields of [{}, { rkey: good.rkey ^ 0xaa00 }, { rkey: good.rkey, remoteOffset: 16384 - 1 }])
      expect(await t.run(a, Opcode.Write, b, fields)).toMatchObject({ status: 'Success' })
    // A later message shows that the earlier ones are over.
    b.recv(1, 0, 0)
    expect(await t.run(a, Opcode.Send, b, { length: 0 })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success' })
    expect(isZero(b.buffer)).toBe(true)
    expect(b.context.counters().resp_remote_access_errors! - refused).toBe(3)
    expect(await t.run(a, Opcode.Write, b, { rkey: good.rkey })).toMatchObject({ status: 'Success' })
  })

  it('101 a dead peer is not noticed', async (t) => {
    const [a, b] = t.pair(QpType.UC)
    b.qp.modify({ state: QpState.Reset })
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
    a.expectState('Rts')
  })

  it('101 read and atomics on UC are LOC_QP_OP_ERR or EINVAL', async (t) => {
    for (const opcode of [Opcode.Read, Opcode.AtomicCmpAndSwp, Opcode.AtomicFetchAndAdd]) {
      const [a, b] = t.pair(QpType.UC)
      const status = await refusedOr(() => t.run(a, opcode, b, { compareAdd: 1n, swap: 1n }))
      expect(['refused', 'LocQpOpErr']).toContain(status)
    }
  })
}
