/** Private data and entries: every value survives, every garbage has a reason, and librdmacm's bytes are understood. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bufferBytes,
  type ConnData,
  connDataBytes,
  decodeConnData,
  encodeConnData,
  iomapSizeFromByte,
  iomapSizeToByte,
} from '../../../src/rsocket/protocol/conn-data.ts'
import {
  message,
  messageOp,
  messageValue,
  Op,
  sgeAddr,
  swap32,
  writeSge,
} from '../../../src/rsocket/protocol/messages.ts'
import { isMalformed, parsePacket, type RocePacket } from '../../../src/wire/index.ts'
import { holds } from '../../property.ts'
import { packetsOf, placesOf } from '../../wire/captures.ts'

const key = fc.integer({ min: 0, max: 0xffffffff })
const addr = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const connData: fc.Arbitrary<ConnData> = fc.record({
  bigEndian: fc.boolean(),
  iomapSize: fc.constantFrom(-1, 0, 1, 128, 256, 127 << 8),
  credits: fc.integer({ min: 1, max: 0xffff }),
  targetSgl: fc.record({ addr, key, length: fc.integer({ min: 2, max: 4096 }) }),
  dataBuffer: fc.record({ addr, key, length: fc.integer({ min: 1, max: 1 << 20 }) }),
  extension: fc.option(
    fc.record({ features: fc.integer({ min: 0, max: 255 }), moreBuffers: fc.integer({ min: 0, max: 255 }) }),
  ),
})

describe('private data', () => {
  test('what is encoded is decoded', () => {
    holds(
      fc.property(connData, (data) => {
        expect(decodeConnData(encodeConnData(data))).toEqual(data)
      }),
    )
  })

  test('any bytes are decoded or refused with a reason, and the same bytes come back', () => {
    holds(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 60 }), (bytes) => {
        if (bytes.length > 0) bytes[0] = bytes[0]! & 3
        const data = decodeConnData(bytes)
        if (typeof data === 'string') {
          expect(['short', 'version', 'credits', 'target sgl', 'data buffer']).toContain(data)
          return
        }
        expect(bufferBytes(data)).toBeLessThanOrEqual(0x20000000)
        expect(decodeConnData(encodeConnData(data))).toEqual(data)
      }),
      2000,
    )
  })

  test('each refusal has its reason', () => {
    const good = encodeConnData({
      bigEndian: false,
      iomapSize: 0,
      credits: 384,
      targetSgl: { addr: 4096, key: 1, length: 2 },
      dataBuffer: { addr: 8192, key: 2, length: 65536 },
      extension: null,
    })
    const changed = (at: number, ...bytes: number[]): Uint8Array => {
      const copy = good.slice()
      copy.set(bytes, at)
      return copy
    }
    expect(decodeConnData(good.subarray(0, 39))).toBe('short')
    expect(decodeConnData(changed(0, 2))).toBe('version')
    expect(decodeConnData(changed(2, 0, 0))).toBe('credits')
    expect(decodeConnData(changed(23, 1))).toBe('target sgl')
    expect(decodeConnData(changed(8, 0xff))).toBe('target sgl')
    expect(decodeConnData(changed(36, 0, 0, 0, 0))).toBe('data buffer')
    expect(decodeConnData(changed(36, 0x40))).toBe('data buffer')
    expect(decodeConnData(changed(24, 0xff))).toBe('data buffer')
  })

  test('sizes of iomaps as librdmacm scales them', () => {
    for (const [size, byte] of [
      [0, 0],
      [100, 100],
      [128, 128],
      [256, 129],
      [1024, 132],
    ] as const) {
      expect(iomapSizeToByte(size)).toBe(byte)
      expect(iomapSizeFromByte(byte)).toBe(size === 128 ? 128 : size)
    }
  })
})

describe('messages', () => {
  test('operation and value', () => {
    holds(
      fc.property(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 0x1fffffff }), (op, value) => {
        const immediate = message(op, value)
        expect([messageOp(immediate), messageValue(immediate)]).toEqual([op, value])
      }),
    )
  })

  test('entries, in both byte orders', () => {
    const words = new Int32Array(4)
    const view = new DataView(words.buffer)
    holds(
      fc.property(addr, key, key, fc.boolean(), (address, rkey, length, swap) => {
        writeSge(words, 0, address, rkey, length, swap)
        // The tests run on little-endian hosts.
        const at = (byte: number): number => view.getUint32(byte, !swap)
        const [high, low] = swap ? [at(0), at(4)] : [at(4), at(0)]
        expect([high * 2 ** 32 + low, at(8), at(12)]).toEqual([address, rkey, length])
        if (!swap) expect(sgeAddr(words, 0)).toBe(address)
        expect(swap32(swap32(rkey))).toBe(rkey)
      }),
    )
  })
})

/** The rsocket connection in the capture: private data of both ends, and the messages each end sent. */
function rstream(): { privateData: Uint8Array[]; messages: RocePacket[][] } {
  const privateData: Uint8Array[] = []
  const messages: RocePacket[][] = [[], []]
  for (const { frame } of packetsOf('rstream.pcap')) {
    const { ip, bth, icrc } = placesOf(frame)
    const packet = parsePacket(frame, bth, icrc)
    if (isMalformed(packet)) throw new Error('a bad packet in the capture')
    const attribute = packet.deth ? (packet.payload[16]! << 8) | packet.payload[17]! : 0
    // REQ: private data of 92 bytes, the header of the RDMA CM before the program's. REP: 196 bytes.
    if (attribute === 0x10) privateData[0] = packet.payload.slice(24 + 140 + 36, 24 + 140 + 92)
    if (attribute === 0x13) privateData[1] = packet.payload.slice(24 + 36)
    // The client is 10.77.0.3.
    if (packet.immDt) messages[frame[ip + 15] === 3 ? 0 : 1]!.push(packet)
  }
  return { privateData, messages }
}

