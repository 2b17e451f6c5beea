/** Damaged capture files: what can be read is read, and what is wrong is said with its place. */
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PcapngWriter, PcapWriter } from '../../src/capture/index.ts'
import { streamSource } from '../../src/files/index.ts'
import { holds } from '../property.ts'
import { concat, memorySink, readBytes } from './files.ts'

const rping = readFileSync(new URL('../captures/rping.pcap', import.meta.url))
const original = readBytes(rping).packets

function toPcapng(littleEndian = true): Uint8Array {
  const sink = memorySink()
  const writer = new PcapngWriter(sink, { littleEndian })
  writer.addInterface({ name: 'eth0' })
  for (const { bytes, seconds, nanoseconds } of original) writer.packet(bytes, 0, bytes.length, seconds, nanoseconds)
  writer.close()
  return sink.bytes()
}
const files = { pcap: new Uint8Array(rping), pcapng: toPcapng(), 'pcapng, big endian': toPcapng(false) }

describe.each(Object.entries(files))('%s', (_, file) => {
  it('cut at every byte: all packets before are there, and the cut is reported', () => {
    const ends = readBytes(file).packets.map(({ fileOffset }) => fileOffset)
    for (let length = 0; length < file.length; length++) {
      const { packets, damage } = readBytes(file.subarray(0, length))
      const whole = ends.filter((_, i) => (ends[i + 1] ?? file.length) <= length).length
      const same = packets.every(({ bytes }, i) => Buffer.compare(bytes, original[i]!.bytes) === 0)
      if (packets.length !== whole || !same)
        expect.fail(`cut at ${length}: ${packets.length} packets instead of ${whole}`)
      // Nothing is wrong only where a record begins, or between blocks before the first packet.
      if (length <= ends[0]!) continue
      if (ends.includes(length)) expect(damage).toEqual([])
      else
        expect(damage).toMatchObject([
          { offset: ends[whole], packet: whole + 1, what: expect.stringContaining('ends inside') },
        ])
    }
    expect(readBytes(file.subarray(0, 10)).damage).toHaveLength(1)
  })

  it('with any bit of any record header flipped: that record is left out or odd, all others are read', () => {
    const expected = original.map(({ bytes }) => Buffer.from(bytes).toString('latin1'))
    const wrong: string[] = []
    for (const [n, { fileOffset }] of readBytes(file).packets.slice(0, -1).entries()) {
      for (let bit = 0; bit < 16 * 8; bit++) {
        const broken = file.slice()
        broken[fileOffset + (bit >> 3)]! ^= 1 << (bit & 7)
        const found = readBytes(broken).packets.map(({ bytes }) => Buffer.from(bytes).toString('latin1'))
        // In order, all but the damaged one.
        let at = -1
        const lost = expected.some((bytes, i) => {
          if (i === n) return false
          at = found.indexOf(bytes, at + 1)
          return at < 0
        })
        if (lost) wrong.push(`packet ${n + 1}, bit ${bit}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('goes on behind bytes that do not belong there', () => {
    const offsets = readBytes(file).packets.map(({ fileOffset }) => fileOffset)
    const at = offsets[20]!
    const garbage = Uint8Array.from({ length: 1001 }, (_, i) => (i * 7919) >> 3)
    const { packets, damage } = readBytes(concat([file.subarray(0, at), garbage, file.subarray(at)]))
    expect(packets.map(({ bytes }) => bytes)).toEqual(original.map(({ bytes }) => bytes))
    expect(damage).toHaveLength(1)
    expect(damage[0]).toMatchObject({ offset: at, packet: 21 })
  })
})

describe('garbage', () => {
  it('never throws, ends, and keeps memory small', () => {
    const heads = [
      rping.subarray(0, 24),
      files.pcapng.subarray(0, 100),
      files['pcapng, big endian'].subarray(0, 100),
      new Uint8Array(0),
    ]
    holds(
      fc.property(
        fc.constantFrom(...heads),
        fc.uint8Array({ maxLength: 3000 }),
        fc.integer({ min: 1, max: 500 }),
        (head, tail, step) => {
          const { damage, packets } = readBytes(concat([head, tail]), step, 64)
          expect(damage.length).toBeLessThanOrEqual(100)
          for (const { bytes } of packets) expect(bytes.length).toBeLessThanOrEqual(tail.length)
        },
      ),
      500,
    )
  })

  it('mutations of real files never throw', () => {
    holds(
      fc.property(
        fc.constantFrom(...Object.values(files)),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 30 }),
        (file, changes) => {
          const broken = file.slice()
          for (const [at, value] of changes) broken[at % broken.length] = value
          readBytes(broken, 1000, 64)
        },
      ),
      300,
    )
  })

  it('a length of four gigabytes does not make the window grow', () => {
    const sink = memorySink()
    const writer = new PcapWriter(sink)
    for (let i = 0; i < 3; i++) writer.packet(new Uint8Array(60).fill(i), 0, 60, 1_700_000_000, i)
    writer.close()
    const file = sink.bytes()
    file.fill(0xff, 24 + 76 + 8, 24 + 76 + 12)
    const { packets, damage, parser } = readBytes(file)
    expect(packets.map(({ bytes }) => bytes[0])).toEqual([0, 2])
    expect(damage).toEqual([
      {
        offset: 100,
        packet: 2,
        what: 'a record of 4294967295 bytes: its header is damaged; reading goes on at offset 176',
      },
    ])
    expect(parser.room(1).length).toBeLessThan(10_000)
  })

  it.each([
    ['an empty file', new Uint8Array(0), 'the file is empty'],
    ['two bytes', new Uint8Array(2), 'no capture file: only 2 bytes'],
    ['a text', new TextEncoder().encode('# a text'), 'neither pcap nor pcapng: the file begins with 23206120'],
  ])('%s is no capture', (_, bytes, what) => {
    const { packets, damage, format } = readBytes(bytes)
    expect([packets, format]).toEqual([[], undefined])
    expect(damage).toEqual([{ offset: 0, packet: 1, what }])
  })

  it('a damaged gzip stream gives what came before', async () => {
    const sink = memorySink()
    const writer = new PcapWriter(sink)
    const packet = Uint8Array.from({ length: 1000 }, (_, i) => (i * i * 7919) >> 5)
    for (let i = 0; i < 100; i++)
      writer.packet(
        packet.map((byte) => byte ^ (i * 37)),
        0,
        1000,
        1,
        i,
      )
    writer.close()
    const zipped = gzipSync(sink.bytes())
    const cut = zipped.subarray(0, zipped.length - 1000)
    const flipped = new Uint8Array(zipped)
    flipped.fill(0x55, zipped.length - 1000, zipped.length - 900)
    // Where bytes are others, only the checksum at the end may tell: then all that they decode to is there, as zcat gives it.
    for (const [broken, most] of [
      [cut, 99],
      [flipped, 100],
    ] as const) {
      const numbers: number[] = []
      const parser = await streamSource(Readable.from([broken])).read(({ number }) => void numbers.push(number))
      expect(numbers.length).toBeGreaterThan(20)
      expect(numbers.length).toBeLessThanOrEqual(most)
      expect(parser.damage.list[0]!.what).toContain('gzip stream is damaged')
    }
  })
})
