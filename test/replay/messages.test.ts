/** Messages of captures: what they are, what they waited for, and what cannot be known. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesSource, PcapWriter } from '../../src/capture/index.ts'
import { readMessages, replayPackets } from '../../src/replay/index.ts'
import { parseFilter } from '../../src/trace/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { aeth, roceFrame } from '../trace/packets.ts'

const bytesOf = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`../captures/${name}.pcap`, import.meta.url)))
const messagesOf = (name: string) => readMessages(bytesSource(bytesOf(name)))

/** The packets for which the filter is true. */
async function part(name: string, filter: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  const writer = new PcapWriter({ write: (bytes) => void parts.push(bytes.slice()) })
  await replayPackets(bytesSource(bytesOf(name)), { filter: parseFilter(filter) }, (packet) => {
    const { bytes, offset, length, seconds, nanoseconds } = packet
    writer.packet(bytes, offset, length, seconds, nanoseconds)
  })
  writer.close()
  return new Uint8Array(Buffer.concat(parts))
}

describe('captures of Soft-RoCE', () => {
  it.each([
    ['rc_pingpong_mtu1024', 'RC', 'send', 40, 10_000],
    ['uc_pingpong', 'UC', 'send', 20, 6000],
    ['ud_pingpong', 'UD', 'send', 40, 1024],
    ['write_bw', 'RC', 'write', 20, 8192],
    ['read_lat', 'RC', 'read', 10, 5000],
    ['atomic_lat', 'RC', 'fetch_add', 10, 8],
  ] as const)('%s: as its programs were told', async (name, type, op, count, bytes) => {
    const { connections, messages, gaps } = await messagesOf(name)
    expect(connections.map((one) => [one.type, one.oneSided])).toEqual([[type, false]])
    expect(messages).toHaveLength(count)
    expect(messages.every((message) => message.op === op && message.bytes === bytes)).toBe(true)
    expect(gaps).toMatchObject({ damagedPackets: 0, incomplete: 0, otherServices: 0, rejected: 0, beyond: 0 })
    if (type === 'RC') expect(messages.every(({ endNs, doneNs }) => doneNs !== null && doneNs >= endNs)).toBe(true)
  })

  it('with losses, each message counts once', async () => {
    const { messages, gaps } = await messagesOf('rc_pingpong_loss3')
    expect(messages).toHaveLength(60)
    expect(messages.every(({ bytes }) => bytes === 10_000)).toBe(true)
    expect(gaps.retransmissions).toBeGreaterThan(0)
  })

  it('a ping-pong: each message waits for the one before, which the other end sent', async () => {
    const { messages } = await messagesOf('ud_pingpong')
    for (const [i, { from, after, wait }] of messages.entries())
      expect([from, after, wait]).toEqual(i === 0 ? [0, null, null] : [i & 1, i - 1, 'received'])
  })

  it('rping: READs and WRITEs wait for SENDs, and SENDs for their completion', async () => {
    const { messages } = await messagesOf('rping')
    const [first, read, ready, again, write] = messages
    expect(first).toMatchObject({ op: 'send', from: 0, after: null })
    expect(read).toMatchObject({ op: 'read', from: 1, after: 0, wait: 'received', bytes: 100 })
    expect(ready).toMatchObject({ op: 'send', from: 1, after: 1, wait: 'completed' })
    expect(again).toMatchObject({ op: 'send', from: 0, after: 2, wait: 'received' })
    expect(write).toMatchObject({ op: 'write', from: 1, bytes: 100 })
    for (const { after, wait, atNs, thinkNs } of messages) {
      if (after === null) continue
      const cause = messages[after]!
      const happened = { received: cause.endNs, completed: cause.doneNs!, sent: cause.atNs }[wait!]
      expect(happened + thinkNs).toBe(atNs)
    }
  })
})

describe('what is not there', () => {
  it('one direction only: completions are not known', async () => {
    const bytes = await part('rc_pingpong_mtu1024', 'dst == 10.77.0.2')
    const { connections, messages } = await readMessages(bytesSource(bytes))
    expect(connections).toMatchObject([{ oneSided: true }])
    expect(messages).toHaveLength(20)
    expect(messages.every(({ doneNs, bytes: length }) => doneNs === null && length === 10_000)).toBe(true)
  })

  it('messages without their first or last packet are counted', async () => {
    const bytes = await part('rc_pingpong_mtu1024', 'not (number > 3 and number < 13) and number < 60')
    const { messages, gaps } = await readMessages(bytesSource(bytes))
    expect(gaps.incomplete).toBeGreaterThan(0)
    expect(messages.every(({ bytes: length }) => length === 10_000)).toBe(true)
  })

  it('packets between the first and the last may be missing', async () => {
    const frame = (opcode: number, psn: number, payload: number) => roceFrame({ opcode, psn, payload, ackReq: true })
    const ends = { source: '10.0.0.2', destination: '10.0.0.1' }
    const frames = [
      frame(WireOpcode.RcSendFirst, 5, 1024),
      frame(WireOpcode.RcSendLast, 8, 100),
      roceFrame({ opcode: WireOpcode.RcAck, psn: 8, extension: aeth(0x1f, 1), ...ends }),
      roceFrame({ opcode: WireOpcode.RcAck, psn: 9, extension: aeth(0x62, 1), ...ends }),
    ]
    const parts: Uint8Array[] = []
    const writer = new PcapWriter({ write: (bytes) => void parts.push(bytes.slice()) })
    for (const [i, bytes] of frames.entries()) writer.packet(bytes, 0, bytes.length, 1, 1000 * i)
    writer.close()
    const { messages, gaps } = await readMessages(bytesSource(Buffer.concat(parts)))
    expect(messages).toMatchObject([{ op: 'send', bytes: 3 * 1024 + 100, atNs: 0, endNs: 1000, doneNs: 2000 }])
    expect(gaps.rejected).toBe(1)
  })

  it('random damage never throws', async () => {
    const file = bytesOf('rping')
    const changes = fc.array(fc.tuple(fc.nat(60_000), fc.nat(255)), { minLength: 1, maxLength: 100 })
    await holds(
      fc.asyncProperty(changes, async (list) => {
        const damaged = file.slice()
        for (const [at, value] of list) damaged[24 + (at % (damaged.length - 24))] = value
        const { messages, connections } = await readMessages(bytesSource(damaged))
        for (const { connection, after, id } of messages) {
          expect(connection).toBeLessThan(connections.length)
          expect(after ?? -1).toBeLessThan(id)
        }
      }),
      50,
    )
  })
})
