/** Compressed captures in a browser: what a hostile one can make of a few bytes has limits, and ends when it is cancelled. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { type Damage, PcapWriter } from '../../../src/capture/index.ts'
import type { CaptureBytes } from '../../../src/trace/view/index.ts'
import { blobBytes } from '../../../src/trace/worker/blob-bytes.ts'
import { memorySink } from '../../capture/files.ts'

const head = 24 + 16

/** A zstd frame: the headers of a pcap file and of its first packet, then blocks of one byte each that stands for `size` zeros. */
function bomb(blocks: number, size: number): Blob {
  const sink = memorySink()
  const writer = new PcapWriter(sink)
  writer.packet(new Uint8Array(16_384), 0, 16_384, 1, 0)
  writer.close()
  const file = sink.bytes().slice(0, head)
  const header = (type: number, length: number, last = false): number[] => {
    const word = (length << 3) | (type << 1) | (last ? 1 : 0)
    return [word & 0xff, (word >> 8) & 0xff, word >> 16]
  }
  // RFC 8878: magic, a window of 128 KiB, raw and RLE blocks.
  const parts: BlobPart[] = [Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, ...header(0, head)), file]
  for (let i = 1; i <= blocks; i++) parts.push(Uint8Array.of(...header(1, size, i === blocks), 0))
  return new Blob(parts)
}

const never = new AbortController().signal

describe('a zstd stream of zeros', () => {
  const lengthOf = async (bytes: CaptureBytes): Promise<number> => (await bytes.slice(0, 1 << 30)).length

  it('is read to its end if that is not far', async () => {
    const lengths: number[] = []
    const bytes = blobBytes(bomb(4, 4096))
    const parser = await bytes.read(({ length }) => void lengths.push(length), { signal: never, onProgress() {} })
    expect([lengths, parser.damage.list]).toEqual([[16_384], []])
    expect(await lengthOf(bytes)).toBe(head + 16_384)
  })

  it('can be cancelled before all that a few bytes stand for is there', async () => {
    const stop = new AbortController()
    const bytes = blobBytes(bomb(2048, 2048))
    await bytes.read(() => undefined, { signal: stop.signal, onProgress: () => stop.abort() })
    expect(await lengthOf(bytes)).toBeLessThan((2048 * 2048) / 2)
  })

  it('ends as damaged where it makes too much of too little', async () => {
    const bytes = blobBytes(bomb(1024, 4096), 1 << 20)
    const parser = await bytes.read(() => undefined, { signal: never, onProgress() {} })
    expect(parser.damage.list.at(-1)!.what).toMatch(/it gives more than 1048576 bytes of only \d+ compressed ones$/)
    expect(await lengthOf(bytes)).toBeLessThanOrEqual(1 << 20)
  })

  it('has no larger blocks than the format permits', async () => {
    const parser = await blobBytes(bomb(2, 131_073)).read(() => undefined, { signal: never, onProgress() {} })
    expect(parser.damage.list[0]!.what).toMatch(/a block of 131073 bytes; 131072 are the most$/)
  })
})

describe('a gzip stream', () => {
  const packets = 2000
  const sink = memorySink()
  const writer = new PcapWriter(sink)
  // Deflate makes little of them.
  const noise = Uint8Array.from({ length: 5000 }, (_, i) => (i * i * 7919) >> 5)
  for (let i = 0; i < packets; i++) writer.packet(noise, i, 300, 1_700_000_000, i)
  writer.close()
  const file = sink.bytes()
  const third = Math.floor(file.length / 3)
  const members = [file.subarray(0, third), file.subarray(third, 2 * third), file.subarray(2 * third)].map((part) =>
    gzipSync(part),
  )

  const read = async (parts: BlobPart[]): Promise<[packets: number, length: number, damage: readonly Damage[]]> => {
    const bytes = blobBytes(new Blob(parts))
    const parser = await bytes.read(() => undefined, { signal: never, onProgress() {} })
    return [parser.packets, (await bytes.slice(0, 1 << 30)).length, parser.damage.list]
  }

  it('may have several members, and zeros behind them', async () => {
    expect(await read(members as BlobPart[])).toEqual([packets, file.length, []])
    expect(await read([...members, new Uint8Array(100)] as BlobPart[])).toEqual([packets, file.length, []])
    const small = file.subarray(0, 24 + 2 * 316)
    expect(await read([gzipSync(small.subarray(0, 50)), gzipSync(small.subarray(50))] as BlobPart[])).toEqual([
      2,
      small.length,
      [],
    ])
  })

  it('gives all that it has before bytes that are no gzip', async () => {
    for (const parts of [members, [gzipSync(file.subarray(0, 24 + 316))]]) {
      const [count, , damage] = await read([...parts, 'a signature'] as BlobPart[])
      expect([count, damage.length]).toEqual([parts.length === 1 ? 1 : packets, 1])
      expect(damage[0]!.what).toContain('the gzip stream is damaged here')
    }
  })

  it('that is cut gives what it has', async () => {
    const [first, second, last] = members
    const [count, , damage] = await read([first, second, last!.subarray(0, -2000)] as BlobPart[])
    expect(count).toBeGreaterThan((packets * 2) / 3)
    expect(damage.length).toBeGreaterThan(0)
  })
})
