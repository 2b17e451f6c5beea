/** Work requests of programs, and their completions, from queue to queue. */
import { afterEach, describe, expect, it } from 'vitest'
import { makePair, type Pair, type PairOptions } from './pair.ts'
import * as v from './verbs.ts'

let pair: Pair
const begin = (options: PairOptions = {}): Pair => {
  pair = makePair(options)
  return pair
}
afterEach(() => pair.close())

const [write, writeImm, send, sendImm, read, cas, fadd, localInv, bindMw, sendInv, flush, atomicWrite] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15,
] as const

describe('RC', () => {
  it('a message goes from the memory of one program to that of the other', () => {
    const { a, b } = begin()
    a.mr.bytes.set([1, 2, 3, 4, 5], 100)
    v.postRecv(b.qp.recv, 0xfedcba98_76543210n, v.sge(b.mr, 0, 64))
    v.postSend(a.program, a.qp, { wrId: 0x8000_0000_0000_0001n, opcode: send, sges: [v.sge(a.mr, 100, 5)] })
    expect(v.pollAll(a.sendCq)).toMatchObject([
      { wrId: 0x8000_0000_0000_0001n, status: 0, opcode: 0, qpNum: a.qp.number },
    ])
    expect(v.pollAll(b.recvCq)).toMatchObject([
      { wrId: 0xfedcba98_76543210n, status: 0, opcode: 128, byteLen: 5, qpNum: b.qp.number, flags: 0 },
    ])
    expect([...b.mr.bytes.subarray(0, 6)]).toEqual([1, 2, 3, 4, 5, 0])
  })

  it('counters of the port count what goes over it, as packets', () => {
    const { a, b } = begin({ inline: 64 })
    const { host, index } = a.program.context.device
    const names = ['sent_pkts', 'sent_bytes', 'rdma_sends', 'rcvd_pkts', 'rcvd_bytes', 'rdma_recvs']
    const remote = { addr: b.mr.addr, rkey: b.mr.rkey }
    const rise = (act: () => void): number[] => {
      const before = host.counters(index)
      act()
      expect(v.pollAll(a.sendCq)).toMatchObject([{ status: 0 }])
      return names.map((name) => host.counters(index)[name]! - before[name]!)
    }
    const sges = [v.sge(a.mr, 0, 100)]
    v.postRecv(b.qp.recv, 1n, v.sge(b.mr, 0, 100))
    // BTH and ICRC are 16 bytes of each packet, the RETH 16 more, the AETH 4.
    expect(rise(() => v.postSend(a.program, a.qp, { opcode: send, sges }))).toEqual([1, 116, 1, 1, 116, 1])
    expect(rise(() => v.postSend(a.program, a.qp, { opcode: write, sges, remote }))).toEqual([1, 132, 1, 1, 132, 1])
    expect(rise(() => v.postSend(a.program, a.qp, { opcode: read, sges, remote }))).toEqual([2, 152, 1, 2, 152, 1])
  })

  it('several elements on both sides, and messages in the order in which they were posted', () => {
    const { a, b } = begin({ sge: 4 })
    a.mr.bytes.set(Array.from({ length: 30 }, (_, i) => i))
    for (let i = 0; i < 3; i++) v.postRecv(b.qp.recv, BigInt(i), v.sge(b.mr, 100 * i, 4), v.sge(b.mr, 100 * i + 50, 40))
    const wr = (i: number): v.SendWr => ({
      wrId: BigInt(i),
      opcode: send,
      sges: [v.sge(a.mr, i, 3), v.sge(a.mr, 10 + i, 3)],
    })
    v.postSend(a.program, a.qp, wr(0), wr(1), wr(2))
    expect(v.pollAll(b.recvCq).map(({ wrId, byteLen }) => [wrId, byteLen])).toEqual([
      [0n, 6],
      [1n, 6],
      [2n, 6],
    ])
    expect(v.pollAll(a.sendCq).map(({ wrId }) => wrId)).toEqual([0n, 1n, 2n])
    expect([...b.mr.bytes.subarray(200, 204), ...b.mr.bytes.subarray(250, 252)]).toEqual(
      [2, 3, 4, 12, 13, 14].slice(0, 6),
    )
  })

  it('immediate data keeps its order of bytes, also to a program of Node', () => {
    const { a, b } = begin()
    v.postRecv(b.qp.recv, 1n, v.sge(b.mr))
    v.postSend(a.program, a.qp, { opcode: sendImm, imm: 0x12345678, sges: [v.sge(a.mr, 0, 4)] })
    expect(v.pollAll(b.recvCq)).toMatchObject([{ opcode: 128, imm: 0x12345678, flags: 2 }])
  })

  it('data in line, with the flag and as the extended calls have it', () => {
    const { a, b } = begin({ inline: 64 })
    for (const flags of [v.signaled | v.inlineFlag, v.signaled]) {
      v.postRecv(b.qp.recv, 1n, v.sge(b.mr, 0, 100))
      v.postSend(a.program, a.qp, { opcode: send, flags, inline: Uint8Array.of(9, 8, 7, 6, 5) })
      expect(v.pollAll(b.recvCq)).toMatchObject([{ status: 0, byteLen: 5 }])
      expect([...b.mr.bytes.subarray(0, 5)]).toEqual([9, 8, 7, 6, 5])
      b.mr.bytes.fill(0)
    }
    expect(v.pollAll(a.sendCq)).toHaveLength(2)
  })

  it('WRITE, WRITE with immediate and READ reach the memory of the peer', () => {
    const { a, b } = begin()
    a.mr.bytes.set([7, 7, 7], 0)
    const remote = { addr: b.mr.addr + 500, rkey: b.mr.rkey }
    v.postSend(a.program, a.qp, { wrId: 1n, opcode: write, remote, sges: [v.sge(a.mr, 0, 3)] })
    expect([...b.mr.bytes.subarray(500, 504)]).toEqual([7, 7, 7, 0])
    v.postRecv(b.qp.recv, 5n)
    v.postSend(a.program, a.qp, {
      wrId: 2n,
      opcode: writeImm,
      imm: 77,
      remote: { ...remote, addr: b.mr.addr },
      sges: [v.sge(a.mr, 0, 3)],
    })
    expect(v.pollAll(b.recvCq)).toMatchObject([{ wrId: 5n, opcode: 129, imm: 77, flags: 2, byteLen: 3 }])
    b.mr.bytes.set([1, 2, 3, 4], 600)
    v.postSend(a.program, a.qp, {
      wrId: 3n,
      opcode: read,
      remote: { ...remote, addr: b.mr.addr + 600 },
      sges: [v.sge(a.mr, 1000, 4)],
    })
    expect([...a.mr.bytes.subarray(1000, 1004)]).toEqual([1, 2, 3, 4])
    expect(v.pollAll(a.sendCq)).toMatchObject([
      { wrId: 1n, opcode: 1, status: 0 },
      { wrId: 2n, opcode: 1, status: 0 },
      { wrId: 3n, opcode: 2, status: 0, byteLen: 4 },
    ])
  })

  it('atomics of 64 bits, ATOMIC WRITE and FLUSH', () => {
    const { a, b } = begin()
    const words = new DataView(b.mr.bytes.buffer, b.mr.bytes.byteOffset)
    const result = new DataView(a.mr.bytes.buffer, a.mr.bytes.byteOffset)
    words.setBigUint64(8, 0xffffffff_00000001n, true)
    const atomic = { addr: b.mr.addr + 8, rkey: b.mr.rkey }
    v.postSend(a.program, a.qp, {
      opcode: fadd,
      atomic: { ...atomic, compareAdd: 0xffffffffn },
      sges: [v.sge(a.mr, 0, 8)],
    })
    expect(result.getBigUint64(0, true)).toBe(0xffffffff_00000001n)
    expect(words.getBigUint64(8, true)).toBe(0n)
    v.postSend(a.program, a.qp, {
      opcode: cas,
      atomic: { ...atomic, compareAdd: 0n, swap: 0x12345678_9abcdef0n },
      sges: [v.sge(a.mr, 0, 8)],
    })
    expect(words.getBigUint64(8, true)).toBe(0x12345678_9abcdef0n)
    const eight = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
    v.postSend(a.program, a.qp, { opcode: atomicWrite, remote: { ...atomic, addr: b.mr.addr + 16 }, inline: eight })
    expect([...b.mr.bytes.subarray(16, 24)]).toEqual([...eight])
    const flushed = v.regRange(b.program, b.pd, b.mr.addr, 4096, v.allAccess | 256)
    v.postSend(a.program, a.qp, {
      opcode: flush,
      flush: { addr: b.mr.addr, rkey: flushed.rkey, length: 16, type: 1, level: 0 },
    })
    expect(v.pollAll(a.sendCq).map(({ opcode, status }) => [opcode, status])).toEqual([
      [4, 0],
      [3, 0],
      [9, 0],
      [8, 0],
    ])
  })

  it('windows of type 1 and 2: bound by requests, used by the peer, invalidated', () => {
    const { a, b } = begin()
    const mw = v.allocMw(b.program, b.pd, 2)
    const newRkey = (mw.rkey & 0xffffff00) | ((mw.rkey + 1) & 0xff)
    const bind = {
      addr: b.mr.addr + 64,
      length: 64,
      lkey: b.mr.lkey,
      rkey: mw.rkey,
      newRkey: newRkey >>> 0,
      access: 1 | 2,
    }
    v.postSend(b.program, b.qp, { wrId: 1n, opcode: bindMw, mw: bind })
    const into = { addr: b.mr.addr + 64, rkey: newRkey >>> 0 }
    v.postSend(a.program, a.qp, { wrId: 2n, opcode: write, remote: into, sges: [v.sge(a.mr, 0, 64)] })
    expect(v.pollAll(b.sendCq)).toMatchObject([{ wrId: 1n, status: 0, opcode: 5 }])
    expect(v.pollAll(a.sendCq)).toMatchObject([{ wrId: 2n, status: 0 }])
    v.postRecv(b.qp.recv, 3n, v.sge(b.mr, 0, 8))
    v.postSend(a.program, a.qp, { wrId: 3n, opcode: sendInv, rkey: newRkey >>> 0, sges: [v.sge(a.mr, 0, 8)] })
    expect(v.pollAll(b.recvCq)).toMatchObject([{ status: 0, flags: 8, invalidated: newRkey >>> 0 }])
    v.postSend(a.program, a.qp, { wrId: 4n, opcode: write, remote: into, sges: [v.sge(a.mr, 0, 64)] })
    expect(v.pollAll(a.sendCq).map(({ wrId, status }) => [wrId, status])).toEqual([
      [3n, 0],
      [4n, 10],
    ])
    v.destroy(b.program, 8, mw.handle)
  })

  it('LOCAL_INV closes a window of the program', () => {
    const { a, b } = begin()
    const mw = v.allocMw(b.program, b.pd, 2)
    const newRkey = ((mw.rkey & 0xffffff00) | ((mw.rkey + 1) & 0xff)) >>> 0
    const bind = { addr: b.mr.addr, length: 64, lkey: b.mr.lkey, rkey: mw.rkey, newRkey, access: 2 }
    v.postSend(b.program, b.qp, { wrId: 1n, opcode: bindMw, mw: bind }, { wrId: 2n, opcode: localInv, rkey: newRkey })
    expect(v.pollAll(b.sendCq).map(({ status, opcode }) => [status, opcode])).toEqual([
      [0, 5],
      [0, 6],
    ])
    v.postSend(a.program, a.qp, {
      opcode: write,
      remote: { addr: b.mr.addr, rkey: newRkey },
      sges: [v.sge(a.mr, 0, 8)],
    })
    expect(v.pollAll(a.sendCq)).toMatchObject([{ status: 10 }])
  })

  it('a message waits for a receive, and goes on when there is one', () => {
    const { a, b, until } = begin()
    v.postSend(a.program, a.qp, { wrId: 1n, opcode: send, sges: [v.sge(a.mr, 0, 5)] })
    expect(v.poll(a.sendCq)).toBeNull()
    v.postRecv(b.qp.recv, 2n, v.sge(b.mr))
    until(() => a.sendCq.queue.count === 1)
    expect(v.pollAll(b.recvCq)).toMatchObject([{ wrId: 2n, status: 0 }])
    expect(v.pollAll(a.sendCq)).toMatchObject([{ wrId: 1n, status: 0 }])
  })

  it.each([
    ['a queue pair', {}],
    ['an SRQ', { srqWr: 4 }],
  ])(
    '%s uses the receives that are written, in order, where one is asked for while another is posted',
    (_name, options) => {
      const { a, b, until } = begin(options)
      const { host } = b.program.context.device
      const receive = (wrId: bigint, at: number): boolean => v.postRecv(b.qp.recv, wrId, v.sge(b.mr, at, 8))
      const { refill } = host
      a.mr.bytes.set([1, 2, 3])
      const message = (i: number): v.SendWr => ({ wrId: BigInt(i), opcode: send, sges: [v.sge(a.mr, i, 1)] })
      v.postSend(a.program, a.qp, message(0), message(1))
      receive(10n, 0)
      let asked = 0
      // The first receive is just posted, and the first message has taken it: the second one asks.
      host.refill = (queue, slot) => {
        if (asked++ === 0) receive(11n, 8)
        refill!(queue, slot)
      }
      try {
        b.program.ring(b.qp.handle)
      } finally {
        host.refill = refill
      }
      expect(asked).toBeGreaterThan(0)
      until(() => a.sendCq.queue.count === 2)
      v.postSend(a.program, a.qp, message(2))
      expect(a.sendCq.queue.count).toBe(2)
      receive(12n, 16)
      until(() => a.sendCq.queue.count === 3)
      expect(v.pollAll(a.sendCq).map(({ wrId, status }) => [wrId, status])).toEqual([
        [0n, 0],
        [1n, 0],
        [2n, 0],
      ])
      expect(v.pollAll(b.recvCq).map(({ wrId, status }) => [wrId, status])).toEqual([
        [10n, 0],
        [11n, 0],
        [12n, 0],
      ])
      expect([0, 8, 16].map((at) => b.mr.bytes[at])).toEqual([1, 2, 3])
      expect(b.qp.recv.count).toBe(0)
    },
  )

  it('requests without a wish for a completion make none, and their places are free when they were executed', () => {
    const { a, b } = begin({ sendWr: 4 })
    const remote = { addr: b.mr.addr, rkey: b.mr.rkey }
    for (let i = 0; i < 100; i++) {
      v.postSend(a.program, a.qp, { wrId: BigInt(i), opcode: write, flags: 0, remote, sges: [v.sge(a.mr, 0, 8)] })
      expect(a.qp.send.count).toBe(0)
    }
    expect(v.poll(a.sendCq)).toBeNull()
    v.postSend(a.program, a.qp, { wrId: 200n, opcode: write, remote, sges: [v.sge(a.mr, 0, 8)] })
    expect(v.pollAll(a.sendCq)).toMatchObject([{ wrId: 200n }])
  })

  it('with sq_sig_all every request makes one', () => {
    const { a, b } = begin({ sigAll: true })
    v.postSend(a.program, a.qp, {
      opcode: write,
      flags: 0,
      remote: { addr: b.mr.addr, rkey: b.mr.rkey },
      sges: [v.sge(a.mr, 0, 8)],
    })
    expect(v.pollAll(a.sendCq)).toHaveLength(1)
  })

  it('rings go round and round', () => {
    const { a, b } = begin({ sendWr: 3, recvWr: 5 })
    for (let i = 0; i < 50; i++) {
      const count = 1 + (i % 3)
      for (let j = 0; j < count; j++) expect(v.postRecv(b.qp.recv, BigInt(10 * i + j), v.sge(b.mr, 0, 16))).toBe(true)
      const wrs = Array.from(
        { length: count },
        (_, j): v.SendWr => ({ wrId: BigInt(10 * i + j), opcode: send, sges: [v.sge(a.mr, 0, 16)] }),
      )
      v.postSend(a.program, a.qp, ...wrs)
      const ids = wrs.map(({ wrId }) => wrId)
      expect(v.pollAll(a.sendCq).map(({ wrId }) => wrId)).toEqual(ids)
      expect(v.pollAll(b.recvCq).map(({ wrId }) => wrId)).toEqual(ids)
    }
  })

  it('more requests than may be on their way are taken when others have completed', () => {
    const { a, b, until } = begin({ sendWr: 4, recvWr: 4 })
    // The ring has room for 7, of which the program asked for 4.
    for (let i = 0; i < 7; i++) v.writeSend(a.qp, { wrId: BigInt(i), opcode: send, sges: [v.sge(a.mr, 0, 4)] })
    a.program.ring(a.qp.handle)
    for (let i = 0; i < 7; i++) v.postRecv(b.qp.recv, BigInt(i), v.sge(b.mr, 0, 4))
    until(() => a.sendCq.queue.count === 7)
    expect(v.pollAll(b.recvCq).map(({ wrId }) => wrId)).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n])
    expect(v.pollAll(a.sendCq)).toHaveLength(7)
  })
})

