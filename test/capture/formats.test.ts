import { readdirSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesSource, LinkType, PcapngWriter, PcapWriter } from '../../src/capture/index.ts'
import { fileSource, streamSource } from '../../src/files/index.ts'
import { holds } from '../property.ts'
import { block, concat, memorySink, readBytes, sectionHeader, words } from './files.ts'

const captures = new URL('../captures/', import.meta.url)

const packetArbitrary = fc.record({
  // A cut packet is told from one with a damaged length by what follows; of an empty one, or of one a day later, nothing
  // could be told.
  bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
  seconds: fc.integer({ min: 1_700_000_000, max: 1_700_080_000 }),
  nanoseconds: fc.integer({ min: 0, max: 999_999_999 }),
  cut: fc.integer({ min: 0, max: 5000 }),
})

describe('pcap', () => {
  it('reads back what it wrote, in both byte orders and resolutions, whatever the pieces', () => {
    holds(
      fc.property(
        fc.array(packetArbitrary, { maxLength: 20 }),
        fc.boolean(),
        fc.boolean(),
        fc.constantFrom(LinkType.Ethernet, LinkType.LinuxSll, LinkType.Raw, LinkType.Null, LinkType.InfiniBand),
        fc.integer({ min: 1, max: 700 }),
        (packets, littleEndian, nanoseconds, linkType, step) => {
          const sink = memorySink()
          const writer = new PcapWriter(sink, { littleEndian, nanoseconds, linkType })
          for (const p of packets)
            writer.packet(p.bytes, 0, p.bytes.length, p.seconds, p.nanoseconds, p.bytes.length + p.cut)
          writer.close()
          const read = readBytes(sink.bytes(), step, 64)
          expect(read.damage).toEqual([])
          expect(read.format).toBe('pcap')
          expect(read.parser.littleEndian).toBe(littleEndian)
          expect(read.packets.map(({ fileOffset, ...rest }) => rest)).toEqual(
            packets.map((p, i) => ({
              number: i + 1,
              bytes: p.bytes,
              originalLength: p.bytes.length + p.cut,
              seconds: p.seconds,
              nanoseconds: nanoseconds ? p.nanoseconds : p.nanoseconds - (p.nanoseconds % 1000),
              hasTime: true,
              linkType,
              interfaceId: 0,
            })),
          )
        },
      ),
    )
  })

  it('cuts at the snap length', () => {
    const sink = memorySink()
    const writer = new PcapWriter(sink, { snapLength: 10 })
    writer.packet(new Uint8Array(30).fill(7), 0, 30, 1, 2)
    writer.close()
    expect(readBytes(sink.bytes()).packets).toMatchObject([{ bytes: new Uint8Array(10).fill(7), originalLength: 30 }])
  })

  it('reads the longer record headers of patched libpcaps', () => {
    const record = (fill: number) => concat([words([9, 5, 4, 4, 0, 0]), new Uint8Array(4).fill(fill)])
    const file = concat([words([0xa1b2cd34, 0x00040002, 0, 0, 65535, 1]), record(1), record(2)])
    const { packets, damage } = readBytes(file)
    expect(damage).toEqual([])
    expect(packets.map(({ bytes, nanoseconds }) => [bytes[0], nanoseconds])).toEqual([
      [1, 5000],
      [2, 5000],
    ])
  })

  it('goes on with the packets of files that were joined', () => {
    const file = (littleEndian: boolean, nanoseconds: boolean, linkType: number, fill: number): Uint8Array => {
      const sink = memorySink()
      const writer = new PcapWriter(sink, { littleEndian, nanoseconds, linkType })
      for (let i = 0; i < 3; i++) writer.packet(new Uint8Array(40).fill(fill), 0, 40, 1_000_000_000 * fill, 1000 * i)
      writer.close()
      return sink.bytes()
    }
    const files = [file(true, false, 1, 1), file(true, true, 1, 2), file(false, false, 101, 1), file(true, false, 1, 2)]
    for (const step of [undefined, 7]) {
      const { packets, damage, interfaces } = readBytes(concat(files), step)
      expect(
        packets.map(({ bytes, seconds, nanoseconds, linkType, interfaceId }) => [
          bytes[0],
          seconds,
          nanoseconds,
          linkType,
          interfaceId,
        ]),
      ).toEqual(
        [1, 2, 1, 2].flatMap((fill, i) =>
          [0, 1000, 2000].map((ns) => [fill, 1_000_000_000 * fill, ns, i === 2 ? 101 : 1, i]),
        ),
      )
      expect(damage.map(({ offset, packet }) => [offset, packet])).toEqual(
        [1, 2, 3].map((n) => [n * files[0]!.length, 3 * n + 1]),
      )
      expect(damage[0]!.what).toBe('the header of another pcap file: its packets follow')
      expect(interfaces.map(({ linkType }) => linkType)).toEqual([1, 1, 101, 1])
    }
    // Damage before the second header does not hide it.
    const { packets } = readBytes(concat([files[0]!, new Uint8Array(33).fill(0xee), files[1]!]))
    expect(packets.length).toBe(6)
  })

  it('does not believe the time of a record behind which nothing fits', () => {
    const sink = memorySink()
    const writer = new PcapWriter(sink)
    for (let i = 0; i < 3; i++) writer.packet(new Uint8Array(60), 0, 60, 1_700_000_000, i)
    writer.close()
    // A whole record of another time, then bytes that are none.
    const strange = concat([words([2_700_000_000, 5, 8, 8]), new Uint8Array(8), new Uint8Array(21).fill(0xff)])
    expect(readBytes(concat([sink.bytes(), strange, sink.bytes().subarray(24)])).packets.length).toBe(7)
  })

  it('ignores what stands above the link type', () => {
    const { packets } = readBytes(
      concat([words([0xa1b2c3d4, 0x00040002, 0, 0, 65535, 0x24000001]), words([1, 2, 4, 4, 0])]),
    )
    expect(packets[0]!.linkType).toBe(LinkType.Ethernet)
  })
})

