/** Converting pcapng to pcapng keeps every block as it was; what pcap has no place for is named. */
import { describe, expect, it } from 'vitest'
import { bytesSource } from '../../src/capture/index.ts'
import { convertCapture, parseFilter } from '../../src/trace/index.ts'
import { block, concat, memorySink, readBytes, sectionHeader, words } from '../capture/files.ts'

type Option = readonly [code: number, value: Uint8Array | string]
const text = new TextEncoder()

/** Options with the end of options. */
function options(little: boolean, ...list: Option[]): Uint8Array {
  const parts = [...list, [0, ''] as const].map(([code, value]) => {
    const bytes = typeof value === 'string' ? text.encode(value) : value
    const b = new Uint8Array(4 + ((bytes.length + 3) & ~3))
    const view = new DataView(b.buffer)
    view.setUint16(0, code, little)
    view.setUint16(2, bytes.length, little)
    b.set(bytes, 4)
    return b
  })
  return concat(parts)
}

const fill = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value)
const packet = (little: boolean, value: number, ...list: Option[]): Uint8Array => {
  const tail = list.length > 0 ? options(little, ...list) : new Uint8Array(0)
  return block(6, concat([words([0, 0, value, 6, 60], little), fill(6, value), fill(2, 0), tail]), little)
}
const sectionOf = (little: boolean, ...list: Option[]): Uint8Array =>
  block(
    0x0a0d0d0a,
    concat([words([0x1a2b3c4d, little ? 1 : 0x00010000, 0xffffffff, 0xffffffff], little), options(little, ...list)]),
    little,
  )
const interfaceOf = (little: boolean, ...list: Option[]): Uint8Array =>
  block(1, concat([words([little ? 1 : 0x00010000, 0], little), options(little, ...list)]), little)

/** One section with everything that a pcapng file may have. */
function section(little: boolean, base = 0): Uint8Array[] {
  return [
    sectionOf(little, [1, 'about this section'], [2, 'hardware'], [3, 'system'], [4, 'program']),
    interfaceOf(
      little,
      [2, 'swp1'],
      [3, 'the port'],
      [8, fill(8, 1)],
      [9, Uint8Array.of(6)],
      [1, 'about the interface'],
    ),
    block(4, concat([words([0x000e0001, 0x0a090001, 0x686f7374, 0], little), words([0], little)]), little),
    block(10, concat([words([0x544c534b, 8], little), text.encode('CLIENT_R')]), little),
    packet(little, base + 1, [1, 'look here'], [2, fill(4, 1)], [4, fill(8, 7)], [3, fill(5, 9)], [2988, fill(8, 1)]),
    block(0xbad, concat([words([32473], little), text.encode('customdata')]), little),
    block(9, text.encode('MESSAGE=an entry of the journal, which has its form\n\n'), little),
    packet(little, base + 2),
    block(3, concat([words([8], little), fill(8, 3)]), little),
    block(
      2,
      concat([words([0, 0, base + 4, 4, 90], little), fill(4, 8), options(little, [1, 'an old block'])]),
      little,
    ),
    block(5, concat([words([0, 0, 5], little), options(little, [4, fill(8, 1)], [5, fill(8, 2)])]), little),
    block(0x7777, fill(8, 5), little),
  ]
}

async function convert(file: Uint8Array, format: 'pcap' | 'pcapng', filter?: string) {
  const sink = memorySink()
  const result = await convertCapture(bytesSource(file), sink, {
    format,
    ...(filter !== undefined && { filter: parseFilter(filter) }),
  })
  return { ...result, bytes: sink.bytes() }
}

