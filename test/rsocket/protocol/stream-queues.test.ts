/** Completion queues that streams share: reservations, completions of closed queue pairs, events. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Context, Opcode, openDevice, QpState, SendFlag, VerbsError } from '../../../src/index.ts'
import { entriesOf } from '../../../src/rsocket/protocol/connection.ts'
import { message, Op } from '../../../src/rsocket/protocol/messages.ts'
import { clampOptions, defaultOptions } from '../../../src/rsocket/protocol/options.ts'
import type { CqPair } from '../../../src/rsocket/protocol/stream-queues.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { sweepNow } from '../../../src/verbs/provider/reclaim.ts'
import { deadAttachment } from '../../transport/mortal.ts'
import { connectEnds, type End, makeEnd, makeShared, type Shared, settle } from './pair.ts'

const { Cq } = layout
const options = clampOptions({ ...defaultOptions, sqSize: 16, rqSize: 16 })
const entries = entriesOf(options)

let context: Context
let near: Shared
let far: Shared

beforeEach(() => {
  context = openDevice('shm0')
  near = makeShared(context)
  far = makeShared(context)
})
afterEach(() => {
  vi.restoreAllMocks()
  near.close()
  far.close()
  context.close()
})

const reclaim = (): void => sweepNow(context.device.host)

interface Joined {
  from: End
  to: End
}

/** Connected streams from one thread to another, which receives all of them in its queues. */
function streams(count: number): Joined[] {
  return Array.from({ length: count }, () => {
    const [from, to] = [makeEnd(context, options, far), makeEnd(context, options, near)]
    connectEnds(from, to)
    return { from, to }
  })
}

function close(...joined: Joined[]): void {
  for (const { from, to } of joined) {
    from.close()
    to.close()
  }
}

const pairOf = ({ to }: Joined): CqPair | undefined =>
  near.queues.pairs.find(({ recvCq }) => recvCq === to.connection.qp.recvCq)

test('pairs of queues grow with the streams, and those that no stream uses are closed', () => {
  const all = streams(20)
  expect(near.queues.pairs.map(({ size }) => size.sends / entries.sends)).toEqual([1, 1, 2, 4, 8, 16])
  expect(near.queues.pairs.map(({ size }) => size.receives / entries.receives)).toEqual([1, 1, 2, 4, 8, 16])
  close(...all.splice(1))
  reclaim()
  near.queues.trim()
  expect(near.queues.pairs).toHaveLength(1)
  close(...all)
})

test('a pair has room for what streams have reserved, and not for one entry more', () => {
  const { queues } = near
  expect(() => queues.reserve({ sends: context.device.attr.maxCqe + 1, receives: 1 })).toThrow(VerbsError)
  const sizes = { sends: 100, receives: 10 }
  const first = queues.reserve(sizes)
  expect(first.sendCq.cqe).toBe(100)
  expect(queues.reserve(sizes)).not.toBe(first)
  const shared = queues.reserve(sizes)
  expect(shared.sendCq.cqe).toBe(200)
  expect(queues.reserve(sizes)).toBe(shared)
  expect(queues.reserve({ sends: 1, receives: 1 })).not.toBe(shared)
  queues.cancel(shared, { sends: 60, receives: 10 })
  expect(queues.reserve({ sends: 61, receives: 10 })).not.toBe(shared)
  expect(queues.reserve({ sends: 60, receives: 10 })).toBe(shared)
})

test('a stream takes its own messages, whoever polls, in their order', () => {
  const all = streams(4)
  const [one, other] = all.slice(2) as [Joined, Joined]
  expect(pairOf(one)).toBe(pairOf(other))
  const got: string[] = []
  other.to.connection.owner = {
    receivedMeanwhile: () => got.push('received'),
    sentMeanwhile: () => got.push('sent'),
  }
  for (const byte of [1, 2, 3]) {
    other.from.connection.send(Uint8Array.of(byte), 0, 1)
    one.from.connection.send(Uint8Array.of(byte + 100), 0, 1)
  }
  expect(one.to.connection.process()).toBe(3)
  expect(got).toEqual(['received', 'received', 'received'])
  expect(other.to.connection.readableBytes).toBe(0)
  expect(other.to.connection.hasNews).toBe(true)
  expect(other.to.connection.processReady()).toBe(3)
  expect(other.to.connection.hasNews).toBe(false)
  const into = new Uint8Array(3)
  for (const [{ to }, bytes] of [
    [one, [101, 102, 103]],
    [other, [1, 2, 3]],
  ] as const) {
    expect(to.connection.recv(into, 0, 3)).toBe(3)
    expect([...into]).toEqual(bytes)
  }
  close(...all)
})

