import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type Context,
  Opcode,
  openDevice,
  type ProtectionDomain,
  SendFlag,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { message, Op } from '../../../src/rsocket/protocol/messages.ts'
import { clampOptions, defaultOptions } from '../../../src/rsocket/protocol/options.ts'
import { StreamArena } from '../../../src/rsocket/protocol/stream-arena.ts'
import { StreamMemory } from '../../../src/rsocket/protocol/stream-memory.ts'
import { sweepNow } from '../../../src/verbs/provider/reclaim.ts'
import { connectEnds, type End, makeEnd, makePair, makeShared } from './pair.ts'

let context: Context
let pd: ProtectionDomain
let arena: StreamArena
const options = clampOptions(defaultOptions)

beforeEach(() => {
  context = openDevice('shm0')
  pd = context.allocPd()
  arena = new StreamArena(pd)
})
afterEach(() => {
  arena.close()
  pd.close()
  context.close()
})

const reclaim = (): void => sweepNow(context.device.host)

test('many streams have few regions to send from, and each one that its peer writes to', () => {
  const all = Array.from({ length: 40 }, () => new StreamMemory(arena, options))
  expect(new Set(all.map(({ local }) => local)).size).toBeLessThan(15)
  expect(new Set(all.map(({ remote }) => remote.rkey)).size).toBe(40)
  // No two share a byte.
  const places = all.map(({ u8 }) => [u8.byteOffset, u8.byteOffset + u8.byteLength] as const).sort(([a], [b]) => a - b)
  for (let i = 1; i < places.length; i++) expect(places[i]![0]).toBeGreaterThanOrEqual(places[i - 1]![1])
  for (const { u8, remote, targetSgl, outgoing, sendBuffer } of all) {
    expect(remote.addr).toBe(targetSgl)
    expect(remote.addr + remote.length).toBeLessThanOrEqual(u8.byteOffset + u8.byteLength)
    expect(remote.addr).toBeGreaterThan(Math.max(outgoing, sendBuffer))
  }
  for (const one of all) one.close()
})

test('memory is given to the next stream when nothing can write to it any more, not before, and with a new key', () => {
  const first = new StreamMemory(arena, options)
  const { base } = first
  const { rkey } = first.remote
  first.i32.fill(-1)
  const other = context.device.host.segment
  // A thread in the middle of an operation.
  other.enter()
  first.close()
  const second = new StreamMemory(arena, options)
  expect(second.base).not.toBe(base)
  other.leave()
  reclaim()
  const third = new StreamMemory(arena, options)
  expect(third.base).toBe(base)
  expect(third.remote.rkey).not.toBe(rkey)
  // What the peer writes is not there yet.
  const at = (third.targetSgl - base) >> 2
  expect(third.i32.subarray(at, (third.receiveBuffer - base) >> 2).every((word) => word === 0)).toBe(true)
  second.close()
  third.close()
})

test('memory of many streams that have ended is freed, and that of a few kept', () => {
  const all = Array.from({ length: 40 }, () => new StreamMemory(arena, options))
  const { segment } = context.device.host
  const held = (): number =>
    [...new Set(all.map(({ local }) => local))].reduce((sum, { addr }) => sum + segment.allocatedBytes(addr), 0)
  const before = held()
  for (const one of all) one.close()
  reclaim()
  // The next to come or go finds what has cooled.
  new StreamMemory(arena, options).close()
  reclaim()
  expect(before).toBeGreaterThan(24 << 20)
  expect(all.filter(({ local }) => !local.closed).length).toBeLessThan(20)
  expect(all.some(({ local }) => !local.closed)).toBe(true)
})

test('without memory for a slab of many there is one of few', () => {
  const alloc = context.alloc.bind(context)
  const first = new StreamMemory(arena, options)
  const more = [new StreamMemory(arena, options), new StreamMemory(arena, options)]
  const most = first.u8.byteLength
  const asked: number[] = []
  context.alloc = (bytes) => {
    asked.push(bytes / most)
    if (bytes > most) throw new Error('no more')
    return alloc(bytes)
  }
  more.push(new StreamMemory(arena, options), new StreamMemory(arena, options))
  expect(asked.at(-1)).toBe(1)
  expect(asked[0]).toBeGreaterThan(1)
  for (const one of [first, ...more]) one.close()
})

