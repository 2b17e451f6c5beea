/** Captures without what identifies hosts: the same analysis, other addresses, no payload. */
import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  bytesSource,
  type CapturedPacket,
  LinkType,
  CapturedPacket as Packet,
  PcapngWriter,
} from '../../src/capture/index.ts'
import { Anonymiser, analyseCapture, checkCapture, Dissection, dissect, IcrcState } from '../../src/trace/index.ts'
import { put16, u16, u32, udpChecksum } from '../../src/wire/index.ts'
import { deth, ethernet, globalPacket, infiniBandPacket, reth, roceFrame } from './packets.ts'

const folder = new URL('../captures/', import.meta.url)
const captures = readdirSync(folder).filter((name) => name.endsWith('.pcap'))

function anonymiser(key: string): Anonymiser {
  return new Anonymiser((purpose, input) => createHmac('sha256', key).update(purpose).update(input).digest())
}

function packetOf(frame: Uint8Array, linkType: number = LinkType.Ethernet): Packet {
  return Object.assign(new Packet(), {
    bytes: frame.slice(),
    length: frame.length,
    originalLength: frame.length,
    linkType,
  })
}

/** The frame as it is afterwards; undefined if it is left out. */
function anonymised(frame: Uint8Array, by: Anonymiser, linkType?: number): Uint8Array | undefined {
  const packet = packetOf(frame, linkType)
  const d = new Dissection()
  dissect(packet, d, true)
  return by.apply(packet, d) ? packet.bytes : undefined
}

function dissected(frame: Uint8Array, linkType?: number): Dissection {
  const d = new Dissection()
  dissect(packetOf(frame, linkType), d, true)
  return d
}

const ip = (frame: Uint8Array, at: number): string => [...frame.subarray(at, at + 4)].join('.')

describe('one packet', () => {
  const by = anonymiser('a')

  it('has no ICRC behind an authentication header, over which nobody can compute one', () => {
    const plain = roceFrame({
      opcode: 4,
      payload: new Uint8Array(64).fill(7),
      source: '10.1.2.3',
      destination: '10.1.2.4',
    })
    const header = Uint8Array.of(17, 4, ...new Uint8Array(22))
    const frame = Uint8Array.of(...plain.subarray(0, 34), ...header, ...plain.subarray(34))
    put16(frame, 16, u16(frame, 16) + header.length)
    frame[23] = 51
    expect(dissected(frame)).toMatchObject({ psn: dissected(plain).psn, icrc: IcrcState.Unknown, authenticated: true })
    const after = anonymised(frame, by)!
    expect([...after.subarray(-4)]).toEqual([0, 0, 0, 0])
    expect(frame.subarray(-4).some((byte) => byte !== 0)).toBe(true)
  })

  it('has other addresses, always the same, with a valid ICRC and checksums', () => {
    const frame = roceFrame({
      opcode: 4,
      payload: new Uint8Array(64).fill(7),
      source: '10.1.2.3',
      destination: '10.1.2.4',
    })
    put16(frame, 40, 0x1234)
    const after = anonymised(frame, by)!
    expect(anonymised(frame, by)).toEqual(after)
    expect(anonymised(frame, anonymiser('another key'))).not.toEqual(after)
    expect(ip(after, 26)).not.toBe('10.1.2.3')
    expect(dissected(after)).toMatchObject({ icrc: IcrcState.Valid, problems: 0, psn: 0 })
    expect(after.subarray(54, -4).every((byte) => byte === 0)).toBe(true)
    expect(u16(after, 40)).toBe(udpChecksum(after, 34, after.length, after.subarray(26, 30), after.subarray(30, 34)))
    expect(after[0]! & 3).toBe(2)
  })

  it('shares as many bits of its address with others as before', () => {
    const mapped = ['10.1.2.3', '10.1.2.4', '10.1.200.4', '172.16.0.1'].map((source) => {
      const b = anonymised(roceFrame({ opcode: 4, source }), by)!
      return u32(b, 26)
    })
    const common = (a: number, b: number): number => Math.clz32(a ^ b)
    expect(common(mapped[0]!, mapped[1]!)).toBe(29)
    expect(common(mapped[0]!, mapped[2]!)).toBe(16)
    expect(common(mapped[0]!, mapped[3]!)).toBe(0)
  })

  it('keeps multicast, loopback, link-local prefixes and the default keys', () => {
    for (const [source, kept] of [
      ['224.0.0.9', /^(22[4-9]|23\d)\./],
      ['127.0.0.5', /^127\./],
      ['169.254.1.1', /^169\.254\./],
    ] as const)
      expect(ip(anonymised(roceFrame({ opcode: 4, source }), by)!, 26)).toMatch(kept)
    const v6 = anonymised(roceFrame({ opcode: 4, source: 'fe80::1:2', destination: 'ff0e::5' }), by)!
    expect([...v6.subarray(22, 30)]).toEqual([0xfe, 0x80, 0, 0, 0, 0, 0, 0])
    expect([...v6.subarray(38, 40)]).toEqual([0xff, 0x0e])
    expect(u16(v6, 14 + 40 + 8 + 2)).toBe(0xffff)
  })

  it('an IPv4 address in a GID is the same as in an IP header', () => {
    const inIp = anonymised(roceFrame({ opcode: 4, source: '10.1.2.3' }), by)!
    const inGid = anonymised(ethernet(0x8915, globalPacket({ opcode: 4, source: '::ffff:10.1.2.3' })), by)!
    expect(ip(inGid, 14 + 20)).toBe(ip(inIp, 26))
    expect(dissected(inGid).icrc).toBe(IcrcState.Valid)
  })

  it('moves regions as a whole, and maps keys one to one', () => {
    const write = (va: number, rkey: number): Uint8Array =>
      anonymised(roceFrame({ opcode: 10, payload: 8, extension: reth(va, rkey, 8) }), by)!
    const va = (b: Uint8Array): bigint => new DataView(b.buffer).getBigUint64(54)
    const [a, b, c] = [write(0x10_0123, 77), write(0x20_0456, 77), write(0x10_0123, 78)]
    expect(va(b) - va(a)).toBe(0x10_0333n)
    expect(va(a) & 0xfffn).toBe(0x123n)
    expect(va(a)).not.toBe(va(c))
    expect(u32(a, 62)).toBe(u32(b, 62))
    expect(u32(a, 62)).not.toBe(77)
    const keys = new Set(Array.from({ length: 300 }, (_, key) => u32(write(0, key), 62)))
    expect(keys.size).toBe(300)
  })

  it('a Q_Key is mapped, but not that of QP1', () => {
    const datagram = (qkey: number): number =>
      u32(anonymised(roceFrame({ opcode: 0x64, payload: 8, extension: deth(qkey, 5) }), by)!, 54)
    expect(datagram(0x8001_0000)).toBe(0x8001_0000)
    expect(datagram(0x1111_1111)).not.toBe(0x1111_1111)
  })

  it('InfiniBand: LIDs, ICRC, VCRC', () => {
    for (const global of [false, true]) {
      const frame = infiniBandPacket({ opcode: 4, payload: 16 }, global)
      const after = anonymised(frame, by, LinkType.InfiniBand)!
      expect(u16(after, 2)).not.toBe(u16(frame, 2))
      expect(dissected(after, LinkType.InfiniBand)).toMatchObject({ icrc: IcrcState.Valid, problems: 0 })
    }
  })

  it('an ICRC that was wrong stays wrong', () => {
    const frame = roceFrame({ opcode: 4, payload: 16 })
    frame[frame.length - 1]! ^= 1
    expect(dissected(anonymised(frame, by)!).icrc).toBe(IcrcState.Invalid)
  })

  it('leaves out what it cannot map', () => {
    expect(anonymised(ethernet(0x0806, new Uint8Array(46)), by)).toBeUndefined()
    expect(anonymised(roceFrame({ opcode: 4 }).subarray(14), by, LinkType.LinuxSll)).toBeUndefined()
    const inner = roceFrame({ opcode: 4 })
    const vxlan = new Uint8Array([...roceFrame({ opcode: 4 }).subarray(0, 42), 8, 0, 0, 0, 0, 0, 1, 0, ...inner])
    put16(vxlan, 36, 4789)
    put16(vxlan, 16, vxlan.length - 14)
    put16(vxlan, 38, vxlan.length - 34)
    expect(anonymised(vxlan, by)).toBeUndefined()
  })

  it('any beginning of a packet, and any damage, is no error and shows nothing', () => {
    const frames = [
      roceFrame({ opcode: 10, payload: 32, extension: reth(0x1234, 9, 32), source: '10.99.98.97' }),
      ethernet(0x8915, globalPacket({ opcode: 4, payload: 32, source: '2001:db8::9' })),
    ]
    for (const frame of frames) {
      for (let end = 0; end <= frame.length; end++) {
        const packet = packetOf(frame.slice(0, end))
        packet.originalLength = frame.length
        const d = new Dissection()
        dissect(packet, d, true)
        expect(() => by.apply(packet, d)).not.toThrow()
      }
      for (let at = 0; at < frame.length; at++) expect(() => anonymised(frame.with(at, 255), by)).not.toThrow()
    }
  })
})

