/** Every field that both tshark and we know, of every packet of every capture, and of files that our writers made. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { LinkType, PcapngWriter, PcapWriter } from '../../src/capture/index.ts'
import { fileSink, fileSource } from '../../src/files/index.ts'
import { connectQp, endpointOf, nativeAvailable, Opcode, openDevice, SendFlag, sendWr, tap } from '../../src/index.ts'
import { convertCapture } from '../../src/trace/index.ts'
import { madName, opcodeTable, WireOpcode } from '../../src/wire/index.ts'
import { block, concat, sectionHeader, words } from '../capture/files.ts'
import { drain, makeEnd, until } from '../devices/shm/rig.ts'
import { loopbackDevice } from '../loopback.ts'
import { encapsulations } from '../trace/encapsulate.ts'
import {
  deth,
  erfRecord,
  ethernet,
  globalPacket,
  infiniBandPacket,
  reth,
  roceFrame,
  rocePacket,
} from '../trace/packets.ts'
import { tsharkFields, tsharkVersion } from './tshark.ts'
import { compareWithTshark } from './tshark-fields.ts'

const title = tsharkVersion ?? 'tshark is not installed: apt-get install --no-install-recommends tshark'
const captures = new URL('../captures/', import.meta.url)
const dir = mkdtempSync(join(tmpdir(), 'verbena-tshark-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe.skipIf(tsharkVersion === undefined)(title, () => {
  const names = readdirSync(captures).filter((name) => name.endsWith('.pcap'))

  it.each(names)('agrees about every field of %s', async (name) => {
    expect(await compareWithTshark(new URL(name, captures).pathname)).toBeGreaterThan(12 * 15)
  })

  const formats = [
    ['pcap', true],
    ['pcap', false],
    ['pcapng', true],
    ['pcapng', false],
  ] as const

  // Each capture in one of the formats: there are three times as many captures.
  it.each(names.map((name, i) => [name, ...formats[i % formats.length]!] as const))(
    'agrees about %s as our writers write it again: %s, little endian: %s',
    async (name, extension, little) => {
      const file = join(dir, `again-${little}.${extension}`)
      const sink = fileSink(file)
      const writer =
        extension === 'pcap'
          ? new PcapWriter(sink, { littleEndian: little })
          : new PcapngWriter(sink, { littleEndian: little, application: 'verbena', comment: 'written again' })
      if (writer instanceof PcapngWriter) writer.addInterface({ name: 'eth0', resolution: little ? 9 : 6 })
      await fileSource(new URL(name, captures).pathname).read((p) => {
        writer.packet(p.bytes, p.offset, p.length, p.seconds, p.nanoseconds, p.originalLength)
        return undefined
      })
      writer.close()
      expect(await compareWithTshark(file)).toBeGreaterThan(12 * 15)
    },
  )

  it.skipIf(!nativeAvailable)('agrees about what the tap of a device has written', async () => {
    const file = join(dir, 'tap.pcapng')
    const [a, b] = [openDevice(loopbackDevice(1), { wrap: [tap(file)] }), openDevice(loopbackDevice(2))]
    const [x, y] = [makeEnd(a), makeEnd(b)]
    const [toX, toY] = [endpointOf(x.qp), endpointOf(y.qp)]
    connectQp(x.qp, toX, toY)
    connectQp(y.qp, toY, toX)
    const remote = { remoteAddr: y.mr.addr, rkey: y.mr.rkey, sgList: [x.sge(0, 9000)], sendFlags: SendFlag.Signaled }
    x.qp.postSend(sendWr({ opcode: Opcode.Write, wrId: 1, ...remote }))
    x.qp.postSend(sendWr({ opcode: Opcode.Read, wrId: 2, ...remote }))
    x.qp.postSend(
      sendWr({ opcode: Opcode.AtomicFetchAndAdd, wrId: 3, compareAdd: 1n, ...remote, sgList: [x.sge(0, 8)] }),
    )
    const completions: { wrId: number; status: number }[] = []
    await until('completions', () => drain(x.cq, completions).length === 3)
    expect(completions.map(({ status }) => status)).toEqual([0, 0, 0])
    for (const end of [x, y]) end.close()
    a.close()
    b.close()
    // The thread that drives the devices writes the file; closing does not wait for it.
    await vi.waitFor(async () => expect(await compareWithTshark(file)).toBeGreaterThan(8 * 15), 20_000)
  })

  it('agrees about numbers of packets between other blocks, and what convert keeps', async () => {
    const file = join(dir, 'blocks.pcapng')
    const copy = join(dir, 'blocks-again.pcapng')
    const options = (...list: [code: number, text: Uint8Array][]): Uint8Array =>
      concat(
        [...list, [0, new Uint8Array(0)] as const].flatMap(([code, bytes]) => [
          words([code | (bytes.length << 16)]),
          bytes,
          new Uint8Array(-bytes.length & 3),
        ]),
      )
    const text = (of: string): Uint8Array => new TextEncoder().encode(of)
    const frame = roceFrame({ opcode: WireOpcode.RcSendOnly, destQp: 5, payload: 8 })
    const packet = (at: number, ...list: [number, Uint8Array][]): Uint8Array =>
      block(
        6,
        concat([
          words([0, 0, at, frame.length, frame.length]),
          frame,
          new Uint8Array(-frame.length & 3),
          options(...list),
        ]),
      )
    writeFileSync(
      file,
      concat([
        sectionHeader(),
        block(1, concat([words([1, 0]), options([2, text('swp1')], [9, Uint8Array.of(9)])])),
        packet(5, [1, text('look here')], [2, words([1])], [4, words([7, 0])]),
        block(0xbad, concat([words([32473]), text('customdata')])),
        packet(6),
        block(9, text('__REALTIME_TIMESTAMP=1700000000000000\nMESSAGE=one of the journal\n')),
        block(10, concat([words([0x544c534b, 8]), text('CLIENT_R')])),
        block(4, concat([words([0x000e0001]), Uint8Array.of(10, 9, 0, 1), text('host-one'), words([0, 0])])),
        packet(7, [1, text('and here')]),
      ]),
    )
    await convertCapture(fileSource(file), fileSink(copy), { format: 'pcapng' })
    const fields = [
      'frame.number',
      'frame.time_epoch',
      'frame.comment',
      'frame.packet_flags',
      'frame.drop_count',
      'infiniband.bth.destqp',
    ]
    const [before, after] = [file, copy].map((one) => tsharkFields(one, fields))
    expect(after).toEqual(before)
    expect(before!.map((values) => values.get('frame.comment') ?? '').filter((comment) => comment !== '')).toEqual([
      'look here',
      'and here',
    ])
    const numbers: string[] = []
    await fileSource(copy).read(({ number }) => void numbers.push(String(number)))
    expect(numbers).toEqual(
      before!.filter((values) => values.has('infiniband.bth.destqp')).map((values) => values.get('frame.number')),
    )
    const info = (one: string): string =>
      spawnSync('capinfos', ['-A', one], { encoding: 'utf8' }).stdout.replaceAll(/.*(File name|RIPEMD160|SHA).*/g, '')
    expect(info(copy)).toBe(info(file))
  })

  it('agrees about the names of management datagrams', async () => {
    const file = join(dir, 'mads.pcap')
    const writer = new PcapWriter(fileSink(file))
    const expected: string[] = []
    const classes: [mgmtClass: number, qp: number, methods: number[], attributes: number[]][] = [
      [1, 0, [1, 2, 0x81], [2, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x20, 0x30, 0x31]],
      [0x81, 0, [1, 0x81], [0x11, 0x15]],
      // prettier-ignore
      [
        3,
        1,
        [1, 2, 6, 0x81, 0x86, 0x12, 0x92, 0x13, 0x14, 0x94, 0x15, 0x95],
        [
          1, 2, 3, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x20, 0x30, 0x31, 0x33, 0x35, 0x36, 0x38, 0x39,
          0x3a, 0x3b, 0xf3,
        ],
      ],
    ]
    for (const [mgmtClass, qp, methods, attributes] of classes)
      for (const method of methods)
        for (const attribute of attributes) {
          const payload = new Uint8Array(256)
          payload.set([1, mgmtClass, mgmtClass === 3 ? 2 : 1, method])
          payload[17] = attribute
          const bytes = roceFrame({ opcode: WireOpcode.UdSendOnly, destQp: qp, extension: deth(1, qp), payload })
          writer.packet(bytes, 0, bytes.length, 1, 0)
          expected.push(madName(mgmtClass, method, attribute))
        }
    writer.close()
    const theirs = tsharkFields(file, ['_ws.col.Info']).map((values) => values.get('_ws.col.Info')!.split(' ').at(-1))
    expect(theirs).toEqual(expected)
  })

  // Opcodes of later annexes, and the transports that no adapter has, are unknown to it.
  const unknown = new Set<number>([WireOpcode.RcFlush, WireOpcode.RcAtomicWrite, WireOpcode.RdFlush])
  const known = opcodeTable.filter(
    (info) => info !== undefined && ['RC', 'UC', 'UD', 'CNP'].includes(info.transport) && !unknown.has(info.opcode),
  )
  const specs = known.map((info, i) => {
    const { opcode, place, payload, headers } = info!
    const bytes = payload ? (place === 'first' || place === 'middle' ? 256 : 13 + (i % 4)) : 0
    const dma = place === 'first' ? 1000 : payload ? bytes : 4096
    const extension =
      headers[0] === 'RETH'
        ? reth(0x1234_5678_9abc, 0xfedc, dma)
        : headers[0] === 'DETH'
          ? deth(0x1111_1111, 0x77)
          : undefined
    const ecn = info!.transport === 'CNP' ? 0x40 : 0
    return {
      opcode,
      payload: bytes,
      psn: 0xfffff0 + i,
      destQp: 0x100 + i,
      ackReq: i % 2 === 1,
      ecn,
      ...(extension && { extension }),
    }
  })

  it.each([
    ['Ethernet', LinkType.Ethernet, (spec: (typeof specs)[number]) => roceFrame(spec)],
    ['two VLAN tags', LinkType.Ethernet, (spec: (typeof specs)[number]) => roceFrame(spec, [5, 6])],
    [
      'IPv6',
      LinkType.Ethernet,
      (spec: (typeof specs)[number]) => roceFrame({ ...spec, source: 'fe80::1', destination: '2001:db8::2' }),
    ],
    ['raw IP', LinkType.Raw, (spec: (typeof specs)[number]) => rocePacket(spec)],
    ...Object.entries(encapsulations).map(
      ([name, put]) => [name, LinkType.Ethernet, (spec: (typeof specs)[number]) => put(rocePacket(spec))] as const,
    ),
    ['Linux cooked', LinkType.LinuxSll, (spec: (typeof specs)[number]) => cooked(rocePacket(spec))],
    ['Linux cooked v2', LinkType.LinuxSll2, (spec: (typeof specs)[number]) => cooked2(rocePacket(spec))],
    ['RoCEv1', LinkType.Ethernet, (spec: (typeof specs)[number]) => ethernet(0x8915, globalPacket(spec))],
    ['ERF Ethernet', LinkType.Erf, (spec: (typeof specs)[number]) => erfRecord(2, roceFrame(spec), 0, erfTime(spec))],
    [
      'ERF InfiniBand',
      LinkType.Erf,
      (spec: (typeof specs)[number]) => erfRecord(21, infiniBandPacket(spec), 0, erfTime(spec)),
    ],
    [
      'ERF with extensions',
      LinkType.Erf,
      (spec: (typeof specs)[number]) => erfRecord(21, infiniBandPacket(spec, true), 2, erfTime(spec)),
    ],
  ] as const)('agrees about every opcode behind %s', async (name, linkType, make) => {
    for (const extension of ['pcap', 'pcapng']) {
      const file = join(dir, `${name.replaceAll(/[ ,]+/g, '-')}.${extension}`)
      const sink = fileSink(file)
      const writer = extension === 'pcap' ? new PcapWriter(sink, { linkType }) : new PcapngWriter(sink)
      if (writer instanceof PcapngWriter) writer.addInterface({ linkType })
      for (const [i, spec] of specs.entries()) {
        const bytes = make(spec)
        writer.packet(bytes, 0, bytes.length, 1_700_000_000, i)
      }
      writer.close()
      expect(await compareWithTshark(file, name in encapsulations)).toBeGreaterThan(specs.length * 12)
    }
  })
})

/** Some time that has all of its 2^-32 s. */
function erfTime({ psn }: { psn: number }): bigint {
  return (1_700_000_000n << 32n) + BigInt(psn) * 0x1234567n
}

function cooked(packet: Uint8Array): Uint8Array {
  const b = new Uint8Array(16 + packet.length)
  b.set([0, 4, 0, 1, 0, 6])
  b.set([0x08, 0x00], 14)
  b.set(packet, 16)
  return b
}

function cooked2(packet: Uint8Array): Uint8Array {
  const b = new Uint8Array(20 + packet.length)
  b.set([0x08, 0x00, 0, 0, 0, 0, 0, 1, 0, 1, 4, 6])
  b.set(packet, 20)
  return b
}
