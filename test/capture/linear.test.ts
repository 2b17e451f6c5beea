/** Reading takes time in proportion to the size of the file, whatever the file is: counted are the words that the parser looks at. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PcapngWriter, PcapWriter } from '../../src/capture/index.ts'
import { block, concat, memorySink, readBytes, sectionHeader, words } from './files.ts'

const { getUint32 } = DataView.prototype
let looks = 0

beforeEach(() => {
  DataView.prototype.getUint32 = function (at, littleEndian) {
    looks++
    return getUint32.call(this, at, littleEndian)
  }
})
afterEach(() => {
  DataView.prototype.getUint32 = getUint32
})

/** Words looked at for each byte of the file. */
function cost(file: Uint8Array): number {
  looks = 0
  readBytes(file, 1 << 14)
  return looks / file.length
}

const whole = block(0x7777, new Uint8Array(0))
const head = concat([sectionHeader(), block(1, words([1, 0]))])
const repeated = (part: Uint8Array, count: number): Uint8Array => concat(new Array<Uint8Array>(count).fill(part))
/** Each with a head that says one thing and an end that says another. */
const damaged: Record<string, Uint8Array> = {
  'blocks whose ends are wrong': concat([words([6, 12, 0x55555555]), whole]),
  'packets of a length that no block has': concat([words([6, 13, 0x55555555]), whole]),
  'packets of 16 MiB': concat([words([6, 1 << 24, 0x55555555]), whole]),
  'blocks that end as they begin, with nothing behind': words([6, 20, 0, 12, 6]),
  'section headers without a byte order': words([0x0a0d0d0a, 28, 0, 0]),
  'types of blocks': words([6]),
  'records of pcap': words([1_700_000_000, 5, 60, 60]),
}

describe('words looked at for a byte', () => {
  it.each(Object.entries(damaged))('pcapng, %s', (_, part) => {
    const count = Math.ceil(20_000 / part.length)
    const one = cost(concat([head, repeated(part, count)]))
    const four = cost(concat([head, repeated(part, 4 * count)]))
    // `longestResync`, which may be looked at once, is more than the smaller file; beyond that both cost the same.
    expect(four).toBeLessThan(Math.max(one * 1.1, 8))
    expect(four).toBeLessThan(16)
  })

  it.each([
    ['zeros', new Uint8Array(16)],
    ['headers without bytes', words([1_700_000_000, 5, 0, 0])],
    ['headers of packets of 16 MiB', words([1_700_000_000, 5, 1 << 24, 1 << 24])],
    ['headers that follow each other', words([1_700_000_000, 5, 24, 24])],
    ['more captured than there was', words([1_700_000_000, 5, 60, 24])],
    ['headers of pcap files', words([0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1])],
    ['fractions that are no part of a second', words([1_700_000_000, 5_000_000, 16, 16])],
  ])('pcap, %s', (_, part) => {
    const head = words([0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1])
    const count = Math.ceil(20_000 / part.length)
    const one = cost(concat([head, repeated(part, count)]))
    const four = cost(concat([head, repeated(part, 4 * count)]))
    expect(four).toBeLessThan(one * 1.1)
    expect(four).toBeLessThan(16)
  })

  it('packets cost what they did', () => {
    const sink = memorySink()
    const writer = new PcapngWriter(sink)
    writer.addInterface()
    for (let i = 0; i < 1000; i++) writer.packet(new Uint8Array(64), 0, 64, 1_700_000_000, i)
    writer.close()
    expect(cost(sink.bytes())).toBeLessThan(0.2)
    const pcap = memorySink()
    const plain = new PcapWriter(pcap)
    for (let i = 0; i < 1000; i++) plain.packet(new Uint8Array(64), 0, 64, 1_700_000_000, i)
    plain.close()
    expect(cost(pcap.bytes())).toBeLessThan(0.1)
  })
})
