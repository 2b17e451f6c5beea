/** What goes wrong in queues, by the fault of a program or of its peer, and what each end gets to see of it. */
import { afterEach, describe, expect, it } from 'vitest'
import { makePair, type Pair, type PairOptions } from './pair.ts'
import * as v from './verbs.ts'

let pair: Pair
const begin = (options: PairOptions = {}): Pair => {
  pair = makePair(options)
  return pair
}
afterEach(() => pair.close())

const ok = (p: Pair): v.SendWr => ({
  ...{ wrId: 99n, opcode: 0, remote: { addr: p.b.mr.addr, rkey: p.b.mr.rkey } },
  sges: [v.sge(p.a.mr, 0, 8)],
})
const statuses = (cq: v.Cq): [bigint, number][] => v.pollAll(cq).map(({ wrId, status }) => [wrId, status])

describe('requests that an adapter rejects', () => {
  it('keys, ranges and rights of the peer: remote access error, an event at the peer, both in error', () => {
    const p = begin()
    const { a, b } = p
    v.postSend(
      a.program,
      a.qp,
      { ...ok(p), wrId: 1n, remote: { addr: b.mr.addr + 8190, rkey: b.mr.rkey } },
      { ...ok(p), wrId: 2n },
    )
    expect(statuses(a.sendCq)).toEqual([
      [1n, 10],
      [2n, 5],
    ])
    const event = b.program.read(b.events, 16)!
    expect(event.readUInt32LE(8)).toBe(3)
    expect([v.queryState(a.program, a.qp), v.queryState(b.program, b.qp)]).toEqual([6, 6])
    expect(v.destroyQp(b.program, b.qp)).toBe(1)
  })

  it('flush the receives of both, though no message has wanted them', () => {
    const p = begin()
    const { a, b } = p
    for (const { qp } of [a, b]) for (const wrId of [1n, 2n]) v.postRecv(qp.recv, wrId)
    v.postSend(a.program, a.qp, { ...ok(p), wrId: 3n, remote: { addr: b.mr.addr + 8190, rkey: b.mr.rkey } })
    expect(statuses(a.sendCq)).toEqual([[3n, 10]])
    p.settle()
    for (const { recvCq } of [a, b])
      expect(statuses(recvCq)).toEqual([
        [1n, 5],
        [2n, 5],
      ])
  })

  it('a wrong local key, or an address of no number: local protection error', () => {
    for (const sge of [
      { addr: 0, length: 8, lkey: 1 },
      { addr: Number(2n ** 60n), length: 8, lkey: 0 },
    ]) {
      const p = begin()
      v.postSend(p.a.program, p.a.qp, { ...ok(p), wrId: 1n, sges: [{ ...sge, lkey: sge.lkey || p.a.mr.lkey }] })
      expect(statuses(p.a.sendCq)).toEqual([[1n, 4]])
      p.close()
    }
    begin()
  })

  it('no receive, no retries: the RNR retry counter is exceeded', () => {
    const p = begin({ rnr: 0 })
    v.postSend(p.a.program, p.a.qp, { wrId: 1n, opcode: 2, sges: [v.sge(p.a.mr, 0, 8)] })
    expect(statuses(p.a.sendCq)).toEqual([[1n, 13]])
  })

  it.each([
    ['an operation that there is not', { opcode: 77 }],
    ['one of the upper bits', { opcode: 0x80000002 }],
    ['the operation of a kernel', { opcode: 13 }],
    ['more elements than the queue pair has', { sges: Array(3).fill({ addr: 0, length: 0, lkey: 0 }) }],
    ['data in line that is longer than it may be', { flags: 10, inline: new Uint8Array(33), sges: [] }],
    ['a FLUSH of no kind', { opcode: 14, flush: { addr: 0, rkey: 0, length: 1, type: 0, level: 0 } }],
    [
      'a window with rights that there are not',
      { opcode: 8, mw: { addr: 0, length: 1, lkey: 0, rkey: 0, newRkey: 0, access: 0x40 } },
    ],
  ])('%s: an error in its turn, and what follows is flushed', (_name, wr) => {
    const p = begin({ sge: 2 })
    v.postSend(p.a.program, p.a.qp, { ...ok(p), wrId: 1n }, { ...ok(p), ...wr, wrId: 2n }, { ...ok(p), wrId: 3n })
    expect(statuses(p.a.sendCq)).toEqual([
      [1n, 0],
      [2n, 2],
      [3n, 5],
    ])
    expect(v.queryState(p.a.program, p.a.qp)).toBe(6)
  })

  it('a receive with too many elements ends the queue pair when a message comes', () => {
    const p = begin()
    p.b.qp.recv.push((entry) => {
      entry.writeBigUInt64LE(1n, 0)
      entry.writeUInt32LE(1000, 28)
    })
    v.postSend(p.a.program, p.a.qp, { wrId: 2n, opcode: 2, sges: [v.sge(p.a.mr, 0, 8)] })
    expect(statuses(p.b.recvCq)).toEqual([[1n, 4]])
    expect(statuses(p.a.sendCq)).toEqual([[2n, 11]])
  })
})

