/** gzip files with something behind their end, cut or damaged: whatever they hold as a whole is read. */
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PcapWriter } from '../../src/capture/index.ts'
import { GzipReader, gzipHeaderLength } from '../../src/files/gunzip.ts'
import { streamSource } from '../../src/files/index.ts'
import { concat, memorySink } from '../capture/files.ts'
import { holds } from '../property.ts'

async function gunzip(parts: readonly Uint8Array[]): Promise<[bytes: Buffer, error: string | undefined]> {
  const given: Uint8Array[] = []
  const reader = new GzipReader((bytes) => void given.push(bytes.slice()))
  try {
    for (const part of parts) await reader.write(part)
    await reader.end()
    return [Buffer.concat(given), undefined]
  } catch (error) {
    return [Buffer.concat(given), (error as Error).message]
  } finally {
    reader.destroy()
  }
}

const text = (count: number): Uint8Array => Buffer.from(Array.from({ length: count }, (_, i) => `line ${i}\n`).join(''))

describe('members', () => {
  it('are read one behind the other, however they are cut into chunks', async () => {
    await holds(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 40 }),
        fc.nat(20),
        async (members, step, zeros) => {
          const file = concat([...members.map((member) => gzipSync(member)), new Uint8Array(zeros)])
          const parts = Array.from({ length: Math.ceil(file.length / step) }, (_, i) =>
            file.subarray(i * step, (i + 1) * step),
          )
          expect(await gunzip(parts)).toEqual([Buffer.concat(members), undefined])
        },
      ),
      30,
    )
  })

  it('may have an extra field, a name, a comment and a CRC of their header', async () => {
    const [plain] = [gzipSync(text(3))]
    const head = [0x1f, 0x8b, 8, 31, 0, 0, 0, 0, 0, 3, 4, 0, 1, 2, 3, 4, 97, 0, 98, 99, 0, 7, 7]
    const file = concat([Uint8Array.from(head), plain.subarray(10)])
    expect(gzipHeaderLength(file)).toBe(head.length)
    for (let cut = 0; cut < head.length; cut++) expect(gzipHeaderLength(file.subarray(0, cut))).toBe(0)
    for (const step of [1, 4, file.length]) {
      const parts = Array.from({ length: Math.ceil(file.length / step) }, (_, i) =>
        file.slice(i * step, (i + 1) * step),
      )
      expect(await gunzip(parts)).toEqual([Buffer.from(text(3)), undefined])
    }
  })

  it.each([
    ['garbage', (zip: Buffer) => concat([zip, Buffer.from('garbage')]), 'bytes behind its end that are no gzip'],
    ['a cut trailer', (zip: Buffer) => zip.subarray(0, -3), 'unexpected end of file'],
    ['no trailer', (zip: Buffer) => zip.subarray(0, -8), 'unexpected end of file'],
    ['a wrong CRC', (zip: Buffer) => zip.fill(0, zip.length - 8, zip.length - 4), 'incorrect data check'],
    ['a wrong length', (zip: Buffer) => zip.fill(9, zip.length - 4), 'incorrect length check'],
    [
      'half a header of another',
      (zip: Buffer) => concat([zip, Uint8Array.of(0x1f, 0x8b, 8)]),
      'unexpected end of file',
    ],
  ])('whose end has %s give all they have', async (_, broken, why) => {
    for (const count of [5, 30_000]) {
      const [bytes, error] = await gunzip([broken(gzipSync(text(count)))])
      expect(bytes.equals(text(count))).toBe(true)
      expect(error).toContain(why)
    }
  })

  it('that are none say so', async () => {
    expect(await gunzip([Buffer.from('text')])).toEqual([Buffer.alloc(0), 'incorrect header check'])
    expect(await gunzip([Uint8Array.of(0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0)])).toEqual([
      Buffer.alloc(0),
      'unknown compression method or header flags set',
    ])
    expect(await gunzip([])).toEqual([Buffer.alloc(0), 'unexpected end of file'])
    const [, error] = await gunzip([gzipSync(text(10)).subarray(0, 10), Buffer.from('not deflate')])
    expect(error).toBeDefined()
  })
})

it('a capture with bytes behind its gzip stream has all its packets', async () => {
  const rping = readFileSync(new URL('../captures/rping.pcap', import.meta.url))
  const sink = memorySink()
  const writer = new PcapWriter(sink)
  for (let i = 0; i < 20_000; i++) writer.packet(new Uint8Array(64).fill(i), 0, 64, 1, i)
  writer.close()
  for (const [file, packets] of [
    [rping, 65],
    [sink.bytes(), 20_000],
  ] as const) {
    const numbers = { last: 0 }
    const broken = concat([gzipSync(file), Buffer.from('signature')])
    const parser = await streamSource(Readable.from([broken])).read(({ number }) => {
      numbers.last = number
      return undefined
    })
    expect(numbers.last).toBe(packets)
    expect(parser.damage.list).toMatchObject([
      {
        offset: file.length,
        what: 'the gzip stream is damaged here: bytes behind its end that are no gzip: incorrect header check',
      },
    ])
  }
})
