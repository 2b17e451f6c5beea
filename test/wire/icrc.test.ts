import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  emitFrame,
  emitPacket,
  frameLength,
  type GrhFields,
  grhCodec,
  IcrcFlow,
  icrcMatches,
  icrcOf,
  icrcOfGlobalPacket,
  icrcOfLocalPacket,
  icrcOfRoceV2,
  isMalformed,
  Layers,
  locateEthernet,
  locateLrh,
  lrhCodec,
  packetLength,
  parseFrame,
  put16,
  u16,
  u32,
  u32le,
  vcrc,
  WireError,
} from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { anyFrame, anyPacket, bytes, uint } from './arbitraries.ts'

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ''), 'hex'))

/** CRC-32 as the standard writes it: bit by bit, over a list of bytes. */
function slowCrc(data: readonly number[]): number {
  let r = 0xffffffff
  for (const byte of data)
    for (let bit = 0; bit < 8; bit++) {
      const feedback = (r ^ (byte >>> bit)) & 1
      r = (r >>> 1) ^ (feedback ? 0xedb88320 : 0)
    }
  return ~r >>> 0
}

/** The ICRC of RoCEv2 over IPv4 as annex A17 describes it, from the fields. */
function slowIcrc4(source: Uint8Array, destination: Uint8Array, port: number, id: number, p: Uint8Array): number {
  const udp = p.length + 12
  const ip = udp + 20
  const header = [0x45, 0xff, ip >> 8, ip & 255, id >> 8, id & 255, 0x40, 0, 0xff, 17, 0xff, 0xff]
  return slowCrc([...ones(8), ...header, ...source, ...destination, ...slowUdp(port, udp), ...slowBth(p)])
}

function slowIcrc6(source: Uint8Array, destination: Uint8Array, port: number, p: Uint8Array): number {
  const udp = p.length + 12
  const header = [0x6f, 0xff, 0xff, 0xff, udp >> 8, udp & 255, 17, 0xff]
  return slowCrc([...ones(8), ...header, ...source, ...destination, ...slowUdp(port, udp), ...slowBth(p)])
}

const ones = (count: number): number[] => new Array<number>(count).fill(0xff)
const slowUdp = (port: number, length: number): number[] => [
  port >> 8,
  port & 255,
  4791 >> 8,
  4791 & 255,
  length >> 8,
  length & 255,
  0xff,
  0xff,
]
const slowBth = (p: Uint8Array): number[] => [...p].map((byte, at) => (at === 4 ? 0xff : byte))

const lengths = fc.oneof(
  fc.integer({ min: 12, max: 320 }),
  fc.constantFrom(12, 16, 255, 256, 263, 264, 268, 1040, 4112, 4124),
)
const packets = lengths.chain(bytes)

