/** Group C of the conformance list: memory regions. */
import { expect } from 'vitest'
import { Access, Opcode, QpType, ReregFlag } from '../../src/index.ts'
import { expectBytes, fullAccess, isZero, pattern } from './end.ts'
import { expectSame, expectThrow, type Group } from './rig.ts'

export const groupC: Group = (it) => {
  it('20 reg_mr', (t) => {
    const context = t.context(0)
    const pd = t.own(context.allocPd())
    const buffer = t.alloc(context, 8192)
    expect(isZero(buffer)).toBe(true)
    const whole = t.own(pd.regMr(buffer, fullAccess))
    const part = t.own(pd.regMr(buffer.subarray(100, 300), Access.LocalWrite))
    expect(whole.length).toBe(8192)
    expectSame(whole.pd, pd)
    expect(whole.addr % 4096).toBe(0)
    expect([part.addr, part.length]).toEqual([whole.addr + 100, 200])
    expect(part.lkey).not.toBe(whole.lkey)
    expect(part.rkey).not.toBe(whole.rkey)
    expectBytes(context.view(whole.addr, 8192), buffer)
    const byAddress = t.own(pd.regMr({ addr: whole.addr + 4096, length: 4096 }, fullAccess))
    expect([byAddress.addr, byAddress.length]).toEqual([whole.addr + 4096, 4096])
  })

  it('20 reg_mr with an iova: requests use it instead of the address', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const iova = 0x10000
    const mr = t.own(b.pd.regMr(b.buffer, fullAccess, { iova }))
    expect(mr.addr).toBe(iova)
    a.buffer.set(pattern(1024))
    expect(await t.run(a, Opcode.Write, b, { remoteAddr: iova + 64, rkey: mr.rkey })).toMatchObject({
      status: 'Success',
    })
    expectBytes(b.buffer.subarray(64, 64 + 1024), pattern(1024))
  })

  it('21 REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE is EINVAL', (t) => {
    const { pd, buffer } = t.end(0, QpType.RC)
    for (const access of [Access.RemoteWrite, Access.RemoteAtomic, Access.RemoteWrite | Access.RemoteRead])
      expectThrow('EINVAL', () => pd.regMr(buffer, access))
    t.own(pd.regMr(buffer, 0))
    t.own(pd.regMr(buffer, Access.RemoteRead))
  })

  it('22 rereg address: traffic to the old address ends as remote operation error', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const old = b.mr.addr
    const buffer = t.alloc(b.context, 8192)
    b.mr.rereg(ReregFlag.ChangeTranslation, { buffer })
    expect(b.mr.addr).not.toBe(old)
    expect(b.mr.length).toBe(8192)
    a.buffer.set(pattern(1024, 9))
    b.recv(1)
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { status: 'Success' })
    expectBytes(buffer.subarray(0, 1024), pattern(1024, 9))
    b.qp.postRecv({ wrId: 2, sgList: [{ addr: old, length: 1024, lkey: b.mr.lkey }] })
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'RemOpErr' })
    await t.expectCompletion(b.recvCq, { wrId: 2, status: 'LocProtErr' })
    expect(isZero(b.buffer)).toBe(true)
  })

  it('23 rereg access', async (t) => {
    const [a, b] = t.pair(QpType.RC, { access: Access.LocalWrite | Access.RemoteRead })
    b.mr.rereg(ReregFlag.ChangeAccess, { access: Access.LocalWrite | Access.RemoteWrite })
    expect(b.mr.access).toBe(Access.LocalWrite | Access.RemoteWrite)
    expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
    expect(await t.run(a, Opcode.Read, b)).toMatchObject({ status: 'RemAccessErr' })
  })

  it('24 rereg PD', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const pd = t.own(a.context.allocPd())
    b.recv()
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'Success' })
    a.mr.rereg(ReregFlag.ChangePd, { pd })
    expectSame(a.mr.pd, pd)
    expectThrow('EBUSY', () => pd.close())
    b.recv()
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'LocProtErr' })
    a.mr.rereg(ReregFlag.ChangePd, { pd: a.pd })
    t.close(pd)
  })

  it('25 rereg with bad flags or arguments is EINVAL, and the region stays as it was', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { mr } = b
    expectThrow('EINVAL', () => mr.rereg(8, {}))
    expectThrow('EINVAL', () => mr.rereg(ReregFlag.ChangeTranslation, {}))
    expectThrow('EINVAL', () => mr.rereg(ReregFlag.ChangePd, {}))
    expectThrow('EINVAL', () => mr.rereg(ReregFlag.ChangeAccess, { access: Access.RemoteWrite }))
    expectThrow('EINVAL', () => mr.rereg(ReregFlag.ChangeTranslation, { buffer: new Uint8Array(100) }))
    expectSame(mr.pd, b.pd)
    expect([mr.length, mr.access]).toEqual([b.buffer.length, fullAccess])
    expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
  })

  it('25 what the flags do not name is left alone', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const pd = t.own(b.context.allocPd())
    b.mr.rereg(ReregFlag.ChangeAccess, { access: fullAccess, pd, buffer: b.buffer.subarray(0, 64) })
    expectSame(b.mr.pd, b.pd)
    expect(b.mr.length).toBe(b.buffer.length)
    expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
  })

  it('26 a zero-length MR', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const mr = b.region(t, fullAccess, b.buffer.subarray(0, 0))
    expect(mr.length).toBe(0)
    const fields = { rkey: mr.rkey, remoteAddr: mr.addr }
    for (const opcode of [Opcode.Read, Opcode.Write]) {
      expect(await t.run(a, opcode, b, { ...fields, length: 0 })).toMatchObject({ status: 'Success' })
      expect(await t.run(a, opcode, b, { ...fields, sgList: [] })).toMatchObject({ status: 'Success' })
    }
    expect(await t.run(a, Opcode.Write, b, { ...fields, length: 1 })).toMatchObject({ status: 'RemAccessErr' })
  })

  it('26 sending from and receiving to a zero-length MR', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const [from, to] = [a.region(t, 0, a.buffer.subarray(0, 0)), b.region(t, fullAccess, b.buffer.subarray(0, 0))]
    b.qp.postRecv({ wrId: 2, sgList: [{ addr: to.addr, length: 0, lkey: to.lkey }] })
    const sgList = [{ addr: from.addr, length: 0, lkey: from.lkey }]
    expect(await t.run(a, Opcode.Send, b, { sgList })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 2, status: 'Success', byteLen: 0 })
  })

  it('27 dereg with a receive outstanding: it fails when a message comes', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    b.recv(5)
    t.close(b.mr)
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'RemOpErr' })
    await t.expectCompletion(b.recvCq, { wrId: 5, status: 'LocProtErr' })
    expect(isZero(b.buffer)).toBe(true)
  })

  for (const opcode of [Opcode.Read, Opcode.Write]) {
    it(`27 dereg with operation ${opcode} outstanding: all complete, well or as LOC_PROT_ERR`, async (t) => {
      const [a, b] = t.pair(QpType.RC)
      // A message without a receive holds the queue up.
      a.post(Opcode.Send, b, { wrId: 100, sgList: [] })
      for (let i = 0; i < 8; i++) a.post(opcode, b, { wrId: i })
      t.close(a.mr)
      b.qp.postRecv({ wrId: 1 })
      await t.expectCompletion(a.sendCq, { wrId: 100, status: 'Success' })
      const all = await t.poll(a.sendCq, 8)
      expect(all.map(({ wrId }) => wrId)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      const failed = all.findIndex(({ status }) => status !== 'Success')
      // What had left for the network before needs the region no more; on a device without a network nothing has.
      if (!a.context.device.driven) expect(failed).toBe(0)
      if (failed >= 0) expect(all[failed]!.status).toBe('LocProtErr')
      expect(all.slice(failed < 0 ? 8 : failed + 1).every(({ status }) => status === 'WrFlushErr')).toBe(true)
    })
  }

  it('27 dereg of a remote region: the next request is REM_ACCESS_ERR', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { addr, rkey } = b.mr
    expect(await t.run(a, Opcode.Read, b)).toMatchObject({ status: 'Success' })
    t.close(b.mr)
    expect(await t.run(a, Opcode.Read, null, { remoteAddr: addr, rkey })).toMatchObject({ status: 'RemAccessErr' })
  })

  it('28 invalid parameters of reg_mr are EINVAL', (t) => {
    const { pd, mr, buffer } = t.end(0, QpType.RC)
    const bad: (() => unknown)[] = [
      () => pd.regMr(buffer, 1 << 30),
      () => pd.regMr(buffer, -1),
      () => pd.regMr(buffer, Number.NaN),
      () => pd.regMr(buffer, 'all' as never),
      () => pd.regMr({ addr: mr.addr, length: -1 }, fullAccess),
      () => pd.regMr({ addr: -4096, length: 4096 }, fullAccess),
      () => pd.regMr({ addr: mr.addr, length: 2 ** 52 }, fullAccess),
      () => pd.regMr({ addr: 2 ** 60, length: 4096 }, fullAccess),
      () => pd.regMr({ addr: mr.addr + 0.5, length: 4096 }, fullAccess),
      () => pd.regMr(null as never, fullAccess),
      () => pd.regMr(buffer, fullAccess, { iova: -1 }),
      () => pd.regMr(buffer, fullAccess, { iova: 2 ** 60 }),
    ]
    for (const register of bad) expectThrow('EINVAL', register)
  })

  it('28 memory that the device did not give is EINVAL, with the reason', (t) => {
    const pd = t.own(t.context(0).allocPd())
    expect(expectThrow('EINVAL', () => pd.regMr(new Uint8Array(4096), fullAccess)).message).toMatch(/alloc/)
    expectThrow('EINVAL', () => pd.regMr(new Uint8Array(new SharedArrayBuffer(4096)), fullAccess))
  })

  it('29 a zero-based region is addressed from 0', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const [from, to] = [a, b].map((end) =>
      end.region(t, fullAccess | Access.ZeroBased, end.buffer.subarray(1024, 4096)),
    )
    expect([from!.addr, to!.addr]).toEqual([0, 0])
    a.buffer.set(pattern(512, 3), 1024 + 100)
    const fields = { sgList: [{ addr: 100, length: 512, lkey: from!.lkey }], remoteAddr: 200, rkey: to!.rkey }
    expect(await t.run(a, Opcode.Write, b, fields)).toMatchObject({ status: 'Success' })
    expectBytes(b.buffer.subarray(1224, 1224 + 512), pattern(512, 3))
    expect(await t.run(a, Opcode.Write, b, { ...fields, remoteAddr: 3072 - 511 })).toMatchObject({
      status: 'RemAccessErr',
    })
  })
}