describe('pcapng', () => {
  it('reads back several interfaces with link types, names, resolutions and offsets of their own', () => {
    const interfaces = fc.array(
      fc.record({
        linkType: fc.constantFrom(LinkType.Ethernet, LinkType.LinuxSll2, LinkType.Raw, LinkType.Null),
        name: fc.string({ maxLength: 12, unit: 'grapheme' }),
        // Units of 10^-n, or 2^-n with 128 added.
        resolution: fc.constantFrom(0, 3, 6, 9, 12, 128 + 10, 128 + 30, 128 + 32),
        offsetSeconds: fc.constantFrom(0, 1_000_000_000, -86_400),
      }),
      { minLength: 1, maxLength: 4 },
    )
    const chosen = fc.array(fc.tuple(packetArbitrary, fc.nat(), fc.boolean()), { maxLength: 20 })
    holds(
      fc.property(
        interfaces,
        chosen,
        fc.boolean(),
        fc.integer({ min: 1, max: 700 }),
        (given, packets, little, step) => {
          const sink = memorySink()
          const writer = new PcapngWriter(sink, { littleEndian: little, application: 'a test', comment: 'ü' })
          for (const options of given) writer.addInterface(options)
          const expected = packets.map(([p, choice, noted], i) => {
            const interfaceId = choice % given.length
            const { resolution, linkType, offsetSeconds } = given[interfaceId]!
            // Time stamps count up from the offset.
            const from = Math.max(0, offsetSeconds)
            // 64 bits of picoseconds are 213 days.
            const seconds = from + (resolution === 12 ? p.seconds % 10_000_000 : p.seconds % 3_000_000_000)
            writer.packet(
              p.bytes,
              0,
              p.bytes.length,
              seconds,
              p.nanoseconds,
              p.bytes.length + p.cut,
              interfaceId,
              noted ? { comment: 'c'.repeat(i), direction: 'outbound', dropCount: i } : undefined,
            )
            return { resolution, offsetSeconds, linkType, interfaceId, seconds, p, number: i + 1 }
          })
          writer.close()
          const read = readBytes(sink.bytes(), step, 64)
          expect(read.damage).toEqual([])
          expect(read.interfaces.map(({ name, linkType }) => ({ name, linkType }))).toEqual(
            given.map(({ name, linkType }) => ({ name, linkType })),
          )
          expect(read.packets.length).toBe(packets.length)
          for (const [i, packet] of read.packets.entries()) {
            const { p, seconds, linkType, interfaceId, number, resolution } = expected[i]!
            expect(packet).toMatchObject({
              number,
              linkType,
              interfaceId,
              bytes: p.bytes,
              originalLength: p.bytes.length + p.cut,
            })
            const units = resolution & 128 ? 2 ** (resolution & 127) : 10 ** resolution
            const off = (packet.seconds - seconds) * 1e9 + packet.nanoseconds - p.nanoseconds
            // Exact for units that are whole parts of a nanosecond, else less than one unit early.
            if (units >= 1e9) expect(off).toBe(0)
            else {
              expect(off).toBeLessThanOrEqual(0)
              expect(off).toBeGreaterThan(-1e9 / units)
            }
          }
        },
      ),
    )
  })

  it('reads sections of both byte orders, each with its own interfaces', () => {
    const section = (littleEndian: boolean, linkType: number, fill: number): Uint8Array => {
      const sink = memorySink()
      const writer = new PcapngWriter(sink, { littleEndian })
      writer.addInterface({ linkType })
      writer.packet(new Uint8Array(5).fill(fill), 0, 5, 1, 2)
      writer.close()
      return sink.bytes()
    }
    const { packets, damage } = readBytes(concat([section(true, 1, 1), section(false, 101, 2), section(true, 113, 3)]))
    expect(damage).toEqual([])
    expect(packets.map(({ linkType, bytes, interfaceId }) => [linkType, bytes[0], interfaceId])).toEqual([
      [1, 1, 0],
      [101, 2, 1],
      [113, 3, 2],
    ])
  })

  it('reads simple and old packet blocks, and steps over all others', () => {
    for (const little of [true, false]) {
      const file = concat([
        sectionHeader(little),
        block(1, words([little ? 1 : 0x00010000, 6], little), little),
        block(4, new Uint8Array(40), little),
        block(10, new Uint8Array(100), little),
        block(9, new Uint8Array(7), little),
        block(0xbad, new Uint8Array(16), little),
        block(0x7777, new Uint8Array(5), little),
        block(3, concat([words([9], little), new Uint8Array(8).fill(4)]), little),
        block(2, concat([words([0, 0, 3_000_000, 4, 90], little), new Uint8Array(4).fill(8)]), little),
      ])
      const { packets, damage, interfaces } = readBytes(file)
      expect(damage).toEqual([])
      expect(interfaces.length).toBe(1)
      expect(
        packets.map(({ bytes, originalLength, seconds, hasTime }) => ({ bytes, originalLength, seconds, hasTime })),
      ).toEqual([
        // Cut at the interface's snap length, without a time.
        { bytes: new Uint8Array(6).fill(4), originalLength: 9, seconds: 0, hasTime: false },
        { bytes: new Uint8Array(4).fill(8), originalLength: 90, seconds: 3, hasTime: true },
      ])
    }
  })

  it('tells how many packets the interface dropped', () => {
    const sink = memorySink()
    const writer = new PcapngWriter(sink)
    writer.addInterface()
    writer.close()
    const statistics = block(5, concat([words([0, 0, 0, 0x00080005, 42, 0, 0])]))
    const { interfaces, damage } = readBytes(concat([sink.bytes(), statistics]))
    expect(damage).toEqual([])
    expect(interfaces[0]!.dropped).toBe(42)
  })
})

