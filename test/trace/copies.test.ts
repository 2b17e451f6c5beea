/** Packets that a capture has more than once are told from packets that were sent again, and nothing counts them twice. */
import { describe, expect, it } from 'vitest'
import { bytesSource, CapturedPacket, LinkType, PcapngWriter, PcapWriter } from '../../src/capture/index.ts'
import { Copies } from '../../src/trace/copies.ts'
import { analyseCapture, checkCapture, Dissection, dissect, showCapture } from '../../src/trace/index.ts'
import type { Row } from '../../src/trace/row.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { memorySink } from '../capture/files.ts'
import { aeth, type PacketSpec, roceFrame, rocePacket } from './packets.ts'

const A = '10.0.0.1'
const B = '10.0.0.2'

interface Recorded {
  bytes: Uint8Array
  ns: number
  interfaceId?: number
  /** Of the packet, where only its beginning was captured. */
  wireBytes?: number
}

/** SENDs and their ACKs, the one 50 µs behind the other. */
function conversation(count: number): PacketSpec[] {
  return Array.from({ length: count }, (_, psn) => [
    {
      opcode: WireOpcode.RcSendOnly,
      source: A,
      destination: B,
      destQp: 11,
      psn,
      payload: 8,
      ackReq: true,
      identification: 2 * psn,
    },
    {
      opcode: WireOpcode.RcAck,
      source: B,
      destination: A,
      destQp: 10,
      psn,
      extension: aeth(0x1f, psn + 1),
      identification: 2 * psn,
    },
  ]).flat()
}

function file(packets: readonly Recorded[], linkType: number = LinkType.Ethernet): Uint8Array {
  const sink = memorySink()
  const writer = new PcapngWriter(sink)
  writer.addInterface({ linkType })
  writer.addInterface({ linkType })
  for (const { bytes, ns, interfaceId = 0, wireBytes = bytes.length } of packets)
    writer.packet(bytes, 0, bytes.length, 1_700_000_000, ns, wireBytes, interfaceId)
  writer.close()
  return sink.bytes()
}

/** Each packet of a conversation twice, as the function has it. */
function twice(
  gapNs: number | ((i: number) => number),
  copy: (spec: PacketSpec, again: boolean) => Omit<Recorded, 'ns'>,
): Recorded[] {
  return conversation(20).flatMap((spec, i) => [
    { ...copy(spec, false), ns: 50_000 * (i + 1) },
    { ...copy(spec, true), ns: 50_000 * (i + 1) + (typeof gapNs === 'number' ? gapNs : gapNs(i)) },
  ])
}

const cooked = (spec: PacketSpec, device: number): Uint8Array => {
  const header = Uint8Array.of(8, 0, 0, 0, 0, 0, 0, device, 0, 1, device % 2 ? 0 : 4, 6, 2, 0, 0, 0, 0, 1, 0, 0)
  return new Uint8Array(Buffer.concat([header, rocePacket(spec)]))
}
/** As a router has it: another time to live, other MAC addresses. */
const routed = (frame: Uint8Array): Uint8Array => {
  frame[5]! ^= 9
  frame[11]! ^= 9
  frame[14 + 8]!--
  return frame
}

async function all(bytes: Uint8Array) {
  const source = bytesSource(bytes)
  const rows: Row[] = []
  await showCapture(source, (row) => void rows.push(row))
  return { info: await analyseCapture(source), check: await checkCapture(source), rows }
}

const noTwo = { identification: 0 }

describe('of a sound conversation', () => {
  it.each<[string, Uint8Array]>([
    ['a mirror of both directions', file(twice(1000, (spec) => ({ bytes: roceFrame(spec) })))],
    ['the same without identifications', file(twice(1000, (spec) => ({ bytes: roceFrame({ ...spec, ...noTwo }) })))],
    [
      'a slow mirror, where identifications tell',
      file(
        twice(
          (i) => (i < 2 ? 1000 : 90_000),
          (spec) => ({ bytes: roceFrame(spec) }),
        ),
      ),
    ],
    [
      'all devices of a host',
      file(
        twice(20_000, (spec, again) => ({ bytes: cooked({ ...spec, ...noTwo }, again ? 4 : 3) })),
        LinkType.LinuxSll2,
      ),
    ],
    [
      'two ports, merged, the later first',
      file(
        twice(-2_000_000, (spec, again) => ({ bytes: roceFrame({ ...spec, ...noTwo }), interfaceId: again ? 1 : 0 })),
      ),
    ],
    [
      'before and behind a router',
      file(
        twice(9000, (spec, again) => ({
          bytes: again ? routed(roceFrame({ ...spec, ...noTwo })) : roceFrame({ ...spec, ...noTwo }),
        })),
      ),
    ],
    [
      'cut packets',
      file(twice(1000, (spec) => ({ bytes: roceFrame({ ...spec, ...noTwo }).subarray(0, 58), wireBytes: 66 }))),
    ],
  ])('%s: half are copies, and nothing was sent again', async (_, bytes) => {
    const { info, check, rows } = await all(bytes)
    const { directions } = info.conversations[0]!
    const sums = directions.map(({ packets, copies, messages, retransmissions, repeatedAnswers }) => ({
      ...{ packets, copies, messages: messages.total, retransmissions, repeatedAnswers },
    }))
    const [request, response] = sums[0]!.messages > 0 ? sums : sums.toReversed()
    expect(request).toEqual({ packets: 20, copies: 20, messages: 20, retransmissions: 0, repeatedAnswers: 0 })
    expect(response).toEqual({ packets: 20, copies: 20, messages: 0, retransmissions: 0, repeatedAnswers: 0 })
    expect([info.roce, info.copies, check.roce]).toEqual([80, 40, 80])
    const copies = rows.filter(({ copy }) => copy)
    expect(copies.length).toBe(40)
    for (const { number, refersTo, retransmission, repeat } of copies)
      expect({ refersTo, retransmission, repeat }).toEqual({ refersTo: number - 1 })
  })
})

