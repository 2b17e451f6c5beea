/** Messages of several packets, over a link that loses, repeats and reorders. */
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { abort, RmppReceiver, RmppSender } from '../../src/management/index.ts'
import { Mad, madDataOffset, put32, Rmpp, RmppStatus, RmppType, u32 } from '../../src/wire/index.ts'
import { holds, seeds } from '../property.ts'
import { seededBelow } from '../random.ts'
import { mad } from './node.ts'

const limits = { messages: 4, bytes: 1 << 20 }
const second = 1e9

/** SubnAdmGetTableResp, or what a vendor sends, of so many bytes of data. */
function message(mgmtClass: number, dataBytes: number, transaction: number, random: (n: number) => number): Uint8Array {
  const bytes = new Uint8Array(madDataOffset(mgmtClass) + dataBytes)
  bytes.set(mad(mgmtClass, 0x92, 0x11).subarray(0, madDataOffset(mgmtClass)))
  put32(bytes, Mad.transactionId + 4, transaction)
  bytes[Rmpp.version] = 1
  bytes[Rmpp.flags] = 1
  for (let i = madDataOffset(mgmtClass); i < bytes.length; i++) bytes[i] = random(256)
  return bytes
}

/** Without what RMPP changes in the header. */
function content(bytes: Uint8Array): string {
  const copy = bytes.slice()
  copy.fill(0, Rmpp.version, Rmpp.end)
  return Buffer.from(copy).toString('hex')
}

test('a message arrives whole, once, or its sender knows that it did not', () => {
  let whole = 0
  holds(
    fc.property(
      seeds,
      fc.constantFrom(3, 6, 0x32),
      fc.integer({ min: 0, max: 30_000 }),
      fc.constantFrom(0, 0, 5, 20),
      (seed, mgmtClass, dataBytes, lossPercent) => {
        const random = seededBelow(seed)
        const sent = message(mgmtClass, dataBytes, 7, random)
        const sender = new RmppSender(sent, { timeoutNs: 0, retries: 40 })
        const receiver = new RmppReceiver<string>(limits)
        const arrived: Uint8Array[] = []
        let flying: { toReceiver: boolean; packet: Uint8Array }[] = []
        let now = 0
        const fly = (toReceiver: boolean, packet: Uint8Array): void => {
          if (random(100) < lossPercent) return
          const copies = lossPercent > 0 && random(50) === 0 ? 2 : 1
          for (let i = 0; i < copies; i++) {
            // Some are overtaken.
            const at = lossPercent > 0 && random(20) === 0 ? random(flying.length + 1) : flying.length
            flying = [...flying.slice(0, at), { toReceiver, packet: packet.slice() }, ...flying.slice(at)]
          }
        }
        for (let turn = 0; turn < 20_000 && !sender.done && !sender.failed; turn++) {
          for (let packet = sender.next(now); packet !== null; packet = sender.next(now)) fly(true, packet)
          const next = flying.shift()
          if (next === undefined) {
            now = sender.deadlineNs
            continue
          }
          if (next.toReceiver) {
            const { reply, message: got } = receiver.data(next.packet, 'peer', 'peer', now)
            if (got !== null) arrived.push(got)
            if (reply !== null) fly(false, reply)
          } else if (next.packet[Rmpp.type] === RmppType.ack) expect(sender.answered(next.packet, now)).toBeNull()
        }
        expect(sender.done || sender.failed).toBe(true)
        expect(arrived.length).toBeLessThanOrEqual(1)
        if (sender.done) {
          whole++
          expect(arrived.map(content)).toEqual([content(sent)])
        }
        if (lossPercent === 0) expect(sender.done).toBe(true)
        if (arrived.length === 1) expect(receiver.bytes).toBe(0)
        receiver.expire(now + 100 * second)
        expect([receiver.bytes, receiver.messages]).toEqual([0, 0])
      },
    ),
    60,
  )
  expect(whole).toBeGreaterThan(0)
})

test('any packets: nothing throws, limits hold', () => {
  holds(
    fc.property(seeds, (seed) => {
      const random = seededBelow(seed)
      const receiver = new RmppReceiver<number>({ messages: 3, bytes: 20 * 256 })
      const sender = new RmppSender(message(3, 3000, 1, random), { timeoutNs: 0, retries: 1 })
      for (let i = 0; i < 200; i++) {
        const packet = mad([3, 6, 0x30][random(3)]!, [0x12, 0x92][random(2)]!, 0x11)
        put32(packet, Mad.transactionId, random(5))
        packet[Rmpp.version] = random(20) === 0 ? 2 : 1
        packet[Rmpp.type] = random(5)
        packet[Rmpp.flags] = random(256)
        packet[Rmpp.status] = random(10) === 0 ? 1 : 0
        put32(packet, Rmpp.segment, random(10) === 0 ? 0xffffffff : random(40))
        put32(packet, Rmpp.payloadLength, random(5) === 0 ? 0xffffffff : random(300))
        const { message: got } = receiver.data(packet, `peer${random(3)}`, i, i)
        if (got !== null) expect(got.length).toBeGreaterThanOrEqual(madDataOffset(packet[Mad.mgmtClass]!))
        sender.next(i * second)
        sender.answered(packet, i)
        expect(receiver.messages).toBeLessThanOrEqual(3)
        expect(receiver.bytes).toBeLessThanOrEqual(20 * 256)
      }
    }),
    60,
  )
})

