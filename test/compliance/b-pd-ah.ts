/** Group B of the conformance list: protection domains, what they protect, and address handles. */
import { expect } from 'vitest'
import { LinkLayer, MwType, Opcode, QpType } from '../../src/index.ts'
import { defaults, expectBytes, fullAccess, isZero, pattern } from './end.ts'
import { expectThrow, type Group, refusedOr } from './rig.ts'

export const groupB: Group = (it) => {
  it('12 alloc and dealloc many', (t) => {
    const context = t.context(0)
    for (let round = 0; round < 3; round++) {
      const pds = Array.from({ length: 500 }, () => context.allocPd())
      expect(new Set(pds.map(({ handle }) => JSON.stringify(handle))).size).toBe(pds.length)
      for (const pd of pds) pd.close()
    }
  })

  it('13 destroying anything twice fails', (t) => {
    const a = t.end(0, QpType.RC)
    const b = t.end(1, QpType.UD)
    const closed = ['EBADF', 'EINVAL'] as const
    const channel = a.context.createCompChannel()
    const pd = a.context.allocPd()
    const objects = [
      pd.allocMw(MwType.Type1),
      pd.regMr(a.buffer, fullAccess),
      pd.createAh(t.address(b.endpoint)),
      pd.createSrq({ maxWr: 4 }),
      pd.createQp({ type: QpType.RC, sendCq: a.sendCq, recvCq: a.recvCq }),
      pd,
      a.context.createCq(4, { channel }),
      channel,
    ]
    for (const object of objects) {
      object.close()
      expectThrow(closed, () => object.close())
    }
    const disposed = a.context.allocPd()
    disposed[Symbol.dispose]()
    expectThrow(closed, () => disposed.close())
  })

  it('13 a closed object refuses every use', (t) => {
    const [a] = t.pair(QpType.RC)
    const { qp, sendCq, mr, pd } = a
    const closed = ['EBADF', 'EINVAL'] as const
    const srq = pd.createSrq({ maxWr: 4 })
    srq.close()
    expectThrow(closed, () => srq.postRecv({ sgList: [a.sge()] }))
    expectThrow(closed, () => srq.query())
    expectThrow(closed, () => srq.modify({ srqLimit: 1 }))
    const channel = a.context.createCompChannel()
    channel.close()
    expectThrow(closed, () => channel.tryGetEvent())
    const ah = pd.createAh(t.address(a.endpoint))
    ah.close()
    expectThrow(closed, () => ah.modify(t.address(a.endpoint)))
    t.close(qp)
    expectThrow(closed, () => a.post(Opcode.Send, null))
    expectThrow(closed, () => a.recv())
    expectThrow(closed, () => qp.query())
    t.close(mr)
    expectThrow(closed, () => mr.rereg(4, { access: fullAccess }))
    t.close(sendCq)
    expectThrow(closed, () => sendCq.poll([]))
    expectThrow(closed, () => sendCq.resize(16))
    t.close(a.recvCq)
    t.close(pd)
    expectThrow(closed, () => pd.allocMw(MwType.Type1))
  })

  it('14 a PD with an MR, MW, QP, SRQ or AH alive is EBUSY', (t) => {
    const a = t.end(0, QpType.RC)
    const remote = t.end(1, QpType.UD)
    const create = [
      () => a.pd.regMr(a.buffer, fullAccess),
      () => a.pd.allocMw(MwType.Type2),
      () => a.pd.createSrq({ maxWr: 4 }),
      () => a.pd.createAh(t.address(remote.endpoint)),
      () => a.pd.createQp({ type: QpType.UC, sendCq: a.sendCq, recvCq: a.recvCq }),
    ]
    expectThrow('EBUSY', () => a.pd.close())
    t.close(a.qp)
    t.close(a.mr)
    for (const make of create) {
      const object = make()
      expectThrow('EBUSY', () => a.pd.close())
      object.close()
    }
    t.close(a.pd)
  })

  it('14 a context with objects alive is EBUSY', (t) => {
    const context = t.own(t.rig.open(0))
    const create = [() => context.allocPd(), () => context.createCq(4), () => context.createCompChannel()]
    for (const make of create) {
      const object = make()
      expectThrow('EBUSY', () => context.close())
      object.close()
    }
    t.close(context)
  })

  it('15 create_ah, query it and change it', (t) => {
    const a = t.end(0, QpType.UD)
    const b = t.end(1, QpType.UD)
    const attr = t.address(b.endpoint)
    const ah = t.own(a.pd.createAh({ ...attr, sl: 3 }))
    expect(ah.query()).toMatchObject({ sl: 3, grh: { dgid: b.endpoint.gid } })
    ah.modify({ ...attr, sl: 4, srcPathBits: 127, staticRate: 255 })
    expect(ah.query()).toMatchObject({ sl: 4, srcPathBits: 127, staticRate: 255, grh: { dgid: b.endpoint.gid } })
    expectThrow('EINVAL', () => a.pd.createAh({ ...attr, portNum: 9 }))
    expectThrow('EINVAL', () => a.pd.createAh({ ...attr, sl: 16 }))
    expectThrow('EINVAL', () => a.pd.createAh({ ...attr, grh: { dgid: new Uint8Array(15) } }))
    expectThrow('EINVAL', () => a.pd.createAh({ ...attr, grh: { ...attr.grh!, sgidIndex: 9999 } }))
  })

  it('15 without GRH an AH exists on InfiniBand and is refused on RoCE', (t) => {
    const a = t.end(0, QpType.UD)
    const b = t.end(1, QpType.UD)
    const local = { dlid: b.endpoint.lid, portNum: 1 }
    if (a.context.queryPort(1).linkLayer === LinkLayer.Ethernet) expectThrow('EINVAL', () => a.pd.createAh(local))
    else t.own(a.pd.createAh(local))
  })

  it('15 an AH made from a completion reaches the sender', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    b.recv(1, 0, 40 + defaults.message)
    expect(await t.run(a, Opcode.Send, null, a.datagram(t, b))).toMatchObject({ status: 'Success' })
    const wc = {
      ...(await t.expectCompletion(b.recvCq, { status: 'Success' })),
      ...{ slid: a.endpoint.lid, sl: 0, dlidPathBits: 0 },
    }
    const ah = t.own(b.pd.createAhFromWc(1, wc as never, b.buffer.subarray(0, 40)))
    a.recv(2, 8192, 40 + defaults.message)
    const reply = { ah, remoteQpn: wc.srcQp, remoteQkey: defaults.qkey }
    expect(await t.run(b, Opcode.Send, null, reply)).toMatchObject({ status: 'Success' })
    await t.expectCompletion(a.recvCq, { wrId: 2, status: 'Success', srcQp: b.qp.qpNum })
  })

  // IBA C10-10
  it('16 a UD send with an AH of another PD is LOC_QP_OP_ERR, or refused', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    const other = t.own(a.context.allocPd())
    const ah = t.own(other.createAh(t.address(b.endpoint)))
    b.recv(1, 0, 2048)
    const status = await refusedOr(() => t.run(a, Opcode.Send, null, { ...a.datagram(t, b), ah }))
    expect(['refused', 'LocQpOpErr']).toContain(status)
    await t.expectQuiet(b.recvCq)
  })

  for (const opcode of [Opcode.Send, Opcode.Write, Opcode.Read, Opcode.AtomicFetchAndAdd]) {
    it(`17 an MR of another PD as local element of operation ${opcode} is LOC_PROT_ERR`, async (t) => {
      const [a, b] = t.pair(QpType.RC)
      const mr = t.own(t.own(a.context.allocPd()).regMr(a.buffer, fullAccess))
      b.recv()
      const before = b.buffer.slice()
      const sgList = [{ ...a.sge(0, opcode === Opcode.AtomicFetchAndAdd ? 8 : 1024), lkey: mr.lkey }]
      expect(await t.run(a, opcode, b, { sgList, compareAdd: 1n })).toMatchObject({ status: 'LocProtErr' })
      expectBytes(b.buffer, before)
      a.expectState('Err')
    })
  }

  it('17 an MR of another PD under a receive is LOC_PROT_ERR there and REM_OP_ERR here', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const mr = t.own(t.own(b.context.allocPd()).regMr(b.buffer, fullAccess))
    b.qp.postRecv({ wrId: 3, sgList: [{ ...b.sge(), lkey: mr.lkey }] })
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'RemOpErr' })
    await t.expectCompletion(b.recvCq, { wrId: 3, status: 'LocProtErr' })
  })

  for (const opcode of [Opcode.Write, Opcode.Read, Opcode.AtomicFetchAndAdd, Opcode.AtomicCmpAndSwp]) {
    it(`17 the rkey of another PD in operation ${opcode} is REM_ACCESS_ERR`, async (t) => {
      const [a, b] = t.pair(QpType.RC)
      const mr = t.own(t.own(b.context.allocPd()).regMr(b.buffer, fullAccess))
      a.buffer.set(pattern(1024, 5))
      const fields = { rkey: mr.rkey, compareAdd: 1n, swap: 1n }
      expect(await t.run(a, opcode, b, fields)).toMatchObject({ status: 'RemAccessErr' })
      expect(isZero(b.buffer)).toBe(true)
    })
  }

  for (const type of [MwType.Type1, MwType.Type2]) {
    it(`18 binding a type ${type} window to an MR of another PD is MW_BIND_ERR, or refused`, async (t) => {
      const [, b] = t.pair(QpType.RC)
      const mr = t.own(t.own(b.context.allocPd()).regMr(b.buffer, fullAccess))
      const mw = t.own(b.pd.allocMw(type))
      const status = await refusedOr(async () => (await b.bind(t, mw, { mr })).completion)
      expect(['refused', 'MwBindErr']).toContain(status)
    })

    // IBA C10-72
    it(`18 binding a type ${type} window of another PD is MW_BIND_ERR, or refused`, async (t) => {
      const [, b] = t.pair(QpType.RC)
      const mw = t.own(t.own(b.context.allocPd()).allocMw(type))
      const status = await refusedOr(async () => (await b.bind(t, mw)).completion)
      expect(['refused', 'MwBindErr']).toContain(status)
    })
  }

  it('19 an SRQ receive with an element of another PD is LOC_PROT_ERR, and REM_OP_ERR at the sender', async (t) => {
    const pd = t.own(t.context(1).allocPd())
    const srq = t.own(pd.createSrq({ maxWr: 4 }))
    const [a, b] = t.pair(QpType.RC, { b: { srq, pd } })
    const mr = t.own(t.own(b.context.allocPd()).regMr(b.buffer, fullAccess))
    srq.postRecv({ wrId: 4, sgList: [{ ...b.sge(), lkey: mr.lkey }] })
    expect(await t.run(a, Opcode.Send, b)).toMatchObject({ status: 'RemOpErr' })
    await t.expectCompletion(b.recvCq, { wrId: 4, status: 'LocProtErr' })
  })
}