describe('IcrcFlow', () => {
  const title = 'agrees with the standard computed bit by bit, over IPv4'
  test(title, () => {
    holds(
      fc.property(fc.tuple(bytes(4), bytes(4), uint(16), uint(16), packets), ([from, to, port, id, p]) => {
        const flow = new IcrcFlow(from, to, port)
        expect(flow.compute(p, 0, p.length, id)).toBe(slowIcrc4(from, to, port, id, p))
        expect(flow.compute(p, 0, p.length)).toBe(slowIcrc4(from, to, port, 0, p))
      }),
      300,
    )
  })

  const title6 = 'agrees with the standard computed bit by bit, over IPv6'
  test(title6, () => {
    holds(
      fc.property(fc.tuple(bytes(16), bytes(16), uint(16), packets), ([from, to, port, p]) => {
        const flow = new IcrcFlow(from, to, port)
        expect(flow.compute(p, 0, p.length)).toBe(slowIcrc6(from, to, port, p))
      }),
      300,
    )
  })

  const recover = 'finds the identification that the sender used, wherever the packet lies'
  test(recover, () => {
    const values = fc.tuple(bytes(4), bytes(4), uint(16), uint(16), uint(6), packets)
    holds(
      fc.property(values, ([from, to, port, id, offset, p]) => {
        const flow = new IcrcFlow(from, to, port)
        const b = new Uint8Array(offset + p.length + 4)
        b.set(p, offset)
        flow.write(b, offset, offset + p.length, id)
        expect(flow.check(b, offset, offset + p.length)).toBe(id)
      }),
      300,
    )
  })

  // IBA CA17-24
  test('every identification, for one packet', () => {
    const flow = new IcrcFlow(Uint8Array.of(10, 0, 0, 1), Uint8Array.of(10, 0, 0, 2), 0xc000)
    const b = new Uint8Array(28)
    for (let id = 0; id < 65536; id++) {
      flow.write(b, 0, 24, id)
      if (flow.check(b, 0, 24) !== id) expect(flow.check(b, 0, 24)).toBe(id)
    }
  })

  test('of all four-byte differences, those of the identifications are found and no others', () => {
    const flow = new IcrcFlow(Uint8Array.of(10, 0, 0, 1), Uint8Array.of(10, 0, 0, 2), 0xc000)
    const b = new Uint8Array(64)
    const right = flow.compute(b, 0, 60)
    const wanted = new Set<number>()
    for (let id = 0; id < 65536; id++) wanted.add((flow.compute(b, 0, 60, id) ^ right) >>> 0)
    expect(wanted.size).toBe(65536)
    let found = 0
    // Steps that are no power of two, through all 32 bits.
    for (let difference = 1; difference < 2 ** 32; difference += 65537 * 3 + 2) {
      const icrc = (right ^ difference) >>> 0
      for (let i = 0; i < 4; i++) b[60 + i] = icrc >>> (8 * i)
      const accepted = flow.check(b, 0, 60) >= 0
      if (accepted) found++
      if (accepted !== wanted.has(difference)) expect(accepted).toBe(wanted.has(difference))
    }
    expect(found).toBeLessThan(10)
  })

  test.each([12, 24, 64, 1040, 4112])(
    'no single bit of a packet of %i bytes looks like an identification',
    (length) => {
      const flow = new IcrcFlow(Uint8Array.of(10, 0, 0, 1), Uint8Array.of(10, 0, 0, 2), 0xc000)
      const b = Uint8Array.from({ length: length + 4 }, (_, i) => i * 7)
      flow.write(b, 0, length, 5)
      for (let at = 0; at < b.length; at++)
        for (let bit = 0; bit < 8; bit++) {
          b[at]! ^= 1 << bit
          const found = flow.check(b, 0, length)
          // Byte 4 of the BTH is not covered.
          if (found !== (at === 4 ? 5 : -1)) expect(found, `byte ${at}, bit ${bit}`).toBe(-1)
          b[at]! ^= 1 << bit
        }
    },
  )

  test('over IPv6 there is nothing to find: any damage is seen', () => {
    const flow = new IcrcFlow(new Uint8Array(16).fill(1), new Uint8Array(16).fill(2), 0xc000)
    const b = new Uint8Array(64)
    flow.write(b, 0, 60)
    expect(flow.check(b, 0, 60)).toBe(0)
    for (let at = 0; at < 64; at++)
      for (let bit = 0; bit < 8; bit++) {
        b[at]! ^= 1 << bit
        expect(flow.check(b, 0, 60)).toBe(at === 4 ? 0 : -1)
        b[at]! ^= 1 << bit
      }
  })

  test('packets that are too short for a BTH, or empty, give a number and no exception', () => {
    const flow = new IcrcFlow(Uint8Array.of(10, 0, 0, 1), Uint8Array.of(10, 0, 0, 2), 0xc000)
    for (let length = 0; length < 12; length++) {
      const b = new Uint8Array(length + 4)
      flow.write(b, 0, length, 0x1234)
      expect(flow.check(b, 0, length)).toBe(0x1234)
      expect(flow.check(new Uint8Array(length), 0, length)).toBeGreaterThanOrEqual(-1)
    }
  })

  test('addresses of other lengths are refused', () => {
    expect(() => new IcrcFlow(new Uint8Array(4), new Uint8Array(16), 1)).toThrow(WireError)
    expect(() => new IcrcFlow(new Uint8Array(5), new Uint8Array(5), 1)).toThrow(/4 or 16 bytes/)
  })

  const shared = 'memory that threads share gives the same'
  test(shared, () => {
    holds(
      fc.property(packets, (p) => {
        const flow = new IcrcFlow(Uint8Array.of(10, 0, 0, 1), Uint8Array.of(10, 0, 0, 2), 0xc000)
        const copy = new Uint8Array(new SharedArrayBuffer(p.length + 4))
        copy.set(p)
        expect(flow.compute(copy, 0, p.length)).toBe(flow.compute(p, 0, p.length))
      }),
      300,
    )
  })
})