describe('ERF', () => {
  const record = (fraction: number, seconds: number): Uint8Array =>
    concat([words([fraction, seconds]), new Uint8Array(20).fill(2)])
  /** 300 ns after the second, as 2^-32 s. */
  const after300ns = Math.floor((300 * 2 ** 32) / 1e9)
  const records = [
    record(0, 1_700_000_000),
    record(after300ns, 1_700_000_000),
    record(0xffffffff, 1_700_000_000),
    // None, and cut before it.
    record(5, 0),
    record(5, 1_600_000_000).subarray(0, 7),
  ]
  const timesIn = (file: Uint8Array): [number, number][] =>
    readBytes(file).packets.map(({ seconds, nanoseconds }) => [seconds, nanoseconds])

  it('has times of its own, finer than those of a pcap file', () => {
    const sink = memorySink()
    const writer = new PcapWriter(sink, { linkType: LinkType.Erf, nanoseconds: false })
    for (const bytes of records) writer.packet(bytes, 0, bytes.length, 1_700_000_009, 8000)
    writer.close()
    expect(timesIn(sink.bytes())).toEqual([
      [1_700_000_000, 0],
      [1_700_000_000, 300],
      [1_700_000_001, 0],
      [1_700_000_009, 8000],
      [1_700_000_009, 8000],
    ])
  })

  it('has the times of a pcapng file, as in tshark', () => {
    const sink = memorySink()
    const writer = new PcapngWriter(sink)
    writer.addInterface({ linkType: LinkType.Erf })
    for (const bytes of records) writer.packet(bytes, 0, bytes.length, 1_700_000_009, 8001)
    writer.close()
    expect(timesIn(sink.bytes())).toEqual(records.map(() => [1_700_000_009, 8001]))
  })
})

describe('files and streams', () => {
  const names = readdirSync(captures).filter((name) => name.endsWith('.pcap'))

  it.each(names)('%s is the same from a file, memory, a stream, and compressed in several members', async (name) => {
    const url = new URL(name, captures)
    const file = readFileSync(url)
    const whole = readBytes(file)
    expect(whole.damage).toEqual([])
    expect(whole.packets.length).toBeGreaterThan(5)
    const half = file.length >> 1
    const sources = [
      fileSource(url.pathname),
      bytesSource(file),
      streamSource(Readable.from([file.subarray(0, 1), file.subarray(1)])),
      streamSource(Readable.from([gzipSync(file)])),
      streamSource(Readable.from([gzipSync(file.subarray(0, half)), gzipSync(file.subarray(half))])),
    ]
    for (const source of sources) {
      const lengths: number[] = []
      const parser = await source.read((packet) => void lengths.push(packet.length), { chunkSize: 8192 })
      expect(parser.damage.list).toEqual([])
      expect(lengths).toEqual(whole.packets.map(({ bytes }) => bytes.length))
    }
  })

  it('stops where the handler says so, and where the signal does', async () => {
    const { pathname } = new URL('rping.pcap', captures)
    const bytes = readFileSync(pathname)
    for (const source of [fileSource(pathname), bytesSource(bytes), streamSource(Readable.from([bytes]))]) {
      const seen: number[] = []
      await source.read(({ number }) => {
        seen.push(number)
        return number < 3
      })
      expect(seen).toEqual([1, 2, 3])
    }
    for (const source of [fileSource(pathname), bytesSource(bytes), streamSource(Readable.from([bytes]))]) {
      const parser = await source.read(() => undefined, { signal: AbortSignal.abort() })
      expect(parser.packet.number).toBe(0)
    }
  })
})