describe('UC', () => {
  it('SEND and WRITE arrive; what finds no receive is lost', () => {
    const { a, b } = begin({ type: 3 })
    v.postSend(a.program, a.qp, { wrId: 1n, opcode: send, sges: [v.sge(a.mr, 0, 4)] })
    expect(v.pollAll(a.sendCq)).toMatchObject([{ wrId: 1n, status: 0 }])
    v.postRecv(b.qp.recv, 2n, v.sge(b.mr))
    v.postSend(
      a.program,
      a.qp,
      { wrId: 3n, opcode: send, sges: [v.sge(a.mr, 0, 4)] },
      { wrId: 4n, opcode: write, remote: { addr: b.mr.addr, rkey: b.mr.rkey }, sges: [v.sge(a.mr, 0, 4)] },
    )
    b.program.door.progress()
    expect(v.pollAll(a.sendCq).map(({ status }) => status)).toEqual([0, 0])
  })

  it('an operation of RC ends it', () => {
    const { a, b } = begin({ type: 3 })
    v.postSend(a.program, a.qp, {
      wrId: 1n,
      opcode: read,
      remote: { addr: b.mr.addr, rkey: b.mr.rkey },
      sges: [v.sge(a.mr, 0, 4)],
    })
    expect(v.pollAll(a.sendCq)).toMatchObject([{ wrId: 1n, status: 2 }])
  })
})