describe('the capture of rstream', () => {
  const { privateData, messages } = rstream()
  const [client, server] = privateData.map((bytes) => decodeConnData(bytes)) as [ConnData, ConnData]

  test('private data of librdmacm, to the byte', () => {
    expect(client).toMatchInlineSnapshot(`
      {
        "bigEndian": false,
        "credits": 384,
        "dataBuffer": {
          "addr": 139997801037824,
          "key": 5072,
          "length": 524288,
        },
        "extension": null,
        "iomapSize": 0,
        "targetSgl": {
          "addr": 94328886951936,
          "key": 4756,
          "length": 2,
        },
      }
    `)
    for (const [i, data] of [client, server].entries()) {
      const bytes = privateData[i]!.subarray(0, connDataBytes)
      expect(Buffer.from(encodeConnData(data)).toString('hex')).toBe(Buffer.from(bytes).toString('hex'))
      expect(privateData[i]!.subarray(connDataBytes).every((byte) => byte === 0)).toBe(true)
    }
  })

  test('all data lies where the buffers that were offered say', () => {
    const ends = [client, server]
    const offers: { addr: number; length: number }[][] = [[], []]
    const operations = new Set<number>()
    for (const i of [0, 1]) {
      // What this end was offered: the first buffer, and what the other end wrote into its target SGL.
      offers[i]!.push({ ...ends[1 - i]!.dataBuffer })
      for (const { immDt, reth, payload } of messages[1 - i]!) {
        if (messageOp(immDt!.data) !== Op.Sgl || payload.length === 0) continue
        const words = new Int32Array(payload.slice().buffer)
        offers[i]!.push({ addr: sgeAddr(words, 0), length: words[3]! })
        const entry = (Number(reth!.va) - ends[i]!.targetSgl.addr) / 16
        expect(entry).toBe((offers[i]!.length - 1) % ends[i]!.targetSgl.length)
        expect(reth!.rkey).toBe(ends[i]!.targetSgl.key)
        expect(words[2]! >>> 0).toBe(ends[1 - i]!.dataBuffer.key)
        expect(words[3]).toBe(ends[1 - i]!.dataBuffer.length)
      }
      let sent = 0
      const parts = offers[i]!
      for (const { immDt, reth, payload } of messages[i]!) {
        operations.add(messageOp(immDt!.data))
        if (messageOp(immDt!.data) !== Op.Data) continue
        if (parts[0]!.length === 0) parts.shift()
        expect(messageValue(immDt!.data)).toBe(reth!.dmaLength)
        expect(Number(reth!.va)).toBe(parts[0]!.addr)
        expect(payload.length).toBe(Math.min(reth!.dmaLength, 4096))
        parts[0]!.addr += reth!.dmaLength
        parts[0]!.length -= reth!.dmaLength
        sent += reth!.dmaLength
      }
      expect(sent).toBeGreaterThan(80_000)
    }
    expect([...operations].sort()).toEqual([Op.Data, Op.Sgl, Op.Control])
    // The last message of the end that closes first.
    const last = messages.map((list) => list.at(-1)!.immDt!.data)
    expect(last).toContain(message(Op.Control, 0))
  })
})
