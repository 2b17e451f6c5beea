/** Group D of the conformance list: memory windows of type 1 and 2. */
import { expect } from 'vitest'
import { Access, incRkey, MwType, Opcode, QpState, QpType, SendFlag, WcFlag } from '../../src/index.ts'
import { type End, expectBytes, fullAccess, pattern } from './end.ts'
import { expectSame, expectThrow, type Group, type Setup } from './rig.ts'

const types = [MwType.Type1, MwType.Type2] as const

export const groupD: Group = (it) => {
  it('30 alloc windows of both types; another type is EINVAL', (t) => {
    const { pd } = t.end(0, QpType.RC)
    for (const type of types) {
      const mw = t.own(pd.allocMw(type))
      expectSame(mw.pd, pd)
      expect(mw.type).toBe(type)
      expect(mw.rkey).toBeGreaterThan(0)
    }
    for (const type of [0, 3, -1, Number.NaN, undefined]) expectThrow('EINVAL', () => pd.allocMw(type as never))
  })

  const bindTitles = { 1: '31 type 1: bind, then write and read', 2: '33 type 2: bind, then write and read' } as const
  for (const type of types) {
    it(bindTitles[type], async (t) => {
      const [a, b] = t.pair(QpType.RC)
      const { rkey } = await b.bound(t, type, { addr: b.mr.addr + 4096, length: 2048 })
      a.buffer.set(pattern(2048, 7))
      const fields = { rkey, remoteOffset: 4096, length: 2048 }
      expect(await t.run(a, Opcode.Write, b, fields)).toMatchObject({ status: 'Success' })
      expectBytes(b.buffer.subarray(4096, 6144), pattern(2048, 7))
      expect(await t.run(a, Opcode.Read, b, { ...fields, offset: 8192 })).toMatchObject({ status: 'Success' })
      expectBytes(a.buffer.subarray(8192, 10240), pattern(2048, 7))
      expect(await t.run(a, Opcode.AtomicFetchAndAdd, b, { ...fields, length: 8, compareAdd: 1n })).toMatchObject({
        status: 'Success',
      })
      // The window ends where it was bound.
      expect(await t.run(a, Opcode.Write, b, { rkey, remoteOffset: 4095, length: 8 })).toMatchObject({
        status: 'RemAccessErr',
      })
    })
  }

  it('31 a type 1 window gets another rkey with each bind, and the old one dies', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { mw, rkey } = await b.bound(t, MwType.Type1)
    expect((await b.bind(t, mw)).completion.status).toBe('Success')
    expect(mw.rkey).not.toBe(rkey)
    expect(await t.run(a, Opcode.Write, b, { rkey: mw.rkey })).toMatchObject({ status: 'Success' })
    expect(await t.run(a, Opcode.Write, b, { rkey })).toMatchObject({ status: 'RemAccessErr' })
  })

  it('32 unbind a type 1 window by length zero: later use is REM_ACCESS_ERR', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { mw, rkey } = await b.bound(t, MwType.Type1)
    expect(await t.run(a, Opcode.Read, b, { rkey })).toMatchObject({ status: 'Success' })
    expect((await b.bind(t, mw, { length: 0 })).completion.status).toBe('Success')
    expect(await t.run(a, Opcode.Read, b, { rkey })).toMatchObject({ status: 'RemAccessErr' })
  })

  it('32 an unbound type 1 window can be bound again', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { mw } = await b.bound(t, MwType.Type1)
    for (const length of [0, 0, 4096]) expect((await b.bind(t, mw, { length })).completion.status).toBe('Success')
    expect(await t.run(a, Opcode.Read, b, { rkey: mw.rkey })).toMatchObject({ status: 'Success' })
  })

  // IBA o10-37.2.40
  it('32 a type 2 window cannot be bound to length zero: MW_BIND_ERR', async (t) => {
    const [, b] = t.pair(QpType.RC)
    const mw = t.own(b.pd.allocMw(MwType.Type2))
    expect((await b.bind(t, mw, { length: 0 })).completion.status).toBe('MwBindErr')
  })

  it('34 local invalidate: later use is REM_ACCESS_ERR', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { rkey } = await b.bound(t, MwType.Type2)
    expect(await t.run(a, Opcode.Read, b, { rkey })).toMatchObject({ status: 'Success' })
    expect(await t.run(b, Opcode.LocalInv, null, { invalidateRkey: rkey })).toMatchObject({
      status: 'Success',
      opcode: 'LocalInv',
    })
    expect(await t.run(a, Opcode.Read, b, { rkey })).toMatchObject({ status: 'RemAccessErr' })
  })

  it('34 an unsignaled local invalidate works, and one of a wrong key fails visibly', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { rkey } = await b.bound(t, MwType.Type2)
    b.post(Opcode.LocalInv, null, { invalidateRkey: rkey, sendFlags: 0 })
    expect(await t.run(b, Opcode.Read, a, { wrId: 2 })).toMatchObject({ wrId: 2, status: 'Success' })
    b.post(Opcode.LocalInv, null, { wrId: 3, invalidateRkey: rkey, sendFlags: 0 })
    const { status } = await t.expectCompletion(b.sendCq, { wrId: 3 })
    expect(['MwBindErr', 'LocQpOpErr', 'LocProtErr', 'LocAccessErr']).toContain(status)
    b.expectState('Err')
  })

  it('35 SEND_INV invalidates, and says which key', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { rkey } = await b.bound(t, MwType.Type2)
    b.recv(9)
    expect(await t.run(a, Opcode.SendWithInv, b, { invalidateRkey: rkey })).toMatchObject({
      status: 'Success',
      opcode: 'Send',
    })
    const wc = await t.expectCompletion(b.recvCq, { wrId: 9, status: 'Success', opcode: 'Recv', invalidatedRkey: rkey })
    expect(wc.wcFlags & (WcFlag.WithInv | WcFlag.WithImm)).toBe(WcFlag.WithInv)
    expect(await t.run(a, Opcode.Read, b, { rkey })).toMatchObject({ status: 'RemAccessErr' })
  })

  it('35 SEND_INV without a receive invalidates when it arrives, not before', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { rkey } = await b.bound(t, MwType.Type2)
    a.post(Opcode.SendWithInv, b, { wrId: 2, invalidateRkey: rkey })
    await t.expectQuiet(a.sendCq)
    b.recv(9)
    await t.expectCompletion(a.sendCq, { wrId: 2, status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 9, status: 'Success', invalidatedRkey: rkey })
  })

  it('35 SEND_INV without data', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { rkey } = await b.bound(t, MwType.Type2)
    b.qp.postRecv({ wrId: 9 })
    expect(await t.run(a, Opcode.SendWithInv, b, { invalidateRkey: rkey, sgList: [] })).toMatchObject({
      status: 'Success',
    })
    await t.expectCompletion(b.recvCq, { status: 'Success', byteLen: 0, invalidatedRkey: rkey })
  })

  for (const type of types) {
    it(`36 dealloc a bound window of type ${type}: later use is REM_ACCESS_ERR`, async (t) => {
      const [a, b] = t.pair(QpType.RC)
      const { mw, rkey } = await b.bound(t, type)
      t.close(mw)
      expect(await t.run(a, Opcode.Read, b, { rkey })).toMatchObject({ status: 'RemAccessErr' })
    })
  }

  it('37 binding a window the way of the other type is EINVAL', async (t) => {
    const [, b] = t.pair(QpType.RC)
    const [first, second] = types.map((type) => t.own(b.pd.allocMw(type)))
    const info = { mr: b.mr, addr: b.mr.addr, length: 1024, accessFlags: Access.RemoteRead }
    expectThrow('EINVAL', () => b.qp.bindMw(second!, info))
    expectThrow('EINVAL', () => b.post(Opcode.BindMw, null, { bindMw: { ...info, mw: first!, rkey: first!.rkey + 1 } }))
    expect((await b.bind(t, first!)).completion.status).toBe('Success')
  })

  for (const type of types) {
    for (const [where, addr, length] of [
      ['front', -1, 1024],
      ['rear', 16384 - 1023, 1024],
      ['both', -4096, 16384 + 8192],
    ] as const) {
      // IBA C10-75
      it(`38 binding type ${type} out of the MR at ${where} is MW_BIND_ERR`, async (t) => {
        const [, b] = t.pair(QpType.RC)
        const mw = t.own(b.pd.allocMw(type))
        const { completion } = await b.bind(t, mw, { addr: b.mr.addr + addr, length })
        expect(completion).toMatchObject({ wrId: 7, status: 'MwBindErr' })
        b.expectState('Err')
      })
    }

    it(`38 a failed unsignaled bind of type ${type} completes all the same`, async (t) => {
      const [, b] = t.pair(QpType.RC)
      const mw = t.own(b.pd.allocMw(type))
      const info = { mr: b.mr, addr: b.mr.addr + 16384, length: 16, accessFlags: Access.RemoteRead }
      if (type === MwType.Type1) b.qp.bindMw(mw, info, { wrId: 8 })
      else b.post(Opcode.BindMw, null, { wrId: 8, sendFlags: 0, bindMw: { ...info, mw, rkey: incRkey(mw.rkey) } })
      await t.expectCompletion(b.sendCq, { wrId: 8, status: 'MwBindErr' })
    })
  }

  it('39 rebinding a bound type 2 window on another QP is MW_BIND_ERR', async (t) => {
    const [, b] = t.pair(QpType.RC)
    const [, other] = t.pair(QpType.RC, { b: { pd: b.pd } })
    const { mw } = await b.bound(t, MwType.Type2)
    expect((await other.bind(t, mw)).completion.status).toBe('MwBindErr')
  })

  // IBA o10-37.2.30
  it('39 rebinding a bound type 2 window with another key is MW_BIND_ERR', async (t) => {
    const [, b] = t.pair(QpType.RC)
    const { mw, rkey } = await b.bound(t, MwType.Type2)
    expect((await b.bind(t, mw, { rkey: nextKey(rkey) })).completion.status).toBe('MwBindErr')
  })

  it('39 after local invalidate it can be bound again with another key', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { mw, rkey } = await b.bound(t, MwType.Type2)
    expect(await t.run(b, Opcode.LocalInv, null, { invalidateRkey: rkey })).toMatchObject({ status: 'Success' })
    const again = await b.bind(t, mw, { rkey: nextKey(rkey) })
    expect(again.completion.status).toBe('Success')
    expect(await t.run(a, Opcode.Read, b, { rkey: again.rkey })).toMatchObject({ status: 'Success' })
    expect(await t.run(a, Opcode.Read, b, { rkey })).toMatchObject({ status: 'RemAccessErr' })
  })

  it('40 a type 2 window is usable at its QP only (REM_ACCESS_ERR); type 1 at every QP of its PD', async (t) => {
    const [, b] = t.pair(QpType.RC)
    const [from] = t.pair(QpType.RC, { b: { pd: b.pd } })
    const first = await b.bound(t, MwType.Type1)
    const second = await b.bound(t, MwType.Type2)
    expect(await t.run(from, Opcode.Read, b, { rkey: first.rkey })).toMatchObject({ status: 'Success' })
    expect(await t.run(from, Opcode.Read, b, { rkey: second.rkey })).toMatchObject({ status: 'RemAccessErr' })
  })

  it('41 the same low 8 bits in two windows give two rkeys that both work', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const rkeys: number[] = []
    for (let i = 0; i < 64; i++) {
      const mw = t.own(b.pd.allocMw(MwType.Type2))
      const rkey = withLowByte(mw.rkey, (mw.rkey & 0xff) === 0x17 ? 0x18 : 0x17)
      expect((await b.bind(t, mw, { rkey, length: 1024 + i })).completion.status).toBe('Success')
      rkeys.push(rkey)
    }
    expect(new Set(rkeys).size).toBe(rkeys.length)
    for (const rkey of rkeys) expect(await t.run(a, Opcode.Write, b, { rkey })).toMatchObject({ status: 'Success' })
  })

  it('42 a bind when the QP is in ERR is WR_FLUSH_ERR', async (t) => {
    const [, b] = t.pair(QpType.RC)
    b.qp.modify({ state: QpState.Err })
    for (const type of types) {
      const mw = t.own(b.pd.allocMw(type))
      expect((await b.bind(t, mw)).completion).toMatchObject({ wrId: 7, status: 'WrFlushErr' })
    }
  })

  for (const type of types) {
    // IBA 10.6.7.2.6
    it(`43 dereg of an MR with a bound type ${type} window is EBUSY, or takes the window's memory away`, async (t) => {
      const [a, b] = t.pair(QpType.RC)
      const mr = b.region(t, fullAccess)
      const { rkey } = await b.bound(t, type, { mr })
      let busy = true
      try {
        mr.close()
        t.disown(mr)
        busy = false
      } catch (error) {
        expectThrow('EBUSY', () => {
          throw error
        })
      }
      const { status } = await t.run(a, Opcode.Write, b, { rkey })
      expect(busy ? ['Success'] : ['RemAccessErr', 'RemOpErr']).toContain(status)
    })
  }

  for (const type of types) {
    // IBA C10-73, C10-74
    it(`44 a type ${type} window needs MW_BIND at the MR, and LOCAL_WRITE to be written`, async (t) => {
      const expected: [number, number, string][] = [
        [fullAccess & ~Access.MwBind, Access.RemoteRead, 'MwBindErr'],
        [Access.MwBind | Access.RemoteRead, Access.RemoteRead, 'Success'],
        [Access.MwBind, Access.RemoteWrite, 'MwBindErr'],
        [Access.MwBind | Access.RemoteRead, Access.RemoteRead | Access.RemoteAtomic, 'MwBindErr'],
        [Access.MwBind | Access.LocalWrite, Access.RemoteWrite, 'Success'],
        [Access.MwBind | Access.LocalWrite, Access.RemoteAtomic, 'Success'],
      ]
      for (const [region, accessFlags, status] of expected) {
        const b = connectedEnd(t)
        const mr = b.region(t, region)
        const mw = t.own(b.pd.allocMw(type))
        expect((await b.bind(t, mw, { mr, accessFlags })).completion.status, `${region} ${accessFlags}`).toBe(status)
      }
    })
  }

  it('44 a window gives only the access it was bound with', async (t) => {
    for (const type of types) {
      for (const [accessFlags, good, bad] of [
        [Access.RemoteRead, Opcode.Read, Opcode.Write],
        [Access.RemoteWrite, Opcode.Write, Opcode.Read],
        [Access.RemoteWrite | Access.RemoteRead, Opcode.Read, Opcode.AtomicFetchAndAdd],
      ] as const) {
        const [a, b] = t.pair(QpType.RC)
        const { rkey } = await b.bound(t, type, { accessFlags })
        expect(await t.run(a, good, b, { rkey })).toMatchObject({ status: 'Success' })
        expect(await t.run(a, bad, b, { rkey, compareAdd: 0n })).toMatchObject({ status: 'RemAccessErr' })
      }
    }
  })

  // IBA o10-36.2.2
  it('44 a zero-based type 2 window is addressed from 0; type 1 cannot be zero-based', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const accessFlags = Access.RemoteWrite | Access.ZeroBased
    const { rkey } = await b.bound(t, MwType.Type2, { addr: b.mr.addr + 4096, length: 1024, accessFlags })
    a.buffer.set(pattern(100))
    const fields = { rkey, remoteAddr: 10, length: 100 }
    expect(await t.run(a, Opcode.Write, b, fields)).toMatchObject({ status: 'Success' })
    expectBytes(b.buffer.subarray(4106, 4206), pattern(100))
    const mw = t.own(b.pd.allocMw(MwType.Type1))
    const info = { mr: b.mr, addr: b.mr.addr, length: 1024, accessFlags }
    let status = 'refused'
    try {
      b.qp.bindMw(mw, info, { sendFlags: SendFlag.Signaled })
      status = (await t.pollOne(b.sendCq)).status
    } catch (error) {
      expectThrow('EINVAL', () => {
        throw error
      })
    }
    expect(['refused', 'MwBindErr']).toContain(status)
  })
}

function connectedEnd(t: Setup): End<typeof QpType.RC> {
  return t.pair(QpType.RC)[1]
}

function withLowByte(rkey: number, low: number): number {
  return ((rkey & 0xffffff00) | low) >>> 0
}

/** Another key of the same window. */
function nextKey(rkey: number): number {
  return withLowByte(rkey, (rkey + 1) & 0xff)
}
