/** Packets rewritten: checksums right again, the reverse mappings give the same bytes, damage stays damage. */
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesSource, CaptureCopy, LinkType, PcapWriter } from '../../src/capture/index.ts'
import {
  type BadPolicy,
  badPolicies,
  type MappingKind,
  parseMapping,
  parseMappings,
  replayPackets,
} from '../../src/replay/index.ts'
import { analyseCapture, checkCapture, parseFilter } from '../../src/trace/index.ts'
import { parseFrame, WireOpcode } from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { ipv4, udp } from '../trace/encapsulate.ts'
import { aeth, deth, ethernet, globalPacket, infiniBandPacket, reth, roceFrame, rocePacket } from '../trace/packets.ts'

const folder = new URL('../captures/', import.meta.url)
const captures = readdirSync(folder).filter((name) => name.endsWith('.pcap'))
const bytesOf = (name: string): Uint8Array => new Uint8Array(readFileSync(new URL(name, folder)))

type Given = readonly (readonly [MappingKind, string])[]

async function rewrite(
  bytes: Uint8Array,
  given: Given,
  { bad = 'keep', filter }: { bad?: BadPolicy; filter?: string } = {},
) {
  const parts: Uint8Array[] = []
  const copy = new CaptureCopy({ write: (part) => void parts.push(part.slice()) }, { format: 'pcap' })
  const mappings = given.map(([kind, text]) => parseMapping(kind, text))
  const options = { mappings, bad, others: true, ...(filter !== undefined && { filter: parseFilter(filter) }) }
  const { counts } = await replayPackets(bytesSource(bytes), options, (packet, _d, { interfaces }) =>
    copy.packet(packet, interfaces),
  )
  copy.close()
  return { bytes: new Uint8Array(Buffer.concat(parts)), counts, mappings }
}

/** A capture of these packets. */
function capture(linkType: number, ...packets: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = []
  const writer = new PcapWriter({ write: (part) => void parts.push(part.slice()) }, { linkType })
  for (const packet of packets) writer.packet(packet, 0, packet.length, 1, 0)
  writer.close()
  return new Uint8Array(Buffer.concat(parts))
}

/** The packets of a capture that this process has written. */
function packetsOf(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const packets: Uint8Array[] = []
  for (let at = 24; at < bytes.length; ) {
    const length = view.getUint32(at + 8, true)
    packets.push(bytes.subarray(at + 16, at + 16 + length))
    at += 16 + length
  }
  return packets
}

const there: Given = [
  ['mac', '52:54:00:12:34:01=02:00:00:00:00:99'],
  ['ip', '10.77.0.2=192.168.7.1'],
  ['ip', '10.77.0.0/24=172.16.9.0/24'],
  ['source-port', '55410=50000'],
  ['pkey', '0xffff=0x8001'],
  ['qpn', '0x1a@10.77.0.2=0x777'],
  ['psn', '+1000'],
  ['psn', '0x1a@10.77.0.3=-77'],
  ['msn', '+5'],
  ['dscp', '0=26'],
]
const back: Given = [
  ['mac', '02:00:00:00:00:99=52:54:00:12:34:01'],
  ['ip', '192.168.7.1=10.77.0.2'],
  ['ip', '172.16.9.0/24=10.77.0.0/24'],
  ['source-port', '50000=55410'],
  ['pkey', '0x8001=0xffff'],
  ['qpn', '0x777@192.168.7.1=0x1a'],
  ['psn', '-1000'],
  ['psn', '0x1a@172.16.9.3=+77'],
  ['msn', '-5'],
  ['dscp', '26=0'],
]