describe('UD', () => {
  it('a datagram by address handle has 40 bytes in front, and says from whom it is', () => {
    const { a, b } = begin({ type: 4 })
    const ah = v.createAh(a.program, a.pd)
    expect(ah).toBeGreaterThan(0)
    v.postRecv(b.qp.recv, 5n, v.sge(b.mr, 0, 200))
    v.postSend(a.program, b.qp && a.qp, {
      ...{ wrId: 1n, opcode: sendImm, imm: 3 },
      ud: { qpn: b.qp.number, qkey: 0x11111111, ah },
      sges: [v.sge(a.mr, 0, 20)],
    })
    expect(v.pollAll(a.sendCq)).toMatchObject([{ wrId: 1n, status: 0 }])
    expect(v.pollAll(b.recvCq)).toMatchObject([
      { wrId: 5n, status: 0, byteLen: 60, srcQp: a.qp.number, imm: 3, slid: a.program.context.queryPort(1).lid },
    ])
  })

  it('a number that is no address handle ends the queue pair, and nothing else', () => {
    const { a, b } = begin({ type: 4 })
    const wr: v.SendWr = {
      opcode: send,
      ud: { qpn: b.qp.number, qkey: 0x11111111, ah: 4711 },
      sges: [v.sge(a.mr, 0, 20)],
    }
    v.postSend(a.program, a.qp, { ...wr, wrId: 1n }, { ...wr, wrId: 2n })
    expect(v.pollAll(a.sendCq).map(({ wrId, status }) => [wrId, status])).toEqual([
      [1n, 2],
      [2n, 5],
    ])
    expect(v.queryState(a.program, a.qp)).toBe(5)
  })

  it('the handle of another protection domain is none', () => {
    const { a, b } = begin({ type: 4 })
    const ah = v.createAh(a.program, v.allocPd(a.program))
    v.postSend(a.program, a.qp, {
      opcode: send,
      ud: { qpn: b.qp.number, qkey: 0x11111111, ah },
      sges: [v.sge(a.mr, 0, 20)],
    })
    expect(v.pollAll(a.sendCq)).toMatchObject([{ status: 2 }])
  })

  it('multicast: attached twice is attached once; a queue pair in a group is busy', () => {
    const { a, b } = begin({ type: 4 })
    const gid = Uint8Array.from({ length: 16 }, (_, i) => (i === 0 ? 0xff : i))
    const request = Buffer.concat([gid, v.words(b.qp.handle, 0)])
    b.program.invoke(30, request)
    b.program.invoke(30, request)
    v.postRecv(b.qp.recv, 6n, v.sge(b.mr, 0, 200))
    const ah = v.createAh(a.program, a.pd, 0xc000, gid)
    v.postSend(a.program, a.qp, {
      opcode: send,
      ud: { qpn: 0xffffff, qkey: 0x11111111, ah },
      sges: [v.sge(a.mr, 0, 20)],
    })
    expect(v.pollAll(b.recvCq)).toMatchObject([{ wrId: 6n, flags: 1, byteLen: 60 }])
    expect(() => v.destroyQp(b.program, b.qp)).toThrow(expect.objectContaining({ errno: 16 }))
    b.program.invoke(31, request)
    expect(() => b.program.invoke(31, request)).toThrow(expect.objectContaining({ errno: 22 }))
    v.destroyQp(b.program, b.qp)
  })
})