describe('without zlib.crc32', () => {
  afterEach(() => {
    vi.doUnmock('node:zlib')
    vi.resetModules()
  })

  test('the tables do all the work, with the same result', async () => {
    vi.resetModules()
    vi.doMock('node:zlib', () => ({ default: {}, crc32: undefined }))
    const { crcUpdate: slow, crcByTables } = await import('../../src/wire/crc32.ts')
    vi.doUnmock('node:zlib')
    vi.resetModules()
    const { crcUpdate: fast } = await import('../../src/wire/crc32.ts')
    const b = Uint8Array.from({ length: 5000 }, (_, i) => (i * 31) >> 2)
    for (const length of [0, 1, 100, 255, 256, 257, 1024, 4096, 4999]) {
      expect(slow(-1, b, 1, 1 + length)).toBe(fast(-1, b, 1, 1 + length))
      expect(crcByTables(-1, b, 1, 1 + length)).toBe(fast(-1, b, 1, 1 + length))
      expect(~fast(-1, b, 1, 1 + length) >>> 0).toBe(slowCrc([...b.subarray(1, 1 + length)]))
    }
  })
})

describe('published vectors', () => {
  // What scapy's tests of its RoCE layer expect (test/contrib/roce.uts of secdev/scapy).
  // IBA CA17-22
  test('an UC SEND of 22 bytes', () => {
    const frame = hex(`
      248a07a8fa22 248a07a8fa22 0800  45 01 0040 0478 4000 40 11 b4d5 c0a80007 c0a80007  c000 12b7 002c aca2
      24 60 ffff 00 0000d3 00 cf1710  463081 8be28935d90e9a95505401be885e500000 00000000`)
    // The packet of that test is made of its fields; the last four bytes are where the ICRC goes.
    const layers = new Layers()
    expect(locateEthernet(frame, 0, frame.length, layers)).toBeUndefined()
    expect(u32(frame, layers.bth + 8)).toBe(13571856)
    frame.set(hex('78f353f3'), layers.icrc)
    expect(icrcMatches(frame, layers)).toBe(true)
    const flow = new IcrcFlow(frame.slice(26, 30), frame.slice(30, 34), 49152)
    expect(flow.check(frame, layers.bth, layers.icrc)).toBe(1144)
  })

  test('a CNP of a ConnectX-4 Lx', () => {
    const frame = hex(`
      e41d2dab2bc2 7cfe90643b32 0800  45c2 003c 718c 4000 4011 9161 0a001101 0a001201  0000 12b7 0028 0000
      8100 ffff 4000 0118 0000 0000  0000 0000 0000 0000 0000 0000 0000 0000  82fd002a`)
    const layers = new Layers()
    expect(locateEthernet(frame, 0, frame.length, layers)).toBeUndefined()
    expect(icrcMatches(frame, layers)).toBe(true)
    const parsed = parseFrame(frame, 0, frame.length)
    if (isMalformed(parsed)) throw new Error(parsed)
    expect(parsed.packet.bth).toMatchObject({ opcode: 0x81, becn: true, fecn: false, destQp: 0x118, psn: 0 })
    const out = new Uint8Array(frameLength(parsed))
    emitFrame(parsed, out, 0)
    expect(out).toEqual(frame)
  })

  test('a local InfiniBand packet with its ICRC, from the sources of a packet library of Mellanox', () => {
    const packet = hex(`
      7012375c000e17d2 0a2024870087b1b3000dec2a 01710a1c015d4002 38f27a05 0000000e
      bb884d85fd5cfba4728bc0690ed40000 9625b75a`)
    expect(icrcOfLocalPacket(packet, 0, packet.length - 4)).toBe(u32le(packet, packet.length - 4))
    const layers = new Layers()
    expect(locateLrh(packet, 0, packet.length, layers)).toBeUndefined()
    expect(layers).toMatchObject({ lrh: 0, grh: -1, bth: 8, icrc: packet.length - 4 })
    expect(icrcMatches(packet, layers)).toBe(true)
    // A switch may change the virtual lane and the reserved byte of the BTH, and nothing else.
    packet[0] = 0x20
    packet[12] = 0x55
    expect(icrcMatches(packet, layers)).toBe(true)
    packet[3]! ^= 1
    expect(icrcMatches(packet, layers)).toBe(false)
  })
})

