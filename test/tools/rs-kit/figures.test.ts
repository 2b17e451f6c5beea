/** Sizes, counts and tables as the originals write them, and rcopy's messages. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emitHeader, openMessage, parseHeader, writeMessage } from '../../../src/tools/rcopy/message.ts'
import {
  allSizes,
  countOf,
  countText,
  Pattern,
  sizeText,
  streamHeading,
  streamLine,
  streamRow,
} from '../../../src/tools/rs-kit/figures.ts'
import { holds } from '../../property.ts'

describe('figures', () => {
  it.each([
    [64, '64'],
    [192, '192'],
    [1024, '1k'],
    [1536, '1.5k'],
    [12288, '12k'],
    [98304, '96k'],
    [1572864, '1.5m'],
    [12_800_000, '12m'],
    [3 * 2 ** 30, '3g'],
  ])('%i bytes are %s', (bytes, text) => expect(sizeText(bytes)).toBe(text))

  it.each([
    [1, '1'],
    [999, '999'],
    [1000, '1k'],
    [123_456, '123k'],
    [2_500_000, '2m'],
    [7e9, '7b'],
  ])('%i of something are %s', (count, text) => expect(countText(count)).toBe(text))

  it('a test of larger messages has fewer of them', () => {
    expect([64, 1023, 1024, 65535, 65536, 1 << 20].map(countOf)).toEqual([1e5, 1e5, 1e4, 1e4, 1e3, 100])
    expect(allSizes.slice(0, 4)).toEqual([64, 128, 192, 256])
    expect(allSizes.at(-1)).toBe(6 << 20)
  })

  it('columns stand as those of rstream', () => {
    expect(streamHeading).toBe('name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer')
    expect(streamLine(streamRow('64_lat', 64, 1, 100_000, 1500))).toBe(
      '64_lat    64      1       100k    12m         1.50s      0.07       7.50',
    )
  })

  it('a pattern goes on from message to message, and finds where it was broken', () => {
    const [sent, received] = [new Pattern(), new Pattern()]
    const bytes = new Uint8Array(300)
    for (const length of [16, 300, 1, 255]) {
      sent.fill(bytes.subarray(0, length))
      expect(received.wrongByte(bytes.subarray(0, length))).toBe(-1)
    }
    sent.fill(bytes)
    bytes[7] = bytes[7]! ^ 1
    expect(received.wrongByte(bytes)).toBe(16 + 300 + 1 + 255 + 7)
  })
})

describe('messages of rcopy', () => {
  it('an OPEN has a path with a NUL, in eights', () => {
    const bytes = openMessage('/tmp/a.txt', 0o100644)
    expect(Buffer.from(bytes).toString('hex')).toBe(
      '00012000a48100000000000000000000' + '2f746d702f612e747874000000000000',
    )
    expect(openMessage('1234567', 0).length).toBe(16 + 8)
    expect(openMessage('12345678', 0).length).toBe(16 + 16)
  })

  it('a WRITE has the size', () => {
    expect(Buffer.from(writeMessage(30_000_000)).toString('hex')).toBe(
      '00031800000000000000000000000000' + '80c3c90100000000',
    )
  })

  it('any header comes back as it was; anything else is refused with a sentence', () => {
    const header = fc.record({
      command: fc.integer({ min: 0, max: 255 }),
      length: fc.integer({ min: 16, max: 65535 }),
      data: fc.integer({ min: 0, max: 0xffffffff }),
      id: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    })
    holds(
      fc.property(header, (one) => {
        const bytes = new Uint8Array(16)
        emitHeader(one, bytes)
        expect(parseHeader(bytes)).toEqual(one)
      }),
    )
    holds(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const valid = bytes[0] === 0 && bytes[2]! + 256 * bytes[3]! >= 16
        expect(typeof parseHeader(bytes)).toBe(valid ? 'object' : 'string')
      }),
    )
  })
})
