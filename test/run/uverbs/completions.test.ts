/** Completion queues of programs: events, arming, overrun, resizing, and what destroying one reports. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { EventPipe } from '../../../src/run/uverbs/event-pipe.ts'
import { makePair, type Pair, type PairOptions } from './pair.ts'
import * as v from './verbs.ts'

let pair: Pair
const begin = (options: PairOptions = {}): Pair => {
  pair = makePair(options)
  return pair
}
afterEach(() => pair.close())

const writeTo = ({ a, b }: Pair, flags: number = v.signaled): void =>
  v.postSend(a.program, a.qp, {
    ...{ opcode: 0, flags, remote: { addr: b.mr.addr, rkey: b.mr.rkey } },
    sges: [v.sge(a.mr, 0, 8)],
  })
const sendTo = ({ a }: Pair, flags: number = v.signaled): void =>
  v.postSend(a.program, a.qp, { opcode: 2, flags, sges: [v.sge(a.mr, 0, 8)] })
const receives = ({ b }: Pair, count: number): void => {
  for (let i = 0; i < count; i++) v.postRecv(b.qp.recv, BigInt(i), v.sge(b.mr, 0, 8))
}
const eventOf = (program: Pair['a'], length = 8): bigint | undefined =>
  program.program.read(program.channel, length)?.readBigUInt64LE(0)

describe('events of a completion channel', () => {
  it('one for each arming, with the handle that the program gave', () => {
    const p = begin()
    writeTo(p)
    expect(eventOf(p.a)).toBeUndefined()
    v.reqNotify(p.a.program, p.a.sendCq)
    writeTo(p)
    writeTo(p)
    expect(eventOf(p.a)).toBe(p.a.sendCq.user)
    expect(eventOf(p.a)).toBeUndefined()
  })

  it('armed without a look at the table of commands, but for what would fail', () => {
    const { a } = begin()
    const ioctl = vi.spyOn(a.program.file, 'ioctl')
    v.reqNotify(a.program, a.sendCq)
    expect(ioctl).not.toHaveBeenCalled()
    expect(() => v.reqNotify(a.program, { ...a.sendCq, handle: a.qp.handle })).toThrow(
      'is no handle of a completion queue',
    )
    expect(ioctl).toHaveBeenCalledOnce()
  })

  it('one for completions that a program waits for, though it has armed nothing: the call for that may have been interrupted', () => {
    let now = 0
    const p = begin({ now: () => now })
    const waits = vi.spyOn(EventPipe.prototype, 'isAwaited').mockReturnValue(true)
    const passes = (): void => {
      now += 20e6
      p.settle()
    }
    writeTo(p)
    p.settle()
    expect(p.a.program.door.restMs()).toBe(20)
    passes()
    expect(eventOf(p.a)).toBe(p.a.sendCq.user)
    // Once.
    passes()
    expect(eventOf(p.a)).toBeUndefined()
    // None where the program waits for another queue of the channel, has taken them, or does not wait.
    v.reqNotify(p.a.program, p.a.recvCq)
    writeTo(p)
    passes()
    expect(eventOf(p.a)).toBeUndefined()
    v.pollAll(p.a.sendCq)
    writeTo(p)
    v.pollAll(p.a.sendCq)
    passes()
    expect(p.a.program.door.restMs()).toBe(Number.POSITIVE_INFINITY)
    waits.mockRestore()
  })

  it('as soon as it waits, though it did not when it was looked at first, as in the handler of a signal: more and more seldom', () => {
    let now = 0
    const p = begin({ now: () => now })
    const waits = vi.spyOn(EventPipe.prototype, 'isAwaited').mockReturnValue(false)
    const passes = (ms: number): void => {
      now += ms * 1e6
      p.settle()
    }
    writeTo(p)
    for (const ms of [20, 40, 80]) {
      expect(p.a.program.door.restMs()).toBe(ms)
      passes(ms)
      expect(eventOf(p.a)).toBeUndefined()
    }
    waits.mockReturnValue(true)
    passes(159)
    expect(eventOf(p.a)).toBeUndefined()
    passes(1)
    expect(eventOf(p.a)).toBe(p.a.sendCq.user)
    expect(p.a.program.door.restMs()).toBe(Number.POSITIVE_INFINITY)
    // What comes after the program has taken some is looked at as soon as ever.
    waits.mockReturnValue(false)
    writeTo(p)
    for (const ms of [20, 40, 80]) passes(ms)
    v.pollAll(p.a.sendCq)
    writeTo(p)
    expect(p.a.program.door.restMs()).toBe(20)
    waits.mockRestore()
  })

  it('none for completions that were there before', () => {
    const p = begin()
    writeTo(p)
    v.reqNotify(p.a.program, p.a.sendCq)
    expect(eventOf(p.a)).toBeUndefined()
    writeTo(p)
    expect(eventOf(p.a)).toBe(p.a.sendCq.user)
  })

  it('armed for solicited ones: a message that is none makes no event, one that is does', () => {
    const p = begin()
    receives(p, 3)
    v.reqNotify(p.b.program, p.b.recvCq, true)
    sendTo(p)
    expect(eventOf(p.b)).toBeUndefined()
    sendTo(p, v.signaled | v.solicited)
    expect(eventOf(p.b)).toBe(p.b.recvCq.user)
    sendTo(p, v.signaled | v.solicited)
    expect(eventOf(p.b)).toBeUndefined()
    expect(v.pollAll(p.b.recvCq).map(({ flags }) => flags)).toEqual([0, 0, 0])
  })

  it('armed for solicited ones, an error makes an event', () => {
    const p = begin()
    v.reqNotify(p.a.program, p.a.sendCq, true)
    v.modify(p.a.program, p.a.qp, 1, { state: 6 })
    writeTo(p)
    expect(eventOf(p.a)).toBe(p.a.sendCq.user)
  })

  it('armed for the next one, it is not armed for less', () => {
    const p = begin()
    receives(p, 1)
    v.reqNotify(p.b.program, p.b.recvCq)
    v.reqNotify(p.b.program, p.b.recvCq, true)
    sendTo(p)
    expect(eventOf(p.b)).toBe(p.b.recvCq.user)
  })

  it('a request that makes no completion makes no event', () => {
    const p = begin()
    v.reqNotify(p.a.program, p.a.sendCq)
    writeTo(p, 0)
    expect(eventOf(p.a)).toBeUndefined()
  })

  it('more than the pipe holds wait until there is room', () => {
    const p = begin({ cqe: 4 })
    const many = 9000
    for (let i = 0; i < many; i++) {
      v.reqNotify(p.a.program, p.a.sendCq)
      writeTo(p)
      v.pollAll(p.a.sendCq)
    }
    let count = 0
    for (let turn = 0; turn < 3; turn++) {
      while (eventOf(p.a) !== undefined) count++
      p.settle()
    }
    expect(count).toBe(many)
  })
})

describe('destroying', () => {
  it('reports the events that were read, and takes the others back', () => {
    const p = begin()
    const { a } = p
    const other = v.createCq(a.program, 4, a.channel)
    for (let i = 0; i < 3; i++) {
      v.reqNotify(a.program, a.sendCq)
      writeTo(p)
    }
    expect(eventOf(a)).toBe(a.sendCq.user)
    v.destroyQp(a.program, a.qp)
    expect(v.destroyCq(a.program, a.sendCq)).toEqual([1, 0])
    expect(eventOf(a)).toBeUndefined()
    expect(v.destroyCq(a.program, other)).toEqual([0, 0])
  })

  it('leaves the events of other queues on the same channel', () => {
    const p = begin()
    receives(p, 1)
    v.reqNotify(p.b.program, p.b.recvCq)
    sendTo(p)
    v.destroyQp(p.b.program, p.b.qp)
    expect(v.destroyCq(p.b.program, p.b.sendCq)).toEqual([0, 0])
    expect(eventOf(p.b)).toBe(p.b.recvCq.user)
    expect(v.destroyCq(p.b.program, p.b.recvCq)).toEqual([1, 0])
  })

  it('a queue that queue pairs complete to is busy, and keeps its events', () => {
    const p = begin()
    v.reqNotify(p.a.program, p.a.sendCq)
    writeTo(p)
    expect(() => v.destroyCq(p.a.program, p.a.sendCq)).toThrow(expect.objectContaining({ errno: 16 }))
    expect(eventOf(p.a)).toBe(p.a.sendCq.user)
  })
})

describe('a queue that is too small', () => {
  it('overruns: one asynchronous event, and the queue pair is in error', () => {
    const p = begin({ cqe: 3 })
    const { a } = p
    expect(a.sendCq.cqe).toBe(3)
    for (let i = 0; i < 5; i++) writeTo(p)
    const events = [a.program.read(a.events, 16), a.program.read(a.events, 16), a.program.read(a.events, 16)]
    expect(events.map((event) => event?.readUInt32LE(8))).toEqual([0, 1, undefined])
    expect(events[0]!.readBigUInt64LE(0)).toBe(a.sendCq.user)
    expect(v.queryState(a.program, a.qp)).toBe(6)
    expect(v.pollAll(a.sendCq)).toHaveLength(3)
    v.destroyQp(a.program, a.qp)
    expect(v.destroyCq(a.program, a.sendCq)).toEqual([0, 1])
  })

  it('is made larger, and keeps its completions in order', () => {
    const p = begin({ cqe: 3 })
    const { a } = p
    for (let i = 0; i < 2; i++) writeTo(p)
    expect(v.poll(a.sendCq)).not.toBeNull()
    for (let i = 0; i < 2; i++) writeTo(p)
    v.resizeCq(a.program, a.sendCq, 20)
    expect(a.sendCq.cqe).toBe(31)
    expect(a.sendCq.queue.count).toBe(3)
    for (let i = 0; i < 17; i++) writeTo(p)
    expect(v.pollAll(a.sendCq)).toHaveLength(20)
  })

  it('is not made smaller than what is in it', () => {
    const p = begin({ cqe: 15 })
    for (let i = 0; i < 10; i++) writeTo(p)
    expect(() => v.resizeCq(p.a.program, p.a.sendCq, 9)).toThrow(expect.objectContaining({ errno: 22 }))
    v.resizeCq(p.a.program, p.a.sendCq, 10)
    expect(v.pollAll(p.a.sendCq)).toHaveLength(10)
  })
})

describe('before the supervisor sleeps', () => {
  it('the door arms its queues; what comes then is found after it has woken', () => {
    const p = begin()
    const { door } = p.a.program
    p.settle()
    expect(door.arm()).toBe(true)
    expect(door.restMs()).toBe(Number.POSITIVE_INFINITY)
    receives(p, 1)
    p.settle()
    expect(door.arm()).toBe(true)
    sendTo(p)
    expect(v.pollAll(p.b.recvCq)).toHaveLength(1)
    expect(v.pollAll(p.a.sendCq)).toHaveLength(1)
  })

  it('what came meanwhile keeps it awake', () => {
    const p = begin()
    const { door } = p.a.program
    p.settle()
    expect(door.arm()).toBe(true)
    // A request that is executed without a turn of the door.
    v.writeSend(p.a.qp, { opcode: 0, remote: { addr: p.b.mr.addr, rkey: p.b.mr.rkey }, sges: [v.sge(p.a.mr, 0, 8)] })
    p.a.program.file.rung()
    expect(door.arm()).toBe(false)
    expect(v.pollAll(p.a.sendCq)).toHaveLength(1)
  })

  it('with a request that waits for a receive it looks again soon', () => {
    const p = begin()
    sendTo(p)
    expect(p.a.program.door.restMs()).toBeLessThan(10)
  })
})