describe('captures', () => {
  it.each(captures)('%s: every ICRC is valid, and the reverse mappings give the same bytes', async (name) => {
    const original = await rewrite(bytesOf(name), [])
    expect(original.counts.rewritten).toBe(0)
    const changed = await rewrite(original.bytes, there)
    expect(changed.counts.rewritten).toBe(changed.counts.rdma)
    const check = await checkCapture(bytesSource(changed.bytes))
    expect(check).toMatchObject({ icrcInvalidCount: 0, malformedCount: 0, icrcValid: changed.counts.rdma })
    const restored = await rewrite(changed.bytes, back)
    expect(Buffer.compare(restored.bytes, original.bytes)).toBe(0)
  })

  it('connections are found in a rewritten capture as in the original', async () => {
    const map: Given = [...there, ['qpn', '0x1a@10.77.0.3=0x99']]
    const changed = await rewrite(bytesOf('rping.pcap'), map)
    const [before, after] = await Promise.all(
      [bytesOf('rping.pcap'), changed.bytes].map((bytes) => analyseCapture(bytesSource(bytes))),
    )
    const messages = (info: typeof before) =>
      info!.conversations.map(({ paired, directions }) => [paired, directions.map((one) => one.messages)])
    expect(messages(after)).toEqual(messages(before))
    const connection = after!.conversations.find(({ paired }) => paired === 'cm')!
    expect(connection.directions.map(({ destination, destinationQp }) => [destination, destinationQp]).sort()).toEqual([
      ['172.16.9.3', 0x99],
      ['192.168.7.1', 0x777],
    ])
  })

  it('a filter leaves out, and counts', async () => {
    const { counts, bytes } = await rewrite(bytesOf('rping.pcap'), [], { filter: 'dst == 10.77.0.2' })
    expect(counts.filtered + counts.passed).toBe(65)
    expect(packetsOf(bytes)).toHaveLength(counts.passed)
    expect(counts.filtered).toBeGreaterThan(0)
  })
})

describe('fields', () => {
  it('memory: keys and addresses, within their range only', async () => {
    const write = (va: number) =>
      roceFrame({ opcode: WireOpcode.RcWriteOnly, extension: reth(va, 0x1234, 8), payload: 8 })
    const file = capture(LinkType.Ethernet, write(0x7f00_0000_1000), write(0x7f00_0000_2000))
    const { bytes } = await rewrite(file, [
      ['rkey', '0x1234@10.0.0.2=0xabcd'],
      ['va', '0x7f0000001000-0x7f0000001fff=0xfffffffffffff000'],
    ])
    const headers = packetsOf(bytes).map((packet) => {
      const frame = parseFrame(packet, 0, packet.length)
      return typeof frame === 'string' ? frame : frame.packet.reth
    })
    expect(headers).toEqual([
      { va: 0xffff_ffff_ffff_f000n, rkey: 0xabcd, dmaLength: 8 },
      { va: 0x7f00_0000_2000n, rkey: 0xabcd, dmaLength: 8 },
    ])
  })

  it('RoCEv1, IPv6, native InfiniBand and tunnels', async () => {
    const map: Given = [
      ['ip', 'fe80::/64=fd00::/64'],
      ['ip', '10.0.0.1=10.9.9.9'],
      ['lid', '7=0x77'],
      ['qpn', '0x11=0x22'],
      ['ecn', '2'],
    ]
    const send = { opcode: WireOpcode.UdSendOnly, extension: deth(1, 0x11), payload: 5 }
    const six = { ...send, source: 'fe80::1', destination: 'fe80::2' }
    const inner = ethernet(0x0800, rocePacket(send))
    const frames = [
      ethernet(0x8915, globalPacket(six)),
      roceFrame(six),
      ethernet(0x0800, ipv4(17, udp(4789, Uint8Array.from([8, 0, 0, 0, 0, 0, 1, 0, ...inner])))),
      roceFrame({ opcode: WireOpcode.RcAck, extension: aeth(0x1f, 3) }, [5]),
    ]
    const ib = [infiniBandPacket(send), infiniBandPacket(six, true)]
    for (const file of [capture(LinkType.Ethernet, ...frames), capture(LinkType.InfiniBand, ...ib)]) {
      const { bytes, counts, mappings } = await rewrite(file, map)
      const { packets, rdma, rewritten } = counts
      expect([rdma, rewritten]).toEqual([packets, packets])
      expect(mappings.find(({ kind }) => kind === 'qpn')!.hits).toBeGreaterThan(packets)
      const check = await checkCapture(bytesSource(bytes))
      expect(check).toMatchObject({ icrcValid: packets, icrcInvalidCount: 0, malformedCount: 0 })
    }
  })

  it('PSN offsets of a queue pair hold for requests to it and for their responses', async () => {
    const { bytes, counts } = await rewrite(bytesOf('read_lat.pcap'), [['psn', '0x1a@10.77.0.2=+500']])
    const plain = await rewrite(bytesOf('read_lat.pcap'), [])
    const moved = packetsOf(bytes).filter((packet, i) => Buffer.compare(packet, packetsOf(plain.bytes)[i]!) !== 0)
    expect(moved.length).toBe(counts.rewritten)
    const check = await analyseCapture(bytesSource(bytes))
    const gaps = check.conversations.flatMap(({ directions }) => directions.map((one) => one.gaps + one.restarts))
    expect(gaps.every((gap) => gap === 0)).toBe(true)
  })
})