describe('indexes that the program falsifies', () => {
  it.each([0xffffffff, 0x7fffffff, 5, 16, 1 << 20])(
    'producer %i: what lies there is executed, nothing else happens',
    (index) => {
      const p = begin()
      const { a, b } = p
      a.qp.send.producer = index
      b.qp.recv.producer = index
      a.program.ring(a.qp.handle)
      b.program.ring(b.qp.handle)
      const taken = v.pollAll(a.sendCq).length
      expect(taken).toBeLessThanOrEqual(a.qp.send.mask)
      // The other programs, and the rest of this one, go on.
      const other = v.createQp(a.program, a.pd, a.sendCq, a.recvCq)
      v.connect(a.program, other, other.number)
      v.postSend(a.program, other, {
        wrId: 7n,
        opcode: 0,
        remote: { addr: a.mr.addr, rkey: a.mr.rkey },
        sges: [v.sge(a.mr, 0, 8)],
      })
      p.settle()
      expect(statuses(a.sendCq).filter(([wrId]) => wrId === 7n)).toEqual([[7n, 0]])
    },
  )

  it('indexes that are the door’s are written over', () => {
    const p = begin()
    const { a } = p
    v.postSend(a.program, a.qp, { ...ok(p), wrId: 1n })
    a.qp.send.consumer = 12
    a.sendCq.queue.producer = 0x12345678
    v.writeSend(a.qp, { ...ok(p), wrId: 2n })
    a.program.ring(a.qp.handle)
    expect(statuses(a.sendCq)).toEqual([
      [1n, 0],
      [2n, 0],
    ])
    expect(a.qp.send.consumer).toBe(2)
  })

  it('a consumer of a completion queue that runs away loses completions of its program', () => {
    const p = begin({ cqe: 7 })
    const { a } = p
    a.sendCq.queue.consumer = 0xfffffff3
    for (let i = 0; i < 12; i++) {
      v.writeSend(a.qp, ok(p))
      a.program.ring(a.qp.handle)
    }
    a.sendCq.queue.consumer = 0
    expect(v.pollAll(a.sendCq).length).toBeLessThanOrEqual(7)
  })
})