describe('rules', () => {
  const random = seededBelow(1)
  const ackOf = (segment: number, window: number): Uint8Array => {
    const packet = mad(3, 0x12, 0x11)
    packet[Rmpp.version] = 1
    packet[Rmpp.type] = RmppType.ack
    packet[Rmpp.flags] = 1
    put32(packet, Rmpp.segment, segment)
    put32(packet, Rmpp.payloadLength, window)
    return packet
  }
  const drain = (sender: RmppSender, now: number): number[] => {
    const numbers: number[] = []
    for (let p = sender.next(now); p !== null; p = sender.next(now)) numbers.push(u32(p, Rmpp.segment))
    return numbers
  }

  it('sends no more than the window', () => {
    const sender = new RmppSender(message(3, 2000, 1, random), { timeoutNs: second, retries: 1 })
    expect(drain(sender, 0)).toEqual([1])
    expect(sender.answered(ackOf(1, 4), 0)).toBeNull()
    expect(drain(sender, 0)).toEqual([2, 3, 4])
    // The first that was not acknowledged goes again, and what follows.
    expect(drain(sender, second)).toEqual([2, 3, 4])
    expect(sender.answered(ackOf(3, 10), second)).toBeNull()
    expect(drain(sender, second)).toEqual([5, 6, 7, 8, 9, 10])
    expect(sender.answered(ackOf(10, 70), second)).toBeNull()
    expect(sender.done).toBe(true)
  })

  it('gives up after its retries', () => {
    const sender = new RmppSender(message(3, 500, 1, random), { timeoutNs: second, retries: 2 })
    expect([0, 1, 2, 3].map((t) => drain(sender, t * second))).toEqual([[1], [1], [1], []])
    expect(sender.failed).toBe(true)
  })

  it.each([
    ['a window that has ended before', ackOf(3, 2), RmppStatus.windowTooSmall],
    ['a segment that was not sent', ackOf(2, 3), RmppStatus.segmentTooBig],
    ['a status', Object.assign(ackOf(1, 2), { [Rmpp.status]: 1 }), RmppStatus.badStatus],
  ])('fails for an ACK with %s', (_, packet, expected) => {
    const sender = new RmppSender(message(3, 2000, 1, random), { timeoutNs: 0, retries: 1 })
    drain(sender, 0)
    expect([sender.answered(packet, 0), sender.failed]).toEqual([expected, true])
  })

  // IBA 13.6.2.1
  it.each([
    ['another version', Rmpp.version, 2, RmppStatus.unsupportedVersion],
    ['a status', Rmpp.status, 1, RmppStatus.badStatus],
  ])('rejects a packet with %s by an ABORT that says so', (_, at, value, expected) => {
    const sender = new RmppSender(message(3, 2000, 1, random), { timeoutNs: second, retries: 1 })
    const packet = sender.next(0)!.slice()
    packet[at] = value
    const { reply, message: whole } = new RmppReceiver<string>(limits).data(packet, 'a sender', 'a sender', 0)
    expect([reply![Rmpp.type], reply![Rmpp.status], whole]).toEqual([RmppType.abort, expected, null])
  })

  it('ends with an ABORT of the peer', () => {
    const sender = new RmppSender(message(3, 2000, 1, random), { timeoutNs: 0, retries: 1 })
    expect(sender.answered(abort(mad(3, 0x92, 0x11), RmppStatus.resourcesExhausted).reply!, 0)).toBeNull()
    expect(sender.failed).toBe(true)
  })

  it('gives up what rests, and says so to its sender', () => {
    const receiver = new RmppReceiver<string>(limits)
    const sender = new RmppSender(message(3, 2000, 1, random), { timeoutNs: 0, retries: 1 })
    receiver.data(sender.next(0)!, 'a', 'source', 0)
    expect(receiver.expire(39 * second)).toEqual([])
    const [given] = receiver.expire(receiver.deadlineNs)
    expect([given!.source, given!.reply[Rmpp.type], given!.reply[Rmpp.status]]).toEqual([
      'source',
      RmppType.abort,
      RmppStatus.totalTimeTooLong,
    ])
  })
})