describe('damage', () => {
  const good = roceFrame({ opcode: WireOpcode.RcSendOnly, payload: 64 })
  const bad = good.slice()
  bad[60]! ^= 1

  it('is kept, dropped or mended', async () => {
    const file = capture(LinkType.Ethernet, good, bad)
    const map: Given = [['qpn', '0x11=0x12']]
    const kept = await rewrite(file, map)
    expect(kept.counts).toMatchObject({ icrcInvalid: 1, kept: 1, passed: 2, rewritten: 2 })
    expect(await checkCapture(bytesSource(kept.bytes))).toMatchObject({ icrcValid: 1, icrcInvalidCount: 1 })
    const restored = await rewrite(kept.bytes, [['qpn', '0x12=0x11']])
    expect(Buffer.compare(restored.bytes, (await rewrite(file, [])).bytes)).toBe(0)
    const dropped = await rewrite(file, map, { bad: 'drop' })
    expect(dropped.counts).toMatchObject({ dropped: 1, passed: 1 })
    const mended = await rewrite(file, map, { bad: 'mend' })
    expect(mended.counts).toMatchObject({ mended: 1, unmended: 0, passed: 2 })
    expect(await checkCapture(bytesSource(mended.bytes))).toMatchObject({ icrcValid: 2, icrcInvalidCount: 0 })
  })

  it('what the capture has cut is completed by zeros', async () => {
    const parts: Uint8Array[] = []
    const writer = new PcapWriter({ write: (part) => void parts.push(part.slice()) })
    writer.packet(good, 0, 60, 1, 0, good.length)
    writer.close()
    const { bytes, counts } = await rewrite(Buffer.concat(parts), [['qpn', '0x11=0x12']], { bad: 'mend' })
    expect(counts).toMatchObject({ cut: 1, mended: 1 })
    expect(packetsOf(bytes)[0]).toHaveLength(good.length)
    expect(await checkCapture(bytesSource(bytes))).toMatchObject({ icrcValid: 1, cut: 0 })
  })

  it('random damage never throws, and everything is counted', async () => {
    const files = ['rping', 'udaddy', 'read_lat', 'atomic_lat'].map((name) => bytesOf(`${name}.pcap`))
    const changes = fc.array(fc.tuple(fc.nat(60_000), fc.nat(255)), { minLength: 1, maxLength: 100 })
    await holds(
      fc.asyncProperty(fc.nat(3), changes, fc.nat(9000), fc.constantFrom(...badPolicies), async (n, list, cut, bad) => {
        const file = files[n]!.slice(0, Math.max(24, files[n]!.length - (cut % 3 === 0 ? cut : 0)))
        for (const [at, value] of list) file[24 + (at % Math.max(1, file.length - 24))] = value
        const { counts, bytes } = await rewrite(file, there, { bad })
        expect(counts.rdma + counts.other).toBe(counts.packets)
        expect(counts.passed + counts.dropped + counts.filtered).toBe(counts.packets)
        const check = await checkCapture(bytesSource(bytes))
        expect(check.packets).toBe(counts.passed)
        if (bad !== 'mend') expect(check.icrcInvalidCount).toBeLessThanOrEqual(counts.icrcInvalid)
      }),
      30,
    )
  })
})

describe('mappings', () => {
  it.each([
    ['ip', '10.0.0.1=fe80::1'],
    ['ip', '10.0.0.0/24=10.1.0.0/16'],
    ['mac', '02:00=02:01'],
    ['qpn', '17'],
    ['qpn', '0x1000000=1'],
    ['qpn', '17@host=1'],
    ['psn', '17=5'],
    ['va', '5-4=9'],
    ['va', '0-9=0xffffffffffffffff'],
    ['dscp', '64'],
  ] as const)('--%s %s is not valid', (kind, text) => {
    expect(() => parseMapping(kind, text)).toThrow(/is not valid\. Expected OLD=NEW.*, for example: --/)
  })

  it('in a file: comments, and the line of what is wrong', () => {
    expect(parseMappings('# two\nqpn 1=2 # one\n\npsn +5\n', 'm')).toHaveLength(2)
    expect(() => parseMappings('qpn 1=2\nport 5=6\n', 'lab.map')).toThrow(/lab.map:2: 'port' is no kind of mapping/)
  })
})
