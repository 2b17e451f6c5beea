/** Group G of the conformance list: traffic over reliable connections that goes well. Errors are in g-rc-errors.ts. */
import { expect } from 'vitest'
import { Opcode, QpType, SendFlag, WcFlag } from '../../src/index.ts'
import { slow } from '../property.ts'
import { expectBytes, isZero, pattern, read64, write64 } from './end.ts'
import type { Group } from './rig.ts'

export const groupG: Group = (it) => {
  it('73 send and receive', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.buffer.set(pattern(1024))
    b.recv(11, 2048, 1024)
    const sent = await t.run(a, Opcode.Send, b, { wrId: 12 })
    expect(sent).toMatchObject({ wrId: 12, status: 'Success', opcode: 'Send', qpNum: a.qp.qpNum })
    const received = await t.pollOne(b.recvCq)
    expect(received).toMatchObject({ wrId: 11, status: 'Success', opcode: 'Recv', byteLen: 1024, qpNum: b.qp.qpNum })
    expect(received.wcFlags & (WcFlag.WithImm | WcFlag.WithInv)).toBe(0)
    expectBytes(b.buffer.subarray(2048, 3072), pattern(1024))
    expect(isZero(b.buffer.subarray(0, 2048))).toBe(true)
    expect(isZero(b.buffer.subarray(3072))).toBe(true)
  })

  it('73 many messages, one after the other and in both directions, keep their order', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    for (let i = 0; i < (slow ? 300 : 60); i++) {
      const [from, to] = i % 3 === 0 ? [b, a] : [a, b]
      from.buffer.set(pattern(32, i))
      to.recv(i, 4096, 32)
      expect(await t.run(from, Opcode.Send, to, { wrId: i, length: 32 })).toMatchObject({ wrId: i, status: 'Success' })
      await t.expectCompletion(to.recvCq, { wrId: i, status: 'Success', byteLen: 32 })
      expectBytes(to.buffer.subarray(4096, 4128), pattern(32, i))
    }
  })

  it('73 an empty sgl sends zero bytes', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    b.qp.postRecv({ wrId: 3 })
    expect(await t.run(a, Opcode.Send, b, { sgList: [] })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 3, status: 'Success', byteLen: 0 })
  })

  // IBA 10.7.3.1
  it('73 an unsignaled send makes no completion; sq_sig_all makes one for each', async (t) => {
    const [a, b] = t.pair(QpType.RC, { b: { sqSigAll: true } })
    b.recv(1)
    b.recv(2)
    a.post(Opcode.Send, b, { wrId: 1, sendFlags: 0 })
    await t.expectCompletion(b.recvCq, { wrId: 1, status: 'Success' })
    await t.expectQuiet(a.sendCq)
    expect(await t.run(a, Opcode.Send, b, { wrId: 2 })).toMatchObject({ wrId: 2 })
    b.post(Opcode.Write, a, { wrId: 3, sendFlags: 0 })
    await t.expectCompletion(b.sendCq, { wrId: 3, status: 'Success', opcode: 'Write' })
  })

  it('73 32 elements are gathered and scattered', async (t) => {
    const { maxSge } = t.context(0).queryDevice()
    const elements = Math.min(32, maxSge)
    const [a, b] = t.pair(QpType.RC, { cap: { maxSendSge: elements, maxRecvSge: elements } })
    a.buffer.set(pattern(a.buffer.length))
    const expected: number[] = []
    const gather = Array.from({ length: elements }, (_, i) => {
      const [offset, length] = [(elements - i) * 200, (i * 5) % 130]
      expected.push(...a.buffer.subarray(offset, offset + length))
      return a.sge(offset, length)
    })
    const size = Math.ceil(expected.length / elements)
    b.qp.postRecv({ wrId: 2, sgList: Array.from({ length: elements }, (_, i) => b.sge(i * 300, size)) })
    expect(await t.run(a, Opcode.Send, b, { sgList: gather })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(b.recvCq, { status: 'Success', byteLen: expected.length })
    const got = Array.from({ length: elements }, (_, i) => [...b.buffer.subarray(i * 300, i * 300 + size)]).flat()
    expect(got.slice(0, expected.length)).toEqual(expected)
    expect(isZero(b.buffer.subarray(size, 300))).toBe(true)
  })

  it('73 an inline buffer is reusable at once, and needs no valid lkey', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const sendFlags = SendFlag.Signaled | SendFlag.Inline
    a.buffer.set(pattern(48, 1))
    // Without a receive at the peer the request waits; its data must have been taken.
    a.post(Opcode.Send, b, {
      wrId: 1,
      sendFlags,
      sgList: [
        { ...a.sge(0, 20), lkey: 0 },
        { ...a.sge(20, 28), lkey: 0xdead },
      ],
    })
    a.buffer.fill(0xee)
    b.recv(2)
    await t.expectCompletion(a.sendCq, { wrId: 1, status: 'Success' })
    await t.expectCompletion(b.recvCq, { wrId: 2, status: 'Success', byteLen: 48 })
    expectBytes(b.buffer.subarray(0, 48), pattern(48, 1))
  })

  it('73 inline write', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.buffer.set(pattern(40, 2))
    const fields = { sendFlags: SendFlag.Signaled | SendFlag.Inline, length: 40, remoteOffset: 77 }
    expect(await t.run(a, Opcode.Write, b, fields)).toMatchObject({ status: 'Success', opcode: 'Write' })
    expectBytes(b.buffer.subarray(77, 117), pattern(40, 2))
  })

  it('73 a linked list is carried out in order', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const receives = [1, 2, 3].map((wrId) => ({ wrId, sgList: [b.sge(wrId * 1024)] }))
    b.qp.postRecv({ ...receives[0]!, next: { ...receives[1]!, next: receives[2]! } })
    const sends = [4, 5, 6].map((wrId) => a.request(Opcode.Send, b, { wrId, length: wrId }))
    a.qp.postSend(Object.assign(sends[0]!, { next: Object.assign(sends[1]!, { next: sends[2]! }) }))
    await t.expectOrder(a.sendCq, [
      [4, 'Success'],
      [5, 'Success'],
      [6, 'Success'],
    ])
    const all = await t.poll(b.recvCq, 3)
    expect(all.map(({ wrId, byteLen }) => [wrId, byteLen])).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ])
  })

  it('73 a QP connected to itself, and two QPs of one adapter', async (t) => {
    const a = t.end(0, QpType.RC)
    t.connectTo(a, { ...a.endpoint })
    a.buffer.set(pattern(100))
    a.recv(1, 8192, 100)
    expect(await t.run(a, Opcode.Send, a, { length: 100 })).toMatchObject({ status: 'Success' })
    await t.expectCompletion(a.recvCq, { status: 'Success', byteLen: 100 })
    expectBytes(a.buffer.subarray(8192, 8292), pattern(100))
    const [c, d] = [t.end(0, QpType.RC), t.end(0, QpType.RC)]
    t.connect(c, d)
    expect(await t.run(c, Opcode.Write, d)).toMatchObject({ status: 'Success' })
  })

  it('74 immediate data arrive with a send', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    for (const immData of [0, 1, 0x12345678, 0xffffffff]) {
      b.recv()
      expect(await t.run(a, Opcode.SendWithImm, b, { immData })).toMatchObject({ status: 'Success', opcode: 'Send' })
      const wc = await t.expectCompletion(b.recvCq, { status: 'Success', opcode: 'Recv', immData, byteLen: 1024 })
      expect(wc.wcFlags & WcFlag.WithImm).toBe(WcFlag.WithImm)
    }
  })

  // IBA C10-86
  it('74 write_imm consumes a receive and gives RECV_RDMA_WITH_IMM', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.buffer.set(pattern(500))
    for (const length of [500, 0]) {
      // The receive's own buffer stays untouched, and it need not be large enough.
      b.recv(length, 8192, 4)
      const fields = { immData: 0xcafe0000 + length, length, remoteOffset: 256 }
      expect(await t.run(a, Opcode.WriteWithImm, b, fields)).toMatchObject({ status: 'Success', opcode: 'Write' })
      const wc = await t.expectCompletion(b.recvCq, { wrId: length, opcode: 'RecvRdmaWithImm', status: 'Success' })
      expect(wc).toMatchObject({ immData: 0xcafe0000 + length, byteLen: length })
      expect(wc.wcFlags & WcFlag.WithImm).toBe(WcFlag.WithImm)
    }
    expectBytes(b.buffer.subarray(256, 756), pattern(500))
    expect(isZero(b.buffer.subarray(8192))).toBe(true)
  })

  for (const [what, size] of [
    ['one MTU', 1024],
    ['more than an MTU', 1025],
    ['several MTUs', 4096 * 3 + 1],
    ['more than a MiB', 1.5 * 2 ** 20 + 13],
  ] as const) {
    it(`75 write, read and send of ${what}`, async (t) => {
      const bytes = size + 8192
      const [a, b] = t.pair(QpType.RC, { bytes })
      a.buffer.set(pattern(size, 1), 17)
      const fields = { offset: 17, remoteOffset: 4001, length: size }
      expect(await t.run(a, Opcode.Write, b, fields)).toMatchObject({ status: 'Success', opcode: 'Write' })
      expectBytes(b.buffer.subarray(4001, 4001 + size), pattern(size, 1))
      expect(b.buffer[4000]).toBe(0)
      expect(b.buffer[4001 + size]).toBe(0)
      b.buffer.set(pattern(size, 2), 5)
      const read = { offset: 4003, remoteOffset: 5, length: size }
      expect(await t.run(a, Opcode.Read, b, read)).toMatchObject({ status: 'Success', opcode: 'Read', byteLen: size })
      expectBytes(a.buffer.subarray(4003, 4003 + size), pattern(size, 2))
      b.recv(4, 64, size)
      expect(await t.run(a, Opcode.Send, b, { offset: 4003, length: size })).toMatchObject({ status: 'Success' })
      await t.expectCompletion(b.recvCq, { status: 'Success', byteLen: size })
      expectBytes(b.buffer.subarray(64, 64 + size), pattern(size, 2))
    })
  }

  it('75 an unsignaled read and a read into several elements', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    b.buffer.set(pattern(3000))
    a.post(Opcode.Read, b, { wrId: 1, sendFlags: 0, offset: 8192 })
    const sgList = [a.sge(0, 1), a.sge(100, 999), a.sge(3000, 2000)]
    expect(await t.run(a, Opcode.Read, b, { wrId: 2, sgList })).toMatchObject({ wrId: 2, status: 'Success' })
    expectBytes(a.buffer.subarray(8192, 9216), pattern(1024))
    const got = Buffer.concat([a.buffer.subarray(0, 1), a.buffer.subarray(100, 1099), a.buffer.subarray(3000, 5000)])
    expectBytes(got, pattern(3000))
  })

  // IBA C9-88
  it('76 zero-length read and write with a bad rkey succeed', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    for (const opcode of [Opcode.Read, Opcode.Write]) {
      for (const fields of [{ rkey: 0xbad0bad }, { remoteAddr: 1 }, { remoteAddr: 2 ** 52, rkey: 0 }]) {
        expect(await t.run(a, opcode, b, { ...fields, length: 0 })).toMatchObject({ status: 'Success' })
        expect(await t.run(a, opcode, b, { ...fields, sgList: [] })).toMatchObject({ status: 'Success' })
      }
    }
  })

  it('86 compare and swap: equal swaps, unequal does not, and both give the old value', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    const [old, other] = [0x0123456789abcdefn, 0xfedcba9876543210n]
    write64(b.buffer, 64, old)
    const fields = { remoteOffset: 64, compareAdd: old, swap: other }
    const wc = await t.run(a, Opcode.AtomicCmpAndSwp, b, fields)
    expect(wc).toMatchObject({ status: 'Success', opcode: 'CompSwap', byteLen: 8 })
    expect([read64(a.buffer), read64(b.buffer, 64)]).toEqual([old, other])
    expect(await t.run(a, Opcode.AtomicCmpAndSwp, b, { ...fields, swap: 1n })).toMatchObject({ status: 'Success' })
    expect([read64(a.buffer), read64(b.buffer, 64)]).toEqual([other, other])
  })

  it('86 fetch and add: 1, large, 0', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    let value = 0xfffffffffffffff0n
    write64(b.buffer, 8, value)
    for (const compareAdd of [1n, 0n, 0x7fffffffffffffffn, 0xffffffffffffffffn]) {
      const wc = await t.run(a, Opcode.AtomicFetchAndAdd, b, { remoteOffset: 8, compareAdd })
      expect(wc).toMatchObject({ status: 'Success', opcode: 'FetchAdd', byteLen: 8 })
      expect(read64(a.buffer)).toBe(value)
      value = BigInt.asUintN(64, value + compareAdd)
      expect(read64(b.buffer, 8)).toBe(value)
    }
    expect(read64(b.buffer, 0)).toBe(0n)
    expect(read64(b.buffer, 16)).toBe(0n)
  })

  it('86 an unsignaled atomic is carried out', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    a.post(Opcode.AtomicFetchAndAdd, b, { sendFlags: 0, compareAdd: 5n })
    expect(await t.run(a, Opcode.AtomicFetchAndAdd, b, { wrId: 2, compareAdd: 6n })).toMatchObject({ wrId: 2 })
    expect([read64(a.buffer), read64(b.buffer)]).toEqual([5n, 11n])
  })

  it('90 an atomic with an sgl split 4 + 4', async (t) => {
    const [a, b] = t.pair(QpType.RC)
    write64(b.buffer, 0, 0x1122334455667788n)
    const sgList = [a.sge(100, 4), a.sge(200, 4)]
    expect(await t.run(a, Opcode.AtomicFetchAndAdd, b, { sgList, compareAdd: 1n })).toMatchObject({ status: 'Success' })
    const got = Buffer.concat([a.buffer.subarray(100, 104), a.buffer.subarray(200, 204)])
    expect(read64(Uint8Array.from(got))).toBe(0x1122334455667788n)
    expect(isZero(a.buffer.subarray(104, 200))).toBe(true)
  })

  it('91 more reads than max_rd_atomic are throttled, and all succeed', async (t) => {
    const [a, b] = t.pair(QpType.RC, { connect: { maxRdAtomic: 1, maxDestRdAtomic: 1 } })
    b.buffer.set(pattern(8192))
    for (let i = 0; i < 32; i++) {
      if (i % 4 === 3)
        a.post(Opcode.AtomicFetchAndAdd, b, { wrId: i, compareAdd: 1n, remoteOffset: 8192, offset: 8200 })
      else a.post(Opcode.Read, b, { wrId: i, length: 4096, remoteOffset: i * 8, offset: i * 8 })
    }
    for (let i = 0; i < 32; i++) await t.expectCompletion(a.sendCq, { wrId: i, status: 'Success' })
    expect(read64(b.buffer, 8192)).toBe(8n)
  })

  it('91 a responder with max_dest_rd_atomic 0 refuses reads and atomics: REM_INV_REQ_ERR', async (t) => {
    for (const opcode of [Opcode.Read, Opcode.AtomicFetchAndAdd]) {
      const [a, b] = t.pair(QpType.RC, { connect: { maxDestRdAtomic: 0 } })
      expect(await t.run(a, Opcode.Write, b)).toMatchObject({ status: 'Success' })
      expect(await t.run(a, opcode, b, { compareAdd: 1n })).toMatchObject({ status: 'RemInvReqErr' })
    }
  })

  it('92 a fenced request sees what the reads before it brought', async (t) => {
    const size = 1 << 16
    const [a, b] = t.pair(QpType.RC, { bytes: 2 * size })
    for (let round = 0; round < 10; round++) {
      b.buffer.set(pattern(size, round))
      b.recv(round, size, size)
      a.post(Opcode.Read, b, { wrId: 1, length: size, sendFlags: 0 })
      a.post(Opcode.Send, b, { wrId: 2, length: size, sendFlags: SendFlag.Signaled | SendFlag.Fence })
      await t.expectCompletion(a.sendCq, { wrId: 2, status: 'Success' })
      await t.expectCompletion(b.recvCq, { wrId: round, status: 'Success', byteLen: size })
      expectBytes(b.buffer.subarray(size), pattern(size, round))
    }
  })
}