test.each(['remote', 'local'] as const)(
  'the buffers of another stream cannot be written with the %s key of this one, nor what is not for the peer with its own',
  (kind) => {
    for (const place of ['receiveBuffer', 'targetSgl', 'sendBuffer', 'own'] as const) {
      const pair = makePair()
      const { memory, connection } = pair.a
      const victim = new StreamMemory(pair.b.memory.arena, options)
      const whole = place === 'own' ? pair.b.memory : victim
      const before = whole.u8.slice()
      memory.u8.fill(0xee, memory.sendOffset, memory.sendOffset + 64)
      connection.qp.postSend({
        wrId: 1,
        opcode: Opcode.Write,
        sendFlags: SendFlag.Signaled,
        remoteAddr: place === 'own' ? pair.b.memory.sendBuffer : victim[place],
        rkey: pair.b.memory[kind].rkey,
        sgList: [{ addr: memory.sendBuffer, length: 64, lkey: memory.local.lkey }],
      })
      const completions = workCompletions(1)
      for (let i = 0; connection.qp.sendCq.poll(completions) === 0; i++) expect(i).toBeLessThan(1000)
      expect(completions[0]!.status).toBe(WcStatus.RemAccessErr)
      expect(Buffer.compare(whole.u8, before)).toBe(0)
      victim.close()
      pair.close()
    }
  },
)

test.each(['said goodbye', 'was torn down'])(
  'data that a peer announces and has not written are zeros, and not what a stream before had that %s',
  (end) => {
    const threads = [makeShared(context), makeShared(context)]
    const connected = () => {
      const [from, to] = threads.map((one) => makeEnd(context, {}, one)) as [End, End]
      connectEnds(from, to)
      return { from, to }
    }
    const first = connected()
    const secret = new Uint8Array(1000).fill(0x5e)
    expect(first.from.connection.send(secret, 0, secret.length)).toBe(1000)
    first.to.connection.process()
    expect(first.to.connection.recv(new Uint8Array(10), 0, 10)).toBe(10)
    if (end === 'said goodbye') {
      first.from.connection.disconnect()
      first.to.connection.process()
      expect(first.to.connection.open).toBe(false)
    }
    const { base } = first.to.memory
    first.from.close()
    first.to.close()
    reclaim()

    const second = connected()
    const { from, to } = second
    expect(to.memory.base).toBe(base)
    from.connection.qp.postSend({
      wrId: 1,
      opcode: Opcode.WriteWithImm,
      sendFlags: SendFlag.Signaled,
      immData: message(Op.Data, 500),
      remoteAddr: to.memory.receiveBuffer + 5000,
      rkey: to.memory.remote.rkey,
      sgList: [{ addr: from.memory.sendBuffer, length: 500, lkey: from.memory.local.lkey }],
    })
    for (let i = 0; to.connection.process() === 0; i++) expect(i).toBeLessThan(1000)
    const into = new Uint8Array(500).fill(1)
    expect(to.connection.recv(into, 0, into.length)).toBe(500)
    expect(into).toEqual(new Uint8Array(500))
    from.close()
    to.close()
    for (const one of threads) one.close()
  },
)

test('what a stream has left behind the end of a shorter one in the same chunk is zeros, too, for the one after that', () => {
  const sized = (receiveBufferBytes: number) =>
    new StreamMemory(
      arena,
      clampOptions({ ...defaultOptions, sendBufferBytes: 8192, receiveBufferBytes, receiveBufferTimes: 1 }),
    )
  const first = sized(10_240)
  const { base, receiveOffset, receiveBytes } = first
  first.u8.fill(0x5e, receiveOffset, receiveOffset + receiveBytes)
  first.close()
  reclaim()
  const shorter = sized(8192)
  expect(shorter.base).toBe(base)
  shorter.close(0)
  reclaim()
  const third = sized(10_240)
  expect(third.base).toBe(base)
  expect(third.u8.subarray(receiveOffset, receiveOffset + receiveBytes).every((byte) => byte === 0)).toBe(true)
  third.close()
})
