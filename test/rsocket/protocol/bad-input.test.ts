/** A peer that breaks the protocol ends its own connection: with a counter and words, and nothing else. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Opcode, SendFlag, WcStatus, workCompletions } from '../../../src/index.ts'
import { protocolErrors, rsocketProtocolErrors } from '../../../src/rsocket/protocol/counters.ts'
import { Errno } from '../../../src/rsocket/protocol/errno.ts'
import { Control, message, Op, writeSge } from '../../../src/rsocket/protocol/messages.ts'
import { makePair, type Pair, settle } from './pair.ts'

let pair: Pair
let before: Record<string, number>
/** Where the peer may write, as it was told: the first half of the receive buffer, and entry 1 of the target SGL. */
let theirs: Pair['a']['mine']

beforeEach(() => {
  pair = makePair({ extensions: false, iomapSize: 2 })
  settle(pair.a, pair.b)
  before = rsocketProtocolErrors()
  theirs = pair.a.mine
})

afterEach(() => {
  pair.close()
})

/** End b, gone bad, writes `bytes` of its memory with an immediate. */
function write(immediate: number, length = 0, remoteAddr = theirs.dataBuffer.addr): void {
  const { connection, memory } = pair.b
  connection.qp.postSend({
    wrId: 0,
    opcode: Opcode.WriteWithImm,
    sendFlags: SendFlag.Signaled,
    immData: immediate,
    remoteAddr,
    rkey: theirs.dataBuffer.key,
    sgList: length > 0 ? [{ addr: memory.sendBuffer, length, lkey: memory.local.lkey }] : [],
  })
  pair.a.connection.process()
}

/** Writes an entry into a's target SGL and says so. */
function offer(addr: number, key: number, length: number, entry = 0, granted = 384): void {
  const { memory } = pair.b
  writeSge(memory.i32, memory.sendOffset >> 2, addr, key, length, false)
  write(message(Op.Sgl, granted), 16, theirs.targetSgl.addr + entry * 16)
}

function expectEnd(name: keyof typeof protocolErrors): void {
  const { connection } = pair.a
  expect(connection.open).toBe(false)
  expect(connection.error).toBe(Errno.ECONNRESET)
  expect(connection.reason).toBe(`${protocolErrors[name]} (${name})`)
  const after = rsocketProtocolErrors()
  expect(after).toEqual({ ...before, [name]: before[name]! + 1 })
  // The peer is told, and nothing more is sent or taken.
  pair.b.connection.process()
  expect(pair.b.connection.open).toBe(false)
  expect(connection.send(new Uint8Array(10), 0, 10)).toBe(0)
}

describe('immediates', () => {
  test.each([1, 2, 3, 5])('operation %i', (op) => {
    write(message(op, 1), 1)
    expectEnd('badImmediate')
  })
  test('a length that is not what was written', () => {
    write(message(Op.Data, 100), 99)
    expectEnd('badImmediate')
  })
  test('no data', () => {
    write(message(Op.Data, 0))
    expectEnd('emptyData')
  })
  test('an unknown control message', () => {
    write(message(Op.Control, 3))
    expectEnd('badControl')
  })
  test('a SEND', () => {
    const { connection, memory } = pair.b
    connection.qp.postSend({
      wrId: 0,
      opcode: Opcode.SendWithImm,
      sendFlags: SendFlag.Signaled,
      immData: 1,
      sgList: [{ addr: memory.sendBuffer, length: 0, lkey: memory.local.lkey }],
    })
    pair.a.connection.process()
    expectEnd('badReceive')
  })
  test('an entry of the iomap that is not there', () => {
    write(message(Op.Iomap, 2), 24, theirs.targetSgl.addr)
    expectEnd('badIomap')
  })
})