describe('pcapng to pcapng', () => {
  const file = concat([...section(true), ...section(false, 10)])

  it('keeps all blocks of all sections, byte for byte', async () => {
    const { bytes, written, packets, leftOut, damageCount } = await convert(file, 'pcapng')
    expect([written, packets, leftOut, damageCount]).toEqual([8, 8, [], 0])
    expect(Buffer.from(bytes).equals(file)).toBe(true)
  })

  it('leaves out only packets for which the filter is not true', async () => {
    const { bytes, written } = await convert(file, 'pcapng', 'number == 1 or number == 5')
    expect(written).toBe(2)
    const isOther = (one: Uint8Array, i: number): boolean => ![7, 8, 9].includes(i) && one.length > 0
    const [first, second] = [section(true), section(false, 10)]
    // The custom block and the entry of the journal have numbers, too: packets are 1, 4, 5, 6 of the first section.
    const kept = concat([
      ...first.filter((one, i) => isOther(one, i) || i === 8),
      ...second.filter((one, i) => isOther(one, i) && i !== 4),
    ])
    expect(Buffer.from(bytes).equals(kept)).toBe(true)
  })

  it('numbers packets as tshark does, and counts packets alone', async () => {
    const { packets, parser } = readBytes(file)
    expect(packets.map(({ number }) => number)).toEqual([1, 4, 5, 6, 7, 10, 11, 12])
    expect(parser.packets).toBe(8)
  })

  it('does not copy what is not to be copied, nor lengths that are no longer right', async () => {
    const header = sectionHeader()
    new DataView(header.buffer).setBigUint64(16, 100n, true)
    const source = concat([
      header,
      interfaceOf(true, [19372, fill(8, 1)], [2, 'swp1']),
      block(0x40000bad, words([32473, 1])),
      packet(true, 1, [1, 'a'], [19373, fill(4, 1)]),
    ])
    const { bytes, leftOut } = await convert(source, 'pcapng')
    expect(leftOut).toEqual(['custom blocks that are not to be copied'])
    expect(
      Buffer.from(bytes).equals(concat([sectionHeader(), interfaceOf(true, [2, 'swp1']), packet(true, 1, [1, 'a'])])),
    ).toBe(true)
  })

  it('makes a damaged file sound', async () => {
    const options = Uint8Array.of(1, 0, 200, 0, 65, 66, 67, 68)
    const bad = packet(true, 2, [1, 'kept'])
    // Its only option says that it is longer than the block.
    const broken = block(6, concat([words([0, 0, 3, 6, 60]), fill(8, 3), options]))
    const wrongEnd = packet(true, 4)
    new DataView(wrongEnd.buffer).setUint32(wrongEnd.length - 4, 4444, true)
    const source = concat([
      block(0x0a0d0d0a, words([0x1a2b3c4d])),
      interfaceOf(true),
      bad,
      broken,
      wrongEnd,
      packet(true, 5),
    ])
    const { bytes, damageCount, written } = await convert(source, 'pcapng')
    expect([damageCount, written]).toEqual([2, 4])
    const { damage, packets } = readBytes(bytes)
    expect(damage).toEqual([])
    expect(packets.map(({ bytes: [first] }) => first)).toEqual([2, 3, 4, 5])
    expect(Buffer.from(bytes).includes('kept')).toBe(true)
  })

  it('begins with a section, also where that is damaged', async () => {
    const damaged = sectionHeader().fill(0, 8, 12)
    const { bytes } = await convert(concat([damaged, interfaceOf(true), packet(true, 1)]), 'pcapng')
    const { packets, damage } = readBytes(bytes)
    expect([packets.length, damage]).toEqual([1, []])
  })
})

describe('pcapng to pcap', () => {
  it('says what it has no place for', async () => {
    expect((await convert(concat(section(true)), 'pcap')).leftOut).toEqual([
      'comments',
      'names of addresses',
      'decryption secrets',
      'directions of packets',
      'drop counts of packets',
      'other options of packets',
      'custom blocks',
      'entries of the journal',
      'statistics of interfaces',
    ])
    expect((await convert(concat([sectionHeader(), interfaceOf(true), packet(true, 1)]), 'pcap')).leftOut).toEqual([])
  })

  it('counts times that 32 bits of seconds cannot hold, and writes the nearest', async () => {
    const at = (seconds: bigint): Uint8Array => {
      const units = BigInt.asUintN(64, seconds * 1_000_000n + 7n)
      return block(6, concat([words([0, Number(units >> 32n), Number(units & 0xffffffffn), 4, 4]), fill(4, 1)]))
    }
    const source = concat([
      sectionHeader(),
      interfaceOf(true),
      interfaceOf(true, [14, new Uint8Array(new BigInt64Array([-100n]).buffer)]),
      at(1_700_000_000n),
      at(2n ** 32n - 1n),
      at(2n ** 32n),
      at(10_000_000_000n),
      block(6, concat([words([1, 0, 5, 4, 4]), fill(4, 1)])),
    ])
    const { bytes, unfitTimes } = await convert(source, 'pcap')
    expect(unfitTimes).toBe(3)
    expect(readBytes(bytes).packets.map(({ seconds, nanoseconds }) => [seconds, nanoseconds])).toEqual([
      [1_700_000_000, 7000],
      [2 ** 32 - 1, 7000],
      [2 ** 32 - 1, 999_999_999],
      [2 ** 32 - 1, 999_999_999],
      [0, 0],
    ])
    expect((await convert(source, 'pcapng')).unfitTimes).toBe(0)
  })
})
