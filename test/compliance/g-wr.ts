/** Group G of the conformance list, the ways to post: prepared requests, and the builder (`ibv_wr_start` to `ibv_wr_complete`). */
import { expect } from 'vitest'
import {
  Access,
  FlushPlacement,
  FlushSelectivity,
  incRkey,
  MwType,
  Opcode,
  QpType,
  recvWr,
  SendFlag,
  sendWr,
} from '../../src/index.ts'
import { defaults, expectBytes, fullAccess, pattern, read64, write64 } from './end.ts'
import { type Completion, expectThrow, type Group } from './rig.ts'

export const groupGRequests: Group = (it) => {
  it('73 a request is prepared once and posted many times, with fields changed in between', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const send = sendWr(a.request(Opcode.SendWithImm, b, { immData: 0 }))
    const receive = recvWr({ sgList: [b.sge()] })
    a.buffer.set(pattern(4096))
    for (let i = 0; i < 100; i++) {
      receive.wrId = 1000 + i
      receive.sgList[0]!.addr = b.mr.addr + i
      b.qp.postRecv(receive)
      send.wrId = i
      send.immData = i * 3
      send.sgList[0]!.addr = a.mr.addr + i
      send.sgList[0]!.length = 1 + i
      a.qp.postSend(send)
      await t.expectCompletion(a.sendCq, { wrId: i, status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: 1000 + i, status: 'Success', byteLen: 1 + i, immData: i * 3 })
      expectBytes(b.buffer.subarray(i, 2 * i + 1), pattern(4096).subarray(i, 2 * i + 1))
    }
  })

  it('73 a prepared list, and a prepared request in a list of literals', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const last = sendWr(a.request(Opcode.Write, b, { wrId: 3 }))
    const first = sendWr({ ...a.request(Opcode.Write, b, { wrId: 1 }), next: a.request(Opcode.Read, b, { wrId: 2 }) })
    first.next!.next = last
    const expected: [number, Completion['status']][] = [1, 2, 3].map((wrId) => [wrId, 'Success'])
    for (let i = 0; i < 3; i++) {
      a.qp.postSend(first)
      await t.expectOrder(a.sendCq, expected)
    }
    a.qp.postSend({ ...a.request(Opcode.Write, b, { wrId: 4 }), next: last as never })
    await t.expectOrder(a.sendCq, [
      [4, 'Success'],
      [3, 'Success'],
    ])
  })

  it('73 a request that lacks a field, or has one of a wrong type, is EINVAL and says which', (t) => {
    const [a, b] = t.pair(QpType.RC)
    const good = a.request(Opcode.Write, b) as unknown as Record<string, unknown>
    const bad: [string, unknown][] = [
      ['remoteAddr', undefined],
      ['remoteAddr', -1],
      ['remoteAddr', 2 ** 60],
      ['rkey', 2 ** 33],
      ['wrId', '1'],
      ['sendFlags', 1 << 12],
      ['opcode', 77],
      ['sgList', 7],
      ['sgList', [{ addr: 0, length: -1, lkey: 0 }]],
      ['sgList', [{ addr: 0.5, length: 1, lkey: 0 }]],
    ]
    for (const [field, value] of bad) {
      const request = { ...good, [field]: value }
      if (value === undefined) delete request[field]
      expect(expectThrow('EINVAL', () => a.qp.postSend(request as never)).message).toContain(field)
    }
    expectThrow('EINVAL', () => a.post(Opcode.AtomicFetchAndAdd, b, { compareAdd: 1 }))
    expectThrow('EINVAL', () => a.post(Opcode.SendWithImm, b, {}))
    expectThrow('EINVAL', () => a.post(Opcode.SendWithInv, b, {}))
  })

  it('73 the same of the builder, which says it at the end, and nothing is posted', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const { wr } = a.qp
    const { rkey, addr } = b.mr
    const bad: [string, () => void][] = [
      ['length', () => wr.setSge(a.mr.lkey, a.mr.addr, undefined as never)],
      ['length', () => wr.setSge(a.mr.lkey, a.mr.addr, 1.5)],
      ['length', () => wr.setSge(a.mr.lkey, a.mr.addr, Number.NaN)],
      ['length', () => wr.setSge(a.mr.lkey, a.mr.addr, 2 ** 32 + 5)],
      ['lkey', () => wr.setSge(a.mr.lkey + 2 ** 32, a.mr.addr, 8)],
      ['addr', () => wr.setSge(a.mr.lkey, -1, 8)],
      ['list', () => wr.setSgeList(undefined as never)],
      ['immData', () => wr.sendImm(undefined as never)],
      ['immData', () => wr.rdmaWriteImm(rkey, addr, 0.5)],
      ['invalidateRkey', () => wr.sendInv('7' as never)],
      ['invalidateRkey', () => wr.localInv(2 ** 32)],
      ['rkey', () => wr.rdmaWrite(rkey + 2 ** 32, addr)],
      ['remoteAddr', () => wr.rdmaRead(rkey, addr + 2 ** 64)],
      ['add', () => wr.atomicFetchAdd(rkey, addr, 1 as never)],
      ['swap', () => wr.atomicCmpSwp(rkey, addr, 1n, undefined as never)],
      ['placement', () => wr.flush(rkey, addr, 8, 0, FlushSelectivity.Range)],
      ['selectivity', () => wr.flush(rkey, addr, 8, 1, 2 as never)],
      ['length', () => wr.flush(rkey, addr, -1, 1, 0)],
      ['info', () => wr.bindMw({ rkey: 1, type: MwType.Type2 }, 2, undefined as never)],
      ['rkey', () => wr.bindMw({ rkey: 1, type: MwType.Type2 }, 0.5, { mr: a.mr, addr: 0, length: 0, accessFlags: 0 })],
      ['ah', () => wr.setUdAddr(undefined as never, 1, 1)],
      ['remoteQpn', () => wr.setUdAddr({} as never, 2 ** 24, 1)],
      ['remoteQkey', () => wr.setUdAddr({} as never, 1, 2 ** 32)],
    ]
    const wrongFields: [string, object][] = [
      ['wrId', { wrId: 'x' }],
      ['wrId', { wrId: -1 }],
      ['wrFlags', { wrFlags: 16 }],
      ['wrFlags', { wrFlags: '2' }],
    ]
    for (const [field, fields] of wrongFields) bad.push([field, () => void Object.assign(wr, fields)])
    for (const [field, spoil] of bad) {
      Object.assign(wr, { wrId: 1, wrFlags: SendFlag.Signaled })
      wr.start()
      wr.send()
      spoil()
      wr.rdmaWrite(rkey, addr)
      expect(expectThrow('EINVAL', () => wr.complete()).message).toMatch(new RegExp(`^wr\\.\\w+: .*\\b${field}\\b`))
    }
    await t.expectQuiet(a.sendCq)
  })

  it('73 every operation through the builder', async (t) => {
    const connect = { accessFlags: defaults.connect.accessFlags! | Access.FlushGlobal }
    const [a, b] = t.pair(QpType.RC, { access: fullAccess | Access.FlushGlobal, connect })
    const { wr } = a.qp
    const { lkey, addr } = a.mr
    const { rkey, addr: remote } = b.mr
    a.buffer.set(pattern(1024))
    write64(b.buffer, 8192, 40n)
    for (let i = 0; i < 4; i++) b.recv(100 + i, 4096, 1024)
    const mw = t.own(a.pd.allocMw(MwType.Type2))
    const key = incRkey(mw.rkey)
    const theirs = await b.bound(t, MwType.Type2)
    const operations: [Completion['opcode'], () => void, number][] = [
      ['Send', () => wr.send(), 10],
      ['Send', () => wr.sendImm(0xabcdef01), 11],
      ['Send', () => wr.sendInv(theirs.rkey), 12],
      ['Write', () => wr.rdmaWrite(rkey, remote), 13],
      ['Write', () => wr.rdmaWriteImm(rkey, remote + 2048, 5), 14],
      ['Read', () => wr.rdmaRead(rkey, remote), 15],
      ['FetchAdd', () => wr.atomicFetchAdd(rkey, remote + 8192, 2n), 8],
      ['CompSwap', () => wr.atomicCmpSwp(rkey, remote + 8192, 42n, 7n), 8],
      ['AtomicWrite', () => wr.atomicWrite(rkey, remote + 8200), 8],
      ['Flush', () => wr.flush(rkey, remote, 64, FlushPlacement.Global, FlushSelectivity.Range), -1],
      ['BindMw', () => wr.bindMw(mw, key, { mr: a.mr, addr, length: 4096, accessFlags: Access.RemoteRead }), -1],
      ['LocalInv', () => wr.localInv(key), -1],
    ]
    wr.start()
    wr.wrFlags = SendFlag.Signaled
    for (const [i, [, begin, length]] of operations.entries()) {
      wr.wrId = i
      begin()
      if (length >= 0) wr.setSge(lkey, addr + 32 * i, length)
    }
    await t.expectQuiet(a.sendCq)
    wr.complete()
    const all = await t.poll(a.sendCq, operations.length)
    expect(all.map(({ wrId, opcode, status }) => [wrId, opcode, status])).toEqual(
      operations.map(([opcode], i) => [i, opcode, 'Success']),
    )
    const got = await t.poll(b.recvCq, 4)
    expect(got.map(({ wrId, byteLen, opcode }) => [wrId, byteLen, opcode])).toEqual([
      [100, 10, 'Recv'],
      [101, 11, 'Recv'],
      [102, 12, 'Recv'],
      [103, 14, 'RecvRdmaWithImm'],
    ])
    expect([got[1]!.immData, got[2]!.invalidatedRkey, got[3]!.immData]).toEqual([0xabcdef01, theirs.rkey, 5])
    expect(read64(b.buffer, 8192)).toBe(7n)
    expectBytes(b.buffer.subarray(8200, 8208), a.buffer.subarray(32 * 8, 32 * 8 + 8))
    expectBytes(b.buffer.subarray(2048, 2062), pattern(1024).subarray(128, 142))
  })

  it('73 the builder on UD, with several elements', async (t) => {
    const [a, b] = t.pair(QpType.UD)
    const { wr } = a.qp
    const ah = t.ah(a as never, b as never)
    a.buffer.set(pattern(1024))
    b.recv(1, 0, 2048)
    wr.start()
    wr.wrId = 8
    wr.wrFlags = SendFlag.Signaled
    wr.sendImm(9)
    wr.setUdAddr(ah, b.qp.qpNum, defaults.qkey)
    wr.setSgeList([a.sge(0, 10), a.sge(100, 20)])
    wr.complete()
    await t.expectCompletion(a.sendCq, { wrId: 8, status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success', byteLen: 70, immData: 9 })
    expectBytes(b.buffer.subarray(50, 70), pattern(1024).subarray(100, 120))
  })

  it('73 errors of the builder come once, from complete; abort posts nothing', async (t) => {
    const [a, b] = t.pair(QpType.RC, { cap: { maxSendSge: 2 } })
    const { wr } = a.qp
    expectThrow('EINVAL', () => wr.complete())
    expectThrow('EINVAL', () => wr.send())
    wr.start()
    expectThrow('EINVAL', () => wr.start())
    wr.rdmaWrite(b.mr.rkey, b.mr.addr)
    wr.abort()
    wr.start()
    wr.wrFlags = SendFlag.Signaled
    wr.wrId = 1
    wr.rdmaWrite(b.mr.rkey, b.mr.addr)
    wr.setSge(a.mr.lkey, a.mr.addr, 8)
    wr.wrId = 2
    wr.rdmaWrite(b.mr.rkey, b.mr.addr)
    wr.setSgeList(Array.from({ length: a.qp.cap.maxSendSge + 1 }, () => a.sge(0, 8)))
    expectThrow('EINVAL', () => wr.complete())
    wr.start()
    wr.wrId = 3
    wr.rdmaWrite(b.mr.rkey, b.mr.addr)
    wr.setSge(a.mr.lkey, a.mr.addr, 8)
    wr.complete()
    const all = await t.poll(a.sendCq, 1)
    // Whether the good one before a bad one is posted is the provider's choice, as in libibverbs.
    if (all[0]!.wrId === 1) all.push(await t.pollOne(a.sendCq))
    expect(all.at(-1)).toMatchObject({ wrId: 3, status: 'Success' })
    await t.expectQuiet(a.sendCq)
  })
}