test('a failure is taken by the stream that it is of, whoever polls', () => {
  const all = streams(4)
  const [one, other] = all.slice(2) as [Joined, Joined]
  const sent = vi.fn()
  other.to.connection.owner = { receivedMeanwhile: vi.fn(), sentMeanwhile: sent }
  other.from.connection.send(Uint8Array.of(7), 0, 1)
  other.to.connection.qp.modify({ state: QpState.Err })
  one.to.connection.process()
  expect(one.to.connection.open).toBe(true)
  expect(other.to.connection.failing).toBe(true)
  other.to.connection.processReady()
  expect(other.to.connection.open).toBe(false)
  // What came before the failure is there.
  expect(other.to.connection.readableBytes).toBe(1)
  close(...all)
})

test('completions of a closed queue pair are passed over, and take their entries until it is reclaimed and they are polled', () => {
  const all = streams(4)
  const [one, other] = all.slice(2) as [Joined, Joined]
  const pair = pairOf(one)!
  for (let i = 0; i < 10; i++) one.from.connection.send(Uint8Array.of(i), 0, 1)
  other.from.connection.send(Uint8Array.of(9), 0, 1)
  // A thread in the middle of an operation: nothing is reclaimed.
  const { segment } = context.device.host
  segment.enter()
  const { qp } = one.to.connection
  qp.discard()
  near.queues.end(pair, entries, qp)
  near.queues.trim()
  expect(pair.hasRoom(entries)).toBe(false)
  expect(pair.filled).toBe(true)
  segment.leave()
  reclaim()
  const next = near.queues.reserve(entries)
  expect(next).toBe(pair)
  // All entries that it may fill are free.
  expect(pair.filled).toBe(false)
  near.queues.cancel(next, entries)
  expect(other.to.connection.processReady()).toBe(1)
  one.from.close()
  one.to.memory.close()
  close(...all.filter((joined) => joined !== one))
})

test('peers that send all that fits, and more, fill the queues of a pair to its end, and overrun none', () => {
  const alone = streams(4)
  const all = streams(4)
  const [first] = all as [Joined]
  const before = context.counters().cq_overruns!
  const posted = { opcode: Opcode.WriteWithImm, sendFlags: SendFlag.Signaled, sgList: [] } as const
  // Messages beyond the credits, which are not valid either.
  for (const { from, to } of all)
    for (let i = 0; i < entries.receives; i++) {
      const remote = { remoteAddr: to.memory.receiveBuffer, rkey: to.memory.remote.rkey }
      from.connection.qp.postSend({ wrId: i, immData: message(Op.Control, 5), ...remote, ...posted })
      from.connection.qp.sendCq.poll([], 0)
      from.connection.reap()
    }
  expect(context.counters().cq_overruns).toBe(before)
  // One stream is served: then the others have their messages, and theirs are no longer in the queue.
  first.to.connection.process()
  expect(pairOf(first)!.recvCq.filled).toBe(false)
  for (const { to } of all) {
    to.connection.processReady()
    expect(to.connection).toMatchObject({ open: false, error: 104 })
  }
  close(...alone, ...all)
})

test('the completion of a sender that was killed before it could count it is not overwritten by the next sender', () => {
  const all = streams(4)
  const [one, other] = all.slice(2) as [Joined, Joined]
  const { host } = context.device
  const cq = host.cqWord(pairOf(one)!.recvCq.slot)
  for (const { from } of [one, other]) for (let i = 0; i < 3; i++) from.connection.send(Uint8Array.of(0), 0, 1)
  for (const { to } of [one, other]) to.connection.process()
  one.from.connection.send(Uint8Array.of(1), 0, 1)
  host.i32[cq + Cq.head] = host.i32[cq + Cq.head]! - 1
  host.i32[cq + Cq.lock] = deadAttachment
  other.from.connection.send(Uint8Array.of(2), 0, 1)
  expect(host.i32[cq + Cq.lock]).toBe(0)
  one.to.connection.process()
  other.to.connection.process()
  expect([one, other].map(({ to }) => to.connection.readableBytes)).toEqual([4, 4])
  close(...all)
})

test('a pair for one stream takes a smaller one when it is unused, and no second: that would wait for a grace period', () => {
  makeEnd(context, defaultOptions, near).close()
  reclaim()
  const quiesce = vi.spyOn(context.device.host.segment, 'quiesce')
  const ends = Array.from({ length: 4 }, () => makeEnd(context, options, near))
  expect(quiesce).not.toHaveBeenCalled()
  const [first, ...others] = ends.map(({ connection }) => connection.qp.recvCq)
  expect(near.queues.pairs[0]!.recvCq).toBe(first)
  expect(others).not.toContain(first)
  for (const end of ends) end.close()
})

test('no grace period passes when a second stream comes to a pair, or one goes', () => {
  const quiesce = vi.spyOn(context.device.host.segment, 'quiesce')
  const all = streams(4)
  expect(quiesce).not.toHaveBeenCalled()
  for (const { to } of all.slice(3)) {
    to.connection.qp.discard()
    near.queues.end(pairOf(all[3]!)!, entries, to.connection.qp)
  }
  expect(quiesce).not.toHaveBeenCalled()
  all[3]!.from.close()
  all[3]!.to.memory.close()
  settle(...all.slice(0, 3).flatMap(({ from, to }) => [from, to]))
  close(...all.slice(0, 3))
})