describe('ICRC of whole frames', () => {
  const whole = 'a frame has the ICRC that its flow computes, whatever routers change'
  test(whole, () => {
    holds(
      fc.property(fc.tuple(anyFrame, uint(8), uint(8)), ([frame, tos, ttl]) => {
        if (frame.ipv4) frame.ipv4.dontFragment = true
        const b = new Uint8Array(frameLength(frame))
        emitFrame(frame, b, 0)
        const layers = new Layers()
        expect(locateEthernet(b, 0, b.length, layers)).toBeUndefined()
        const { ip, udp, bth, icrc } = layers
        const [from, to] = frame.ipv4
          ? [frame.ipv4.source, frame.ipv4.destination]
          : [frame.ipv6!.source, frame.ipv6!.destination]
        const flow = new IcrcFlow(from, to, frame.sourcePort)
        expect(flow.check(b, bth, icrc)).toBe(frame.ipv4?.identification ?? 0)
        if (frame.ipv4) {
          b[ip + 1] = tos
          b[ip + 8] = ttl
          put16(b, ip + 10, tos * ttl)
        } else {
          b[ip] = 0x60 | (tos >> 4)
          b[ip + 1] = tos
          b[ip + 7] = ttl
        }
        put16(b, udp + 6, ttl)
        b[bth + 4] = tos
        expect(icrcMatches(b, layers)).toBe(true)
        b[ip + 12]! ^= 1
        expect(icrcMatches(b, layers)).toBe(false)
      }),
      300,
    )
  })

  const global = 'RoCEv1 and global InfiniBand packets: the GRH counts but for what routers change'
  test(global, () => {
    holds(
      fc.property(fc.tuple(anyPacket, bytes(16), bytes(16), uint(8)), ([packet, sgid, dgid, tclass]) => {
        const length = packetLength(packet)
        const b = new Uint8Array(14 + 40 + length + 4)
        const grh: GrhFields = {
          trafficClass: 0,
          flowLabel: 0,
          payloadLength: length + 4,
          nextHeader: 0x1b,
          hopLimit: 64,
          sgid,
          dgid,
        }
        put16(b, 12, 0x8915)
        emitPacket(packet, b, grhCodec.emit(grh, b, 14))
        const end = b.length - 4
        const masked = [...ones(8), 0x6f, 0xff, 0xff, 0xff, ...b.subarray(18, 21), 0xff, ...sgid, ...dgid]
        const icrc = icrcOfGlobalPacket(b, 14, end)
        expect(icrc).toBe(slowCrc([...masked, ...slowBth(b.subarray(54, end))]))
        const layers = new Layers()
        expect(locateEthernet(b, 0, b.length, layers)).toBeUndefined()
        expect(layers).toMatchObject({ ip: -1, grh: 14, bth: 54, icrc: end })
        grhCodec.emit({ ...grh, trafficClass: tclass, flowLabel: tclass * 99, hopLimit: tclass }, b, 14)
        expect(icrcOf(b, layers)).toBe(icrc)
      }),
      300,
    )
  })

  test('IPv4 options and IPv6 extension headers are skipped and counted', () => {
    const flow = hex('45000000 00000000 40110000 0a000001 0a000002')
    const packet = hex('0460ffff 00000011 80000001')
    const withOptions = [...flow.with(0, 0x47), ...hex('01010101 01010100'), ...hex('c000 12b7 0018 0000'), ...packet]
    const b = Uint8Array.from([...withOptions, 0, 0, 0, 0])
    put16(b, 2, b.length)
    const masked = [...withOptions]
    for (const at of [1, 8, 10, 11, 34, 35, 40]) masked[at] = 0xff
    masked[3] = b.length
    expect(icrcOfRoceV2(b, 0, 36, 48)).toBe(slowCrc([...ones(8), ...masked]))
    expect(u16(b, 2)).toBe(52)
  })
})

describe('VCRC', () => {
  test('by its table of bytes: the entries of known implementations', () => {
    // table[v] of the reflected polynomial is what one byte does to an empty register.
    const one = (byte: number): number => ~vcrc(Uint8Array.of(byte ^ 0xff), 0, 1) & 0xffff
    expect(one(0x00) ^ one(0x01)).toBe(0x1ba1)
    expect(one(0x00) ^ one(0x80)).toBe(0xd008)
    expect(one(0x00) ^ one(0xff)).toBe(0x0960)
  })

  test('agrees with the polynomial computed bit by bit', () => {
    const slow = (data: Uint8Array): number => {
      let r = 0xffff
      for (const byte of data) for (let bit = 0; bit < 8; bit++) r = (r >>> 1) ^ ((r ^ (byte >>> bit)) & 1 ? 0xd008 : 0)
      return ~r & 0xffff
    }
    holds(
      fc.property(fc.uint8Array({ maxLength: 80 }), (data) => {
        expect(vcrc(data, 0, data.length)).toBe(slow(data))
      }),
      300,
    )
  })

  test('an LRH says where the packet ends; a VCRC behind it does not matter', () => {
    const b = new Uint8Array(8 + 12 + 4 + 2)
    lrhCodec.emit({ virtualLane: 1, serviceLevel: 2, next: 2, dlid: 3, packetLength: 6, slid: 4 }, b, 0)
    b.set(hex('0460ffff 00000011 80000001'), 8)
    const layers = new Layers()
    expect(locateLrh(b, 0, b.length, layers)).toBeUndefined()
    expect(layers).toMatchObject({ bth: 8, icrc: 20 })
    expect(locateLrh(b, 0, 23, layers)).toBe('linkLength')
  })
})