describe('buffers and credits', () => {
  test('more data than was offered', () => {
    write(message(Op.Data, 65536), 65536)
    write(message(Op.Data, 65536), 65536)
    expect(pair.a.connection.open).toBe(true)
    write(message(Op.Data, 1), 1)
    expectEnd('dataOverrun')
    // What had come can still be read, and no more.
    expect(pair.a.connection.readableBytes).toBe(131072)
  })
  test('data after a shutdown', () => {
    write(message(Op.Control, Control.Shutdown))
    expect(pair.a.connection.open).toBe(true)
    write(message(Op.Data, 1), 1)
    expectEnd('dataAfterShutdown')
  })
  test.each([
    ['before the buffer', -1, 16],
    ['beyond it', 131072 - 8, 16],
    ['longer than it', 0, 131073],
  ])('a buffer that begins or ends %s', (_, from, length) => {
    // The second half was offered when the connection began; now the first again, or so it seems.
    offer(pair.b.mine.dataBuffer.addr + from, pair.b.mine.dataBuffer.key, length)
    // Entry 0 is not the one that is next: it is looked at when its turn has come.
    expect(pair.a.connection.open).toBe(true)
    for (let i = 2; i < 16 && pair.a.connection.open; i++)
      offer(pair.b.mine.dataBuffer.addr + from, pair.b.mine.dataBuffer.key, length, i)
    expectEnd('badSgl')
  })
  test('a buffer with another key', () => {
    offer(pair.b.mine.dataBuffer.addr, pair.b.mine.dataBuffer.key ^ 1, 65536, 2)
    expectEnd('badSgl')
  })
  test('a buffer at an address that no number can hold', () => {
    offer(2 ** 60, pair.b.mine.dataBuffer.key, 65536, 2)
    expectEnd('badSgl')
  })
  test('a buffer that has not been filled is offered again', () => {
    offer(pair.b.mine.dataBuffer.addr, pair.b.mine.dataBuffer.key, 65536, 2)
    expectEnd('sglOverflow')
  })
  test('buffers of a byte, more than there are entries', () => {
    const { addr, key } = pair.b.mine.dataBuffer
    // Both halves are filled, so that there is something to offer again.
    expect(pair.a.connection.send(new Uint8Array(131072), 0, 131072)).toBe(131072)
    for (let i = 0; i < 32 && pair.a.connection.open; i++) offer(addr + 4 * i, key, 1, (2 + i) % 16)
    expectEnd('sglOverflow')
  })
  test('credits that the receive queue has no places for', () => {
    write(message(Op.Sgl, 385))
    expectEnd('creditOverflow')
  })
  test('credits that are taken back', () => {
    write(message(Op.Sgl, 383))
    expectEnd('creditUnderflow')
  })
  test('credits of more bits than two 16-bit numbers have', () => {
    write(message(Op.Sgl, 0x20000 + 384))
    expectEnd('badImmediate')
  })
  test('more messages than there were credits for', () => {
    // The receive queue has more places, for control messages; and nothing is granted while nobody looks.
    const { qp } = pair.b.connection
    const { sendBuffer, local } = pair.b.memory
    const completions = workCompletions(1)
    for (let i = 0; i < 385; i++) {
      qp.postSend({
        wrId: 0,
        opcode: Opcode.WriteWithImm,
        sendFlags: SendFlag.Signaled,
        immData: message(Op.Data, 1),
        remoteAddr: theirs.dataBuffer.addr,
        rkey: theirs.dataBuffer.key,
        sgList: [{ addr: sendBuffer, length: 1, lkey: local.lkey }],
      })
      while (qp.sendCq.poll(completions) > 0) expect(completions[0]!.status).toBe(WcStatus.Success)
    }
    pair.a.connection.process()
    expectEnd('creditOverrun')
    expect(pair.a.connection.readableBytes).toBe(384)
  })
})

test('addresses outside of what was registered are refused by the adapter', () => {
  write(message(Op.Data, 1), 1, theirs.targetSgl.addr - 64)
  settle(pair.a, pair.b)
  expect(pair.b.connection.error).not.toBe(0)
  expect(rsocketProtocolErrors()).toEqual(before)
})