describe('SRQ', () => {
  it('messages of several queue pairs take its receives', () => {
    const { a, b } = begin({ srqWr: 8 })
    for (let i = 0; i < 5; i++) v.postRecv(b.srq!.queue, BigInt(100 + i), v.sge(b.mr, 0, 16))
    for (let i = 0; i < 5; i++) v.postSend(a.program, a.qp, { opcode: send, sges: [v.sge(a.mr, 0, 4)] })
    expect(v.pollAll(b.recvCq).map(({ wrId }) => wrId)).toEqual([100n, 101n, 102n, 103n, 104n])
    expect(b.srq!.queue.count).toBe(0)
  })

  it('the limit event comes once, when fewer are left; then the limit is 0', () => {
    const { a, b } = begin({ srqWr: 8 })
    for (let i = 0; i < 6; i++) v.postRecv(b.srq!.queue, BigInt(i), v.sge(b.mr, 0, 16))
    b.program.invoke(33, v.words(b.srq!.handle, 2, 0, 4))
    const message = () => v.postSend(a.program, a.qp, { opcode: send, sges: [v.sge(a.mr, 0, 4)] })
    message()
    message()
    expect(b.program.read(b.events, 16)).toBeNull()
    message()
    expect(b.program.read(b.events, 16)!.readUInt32LE(8)).toBe(15)
    message()
    expect(b.program.read(b.events, 16)).toBeNull()
    expect(b.program.invoke(34, v.request(v.words(b.srq!.handle, 0)), 16)[0].readUInt32LE(8)).toBe(0)
  })

  it('resized, it keeps its receives, those that are posted and those that were not seen yet', () => {
    const { a, b } = begin({ srqWr: 4 })
    for (let i = 0; i < 3; i++) v.postRecv(b.srq!.queue, BigInt(i), v.sge(b.mr, 0, 16))
    v.postSend(a.program, a.qp, { opcode: send, sges: [v.sge(a.mr, 0, 4)] })
    v.postRecv(b.srq!.queue, 3n, v.sge(b.mr, 0, 16))
    const info = b.program.memory.room(16)
    b.program.invoke(33, v.words(b.srq!.handle, 1, 20, 0), 0, 0, v.long(info))
    const queue = b.program.map(b.program.memory.get(info, 16))
    expect(queue.mask).toBe(31)
    expect(queue.count).toBe(3)
    for (let i = 4; i < 20; i++) v.postRecv(queue, BigInt(i), v.sge(b.mr, 0, 16))
    for (let i = 1; i < 20; i++) v.postSend(a.program, a.qp, { opcode: send, sges: [v.sge(a.mr, 0, 4)] })
    expect(v.pollAll(b.recvCq).map(({ wrId }) => Number(wrId))).toEqual(Array.from({ length: 20 }, (_, i) => i))
  })

  it('resized below what is in it: EINVAL, and nothing changes', () => {
    const { b } = begin({ srqWr: 8 })
    for (let i = 0; i < 6; i++) v.postRecv(b.srq!.queue, BigInt(i), v.sge(b.mr, 0, 16))
    const info = b.program.memory.room(16)
    expect(() => b.program.invoke(33, v.words(b.srq!.handle, 1, 5, 0), 0, 0, v.long(info))).toThrow(
      expect.objectContaining({ errno: 22 }),
    )
    expect(b.program.invoke(34, v.request(v.words(b.srq!.handle, 0)), 16)[0].readUInt32LE(0)).toBe(8)
  })
})