it('a capture without times has none: what was sent again may have been', async () => {
  const { bytes, view, ...rest } = new CapturedPacket()
  const frame = roceFrame(conversation(1)[0]!)
  const packet = Object.assign(new CapturedPacket(), rest, {
    bytes: frame,
    view: new DataView(frame.buffer),
    number: 1,
  })
  packet.length = packet.originalLength = frame.length
  packet.linkType = LinkType.Ethernet
  const d = new Dissection()
  dissect(packet, d, true)
  const copies = new Copies()
  expect([copies.originalOf(packet, d), copies.originalOf(packet, d)]).toEqual([0, 0])
})

describe('what is sent again', () => {
  const [request, response] = conversation(1) as [PacketSpec, PacketSpec]
  const count = async (packets: readonly Recorded[]): Promise<[copies: number, again: number]> => {
    const { info, rows } = await all(file(packets))
    expect(rows.filter(({ copy }) => copy).length).toBe(info.copies)
    const sum = info.conversations.flatMap(({ directions }) => directions)
    return [info.copies, sum.reduce((all, one) => all + one.retransmissions + one.repeatedAnswers, 0)]
  }
  const at = (ns: number, interfaceId = 0, spec: PacketSpec = { ...request, ...noTwo }): Recorded => ({
    ...{ bytes: roceFrame(spec), ns, interfaceId },
  })

  it('comes later than any copy from the same place', async () => {
    expect(await count([at(0), at(2900)])).toEqual([1, 0])
    expect(await count([at(0), at(4100)])).toEqual([0, 1])
  })

  it('is another datagram', async () => {
    expect(await count([at(0), at(500, 0, { ...request, identification: 77 })])).toEqual([0, 1])
  })

  it('has copies of its own', async () => {
    expect(await count([at(0), at(5000, 1), at(20_000), at(25_000, 1), at(40_000), at(40_500, 1)])).toEqual([3, 2])
    // The first was lost between the places.
    expect(await count([at(0), at(67_000_000), at(67_005_000, 1)])).toEqual([1, 1])
  })

  it('goes another way later', async () => {
    expect(await count([at(0), at(67_000_000, 1)])).toEqual([0, 1])
  })

  it('is a response, too', async () => {
    const ack = { ...response, ...noTwo }
    expect(await count([at(0), at(1000, 0, ack), at(2000, 0, ack), at(10_000, 0, ack)])).toEqual([1, 1])
  })
})

it('finds copies behind thousands of other packets', () => {
  const copies = new Copies()
  const d = new Dissection()
  const packet = new CapturedPacket()
  packet.linkType = LinkType.Ethernet
  packet.hasTime = true
  packet.seconds = 1_700_000_000
  const take = (psn: number, interfaceId: number): number => {
    const frame = roceFrame({ opcode: WireOpcode.RcSendOnly, source: A, destination: B, destQp: 11, psn, payload: 8 })
    packet.bytes = frame
    packet.view = new DataView(frame.buffer)
    packet.length = packet.originalLength = frame.length
    packet.number++
    packet.nanoseconds += 1000
    packet.interfaceId = interfaceId
    dissect(packet, d, false)
    return copies.originalOf(packet, d)
  }
  const distance = 2000
  const found = Array.from({ length: 12_000 }, (_, i) => {
    const original = take(i, 0)
    return i < distance ? [original] : [original, take(i - distance, 1)]
  })
  // Half of the remembered packets are behind their copies already.
  expect(found.flat().filter((number) => number > 0).length).toBe(12_000 - distance)
  expect(take(11_999, 1)).toBeGreaterThan(0)
})

it('pcap says so, too', async () => {
  const sink = memorySink()
  const writer = new PcapWriter(sink)
  for (const { bytes, ns } of twice(1000, (spec) => ({ bytes: roceFrame(spec) })))
    writer.packet(bytes, 0, bytes.length, 1_700_000_000, ns)
  writer.close()
  expect((await analyseCapture(bytesSource(sink.bytes()))).copies).toBe(40)
})