describe('states', () => {
  it('requests that are posted before RTS wait, and go on', () => {
    const p = begin({ connected: false })
    const { a, b } = p
    v.connect(b.program, b.qp, a.qp.number)
    v.writeSend(a.qp, { ...ok(p), wrId: 1n })
    a.program.ring(a.qp.handle)
    v.toInit(a.program, a.qp)
    expect(v.poll(a.sendCq)).toBeNull()
    v.toRts(a.program, a.qp, b.qp.number)
    p.settle()
    expect(statuses(a.sendCq)).toEqual([[1n, 0]])
  })

  it('a doorbell that is trapped has the errno that the kernel has', () => {
    const { a } = begin({ connected: false })
    const post = () => a.program.write(28, v.request(v.words(a.qp.handle, 0, 0, 128)), 4)
    expect(post).toThrow(expect.objectContaining({ errno: 22, reason: expect.stringContaining('RESET') }))
  })

  it('ERR flushes both queues, what was never looked at and what comes later, too', () => {
    const p = begin()
    const { a } = p
    v.postRecv(a.qp.recv, 1n)
    v.postRecv(a.qp.recv, 2n)
    v.modify(a.program, a.qp, 1, { state: 6 })
    p.settle()
    expect(statuses(a.recvCq)).toEqual([
      [1n, 5],
      [2n, 5],
    ])
    v.postRecv(a.qp.recv, 3n)
    v.postSend(a.program, a.qp, { ...ok(p), wrId: 4n, flags: 0 })
    p.settle()
    expect(statuses(a.recvCq)).toEqual([[3n, 5]])
    expect(statuses(a.sendCq)).toEqual([[4n, 5]])
  })

  it('RESET empties both queues without a word; then it begins again', () => {
    const p = begin()
    const { a, b } = p
    for (let i = 0; i < 5; i++) v.postRecv(a.qp.recv, BigInt(i))
    v.postSend(a.program, a.qp, { wrId: 9n, opcode: 2, sges: [v.sge(a.mr, 0, 8)] })
    v.modify(a.program, a.qp, 1, { state: 0 })
    v.modify(b.program, b.qp, 1, { state: 0 })
    p.settle()
    expect([statuses(a.sendCq), statuses(a.recvCq)]).toEqual([[], []])
    expect([a.qp.send.count, a.qp.recv.count]).toEqual([0, 0])
    expect(a.program.read(a.events, 16)).toBeNull()
    v.connect(a.program, a.qp, b.qp.number)
    v.connect(b.program, b.qp, a.qp.number)
    v.postRecv(b.qp.recv, 3n, v.sge(b.mr))
    v.postSend(a.program, a.qp, { wrId: 4n, opcode: 2, sges: [v.sge(a.mr, 0, 8)] })
    expect(statuses(b.recvCq)).toEqual([[3n, 0]])
    expect(statuses(a.sendCq)).toEqual([[4n, 0]])
  })

  it('SQD drains, and says so', () => {
    const p = begin()
    v.modify(p.a.program, p.a.qp, 5, { state: 4, sqdNotify: 1 })
    p.settle()
    expect(p.a.program.read(p.a.events, 16)?.readUInt32LE(8)).toBe(5)
    v.modify(p.a.program, p.a.qp, 1, { state: 3 })
  })

  it('a queue pair with an SRQ says when it has taken its last receive', () => {
    const p = begin({ srqWr: 4 })
    v.modify(p.b.program, p.b.qp, 1, { state: 6 })
    p.settle()
    expect(p.b.program.read(p.b.events, 16)?.readUInt32LE(8)).toBe(16)
  })

  it('destroyed in the middle, it leaves nothing in the completion queues of others', () => {
    const p = begin({ srqWr: 8 })
    const { a, b } = p
    for (let i = 0; i < 4; i++) v.postRecv(b.srq!.queue, BigInt(i), v.sge(b.mr, 0, 8))
    for (let i = 0; i < 6; i++) v.writeSend(a.qp, { opcode: 2, sges: [v.sge(a.mr, 0, 8)] })
    a.program.file.rung()
    v.destroyQp(b.program, b.qp)
    v.destroyQp(a.program, a.qp)
    p.settle()
    const number = b.qp.number
    expect(v.pollAll(b.recvCq).every(({ qpNum, status }) => qpNum === number && status === 0)).toBe(true)
    expect(v.destroyCq(b.program, b.recvCq)).toEqual([0, 0])
    expect(v.destroyCq(a.program, a.sendCq)).toEqual([0, 0])
  })

  it('the end of one program is a retry error of the other', () => {
    const p = begin({ timeout: 1 })
    const { a, b } = p
    b.program.file.closed()
    v.writeSend(a.qp, ok(p))
    a.program.file.rung()
    p.until(() => a.sendCq.queue.count > 0)
    expect(statuses(a.sendCq)).toEqual([[99n, 12]])
  })
})

describe('doorbells', () => {
  it('with many queue pairs the log says which have rung', () => {
    const p = begin({ sendWr: 2, recvWr: 2 })
    const { a } = p
    const qps = Array.from({ length: 12 }, () =>
      v.createQp(a.program, a.pd, a.sendCq, a.recvCq, { sendWr: 2, recvWr: 2 }),
    )
    for (const qp of qps) v.connect(a.program, qp, qp.number)
    for (const qp of [qps[3]!, qps[11]!, qps[3]!]) {
      v.postSend(a.program, qp, {
        wrId: BigInt(qp.number),
        opcode: 0,
        remote: { addr: a.mr.addr, rkey: a.mr.rkey },
        sges: [v.sge(a.mr, 0, 8)],
      })
      expect(statuses(a.sendCq)).toEqual([[BigInt(qp.number), 0]])
    }
    // What is no doorbell makes the door look at all of them.
    v.writeSend(qps[7]!, { ...ok(p), wrId: 2n, remote: { addr: a.mr.addr, rkey: a.mr.rkey } })
    a.program.append(new Uint8Array(32))
    a.program.file.rung()
    p.settle()
    expect(statuses(a.sendCq)).toEqual([[2n, 0]])
    // One that rings for nobody, and a queue without a bell.
    v.writeSend(qps[5]!, {
      wrId: 1n,
      opcode: 0,
      remote: { addr: a.mr.addr, rkey: a.mr.rkey },
      sges: [v.sge(a.mr, 0, 8)],
    })
    a.program.ring(4711)
    expect(statuses(a.sendCq)).toEqual([])
    a.program.ring(qps[5]!.handle)
    expect(statuses(a.sendCq)).toEqual([[1n, 0]])
  })

  it('twenty thousand of them take no more memory than some', () => {
    const p = begin()
    const { a } = p
    for (let i = 0; i < 20_000; i++) {
      v.writeSend(a.qp, { ...ok(p), flags: i % 16 === 15 ? 2 : 0 })
      a.program.ring(a.qp.handle)
      if (i % 16 === 15) v.pollAll(a.sendCq)
    }
    expect(a.program.usedBytes).toBeLessThan(2 ** 19)
  })
})