describe('requests that come one by one', () => {
  /** Posts a request for each of `posters`; whether the door gathers after each. */
  const gathering = (
    p: Pair,
    posters: readonly ('a' | 'b')[],
    flags: number,
    after: () => void = () => {},
  ): boolean[] =>
    posters.map((poster) => {
      const [from, to] = poster === 'a' ? [p.a, p.b] : [p.b, p.a]
      const remote = { addr: to.mr.addr, rkey: to.mr.rkey }
      v.postSend(from.program, from.qp, { opcode: write, flags, remote, sges: [v.sge(from.mr, 0, 8)] })
      after()
      return from.program.door.gathers()
    })
  const streamOf = (count: number): 'a'[] => new Array<'a'>(count).fill('a')

  it('are gathered once a program has posted many, and waited for none', () => {
    const p = begin({ sendWr: 32 })
    expect(gathering(p, streamOf(9), 0)).toEqual([...new Array(7).fill(false), true, true])
    // Not while nothing comes.
    expect(p.a.program.door.gathers()).toBe(false)
  })

  it('are not where the peer answers each', () => {
    const p = begin({ sendWr: 32 })
    const posters = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 'a' : 'b'))
    expect(gathering(p, posters, 0)).not.toContain(true)
  })

  it('are not where the program polls the completion of each', () => {
    const p = begin({ sendWr: 32 })
    const polls = (): void => expect(v.pollAll(p.a.sendCq)).toHaveLength(1)
    expect(gathering(p, streamOf(20), v.signaled, polls)).not.toContain(true)
  })

  it('are not where another door serves the peer, whose answers this one does not see', () => {
    const p = begin({ sendWr: 32, connected: false })
    const other = makePair({ connected: false })
    v.connect(p.a.program, p.a.qp, other.b.qp.number)
    expect(gathering(p, streamOf(20), 0)).not.toContain(true)
    other.close()
  })
})