describe.each(captures)('%s', (name) => {
  const bytes = new Uint8Array(readFileSync(new URL(name, folder)))

  it('means the same afterwards', async () => {
    const by = anonymiser(name)
    const parts: Uint8Array[] = []
    const writer = new PcapngWriter({ write: (chunk) => void parts.push(chunk.slice()) })
    writer.addInterface()
    const d = new Dissection()
    let leftOut = 0
    const addresses = new Set<string>()
    await bytesSource(bytes).read((packet: CapturedPacket) => {
      const own = packetOf(packet.bytes.slice(packet.offset, packet.offset + packet.length), packet.linkType)
      dissect(own, d, true)
      if (d.kind === 1) addresses.add(ip(own.bytes, d.ip + 12))
      if (by.apply(own, d)) writer.packet(own.bytes, 0, own.length, packet.seconds, packet.nanoseconds)
      else leftOut++
      return undefined
    })
    writer.close()
    const after = Buffer.concat(parts)
    const [before, now] = [await checkCapture(bytesSource(bytes), {}), await checkCapture(bytesSource(after), {})]
    expect([now.icrcValid, now.icrcInvalidCount]).toEqual([before.icrcValid, before.icrcInvalidCount])
    expect(now.packets).toBe(before.packets - leftOut)
    const [was, is] = [await analyseCapture(bytesSource(bytes)), await analyseCapture(bytesSource(after))]
    const sums = ({ conversations }: typeof was) => {
      const directions = conversations.flatMap((one) => one.directions)
      return ['packets', 'bytes', 'retransmissions', 'gaps', 'acks'].map((key) =>
        directions.reduce((sum, one) => sum + (one[key as 'packets'] ?? 0), 0),
      )
    }
    expect(sums(is)).toEqual(sums(was))
    const text = JSON.stringify(is.conversations)
    for (const address of addresses) expect(text).not.toContain(`"${address}"`)
  })
})
