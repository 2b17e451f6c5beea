import { describe, expect, it } from 'vitest'
import { bytesSource, CapturedPacket, LinkType, PcapWriter } from '../../src/capture/index.ts'
import { analyseCapture, checkCapture, Datagrams, Dissection, dissect, IcrcState } from '../../src/trace/index.ts'
import { Bth, put16, Udp, u16, WireOpcode } from '../../src/wire/index.ts'
import { aeth, framesTogether, headersLength, type PacketSpec, reth, roceFrame } from './packets.ts'

function packetOf(bytes: Uint8Array, before = 0): CapturedPacket {
  const packet = new CapturedPacket()
  packet.bytes = new Uint8Array(before + bytes.length)
  packet.bytes.set(bytes, before)
  packet.offset = before
  packet.length = bytes.length
  packet.originalLength = bytes.length
  packet.linkType = LinkType.Ethernet
  return packet
}

/** The PSNs of the packets that are found, if all their ICRCs are right. */
function psns(packet: CapturedPacket): number[] {
  const found: number[] = []
  const d = new Dissection()
  new Datagrams().each(packet, d, true, () => found.push(d.icrc === IcrcState.Valid && d.problems === 0 ? d.psn : -1))
  return found
}

const ends = { source: '10.0.0.1', destination: '10.0.0.2', destQp: 0xb }
const send = (psn: number, more: Partial<PacketSpec> = {}): PacketSpec => ({
  ...{ ...ends, opcode: WireOpcode.RcSendOnly, psn, payload: 64, ackReq: true },
  ...more,
})

describe('packets that were captured as one', () => {
  it.each<[string, PacketSpec[], (4 | 6)?]>([
    ['SENDs of one length', [send(5), send(6), send(7)]],
    [
      'a message, whose last packet is shorter',
      [
        send(1, { opcode: WireOpcode.RcSendFirst, payload: 1024 }),
        send(2, { opcode: WireOpcode.RcSendMiddle, payload: 1024 }),
        send(3, { opcode: WireOpcode.RcSendLast, payload: 8 }),
      ],
    ],
    [
      'of several queue pairs, and an ACK at the end',
      [
        send(9, { destQp: 0xc }),
        send(700),
        send(31, { opcode: WireOpcode.RcAck, destQp: 0xd, payload: 0, extension: aeth(0x1f, 1) }),
      ],
    ],
    ['over IPv6', [1, 2].map((psn) => send(psn, { source: 'fd00::1', destination: 'fd00::2', payload: 256 })), 6],
    ['64 of them', Array.from({ length: 64 }, (_, psn) => send(psn, { payload: 0 }))],
  ])('are taken apart: %s', (_, specs, version) => {
    const expected = specs.map(({ psn }) => psn)
    expect(psns(packetOf(framesTogether(specs, version)))).toEqual(expected)
    // In the middle of a larger buffer.
    expect(psns(packetOf(framesTogether(specs, version), 77))).toEqual(expected)
  })

  it('have the lengths and identifications that they have on the network', () => {
    const datagrams = new Datagrams()
    const d = new Dissection()
    const packet = packetOf(framesTogether([send(1), send(2)]))
    dissect(packet, d, true)
    expect(datagrams.split(packet, d)).toBe(2)
    for (const [i, psn] of [1, 2].entries()) {
      const { bytes, length } = datagrams.at(i)
      const wanted = roceFrame(send(psn, { identification: i }))
      put16(wanted, headersLength[4] - Udp.length + Udp.checksum, 0)
      expect(bytes.slice(0, length)).toEqual(Uint8Array.from(wanted))
    }
  })

  it.each<[string, PacketSpec]>([
    ['SENDs', send(0)],
    ['ACKs', send(0, { opcode: WireOpcode.RcAck, payload: 0, extension: aeth(0x1f, 1) })],
  ])('may all have the same identification: %s', (_, spec) => {
    for (const identification of [0, 0xffff]) {
      const specs = Array.from({ length: 10 }, (_, psn) => ({ ...spec, psn, identification }))
      const expected = specs.map(({ psn }) => psn)
      const whole = framesTogether(specs)
      expect(psns(packetOf(whole))).toEqual(expected)
      // The second one is damaged.
      const second = headersLength[4] + (whole.length - headersLength[4]) / 10
      whole[second + Bth.destQp]! ^= 1
      expect(psns(packetOf(whole))).toEqual(expected.with(1, -1))
    }
  })

  it('are not looked for in a packet that is right, damaged, cut, or made to look like many', () => {
    const whole = framesTogether([send(1), send(2)])
    const cut = packetOf(whole.subarray(0, whole.length - 8))
    cut.originalLength = whole.length
    expect(psns(cut)).toHaveLength(1)
    expect(psns(packetOf(roceFrame(send(4))))).toEqual([4])
    const damaged = roceFrame(send(4, { payload: 1024 }))
    damaged[200]! ^= 1
    expect(psns(packetOf(damaged))).toEqual([-1])
    // Each four bytes begin a BTH, and no ICRC is right.
    const many = roceFrame(send(4, { payload: 1024 }))
    const pkey = u16(many, headersLength[4] + Bth.pkey)
    for (let at = headersLength[4] + Bth.length; at < many.length - 4; at += 4)
      many.set([4, 0, pkey >> 8, pkey & 255], at)
    for (let at = headersLength[4] + Bth.length; at < many.length - 4; at += 4)
      expect(u16(many, at + Bth.pkey)).toBe(pkey)
    expect(psns(packetOf(many))).toHaveLength(1)
  })

  it.each<[string, PacketSpec, number]>([
    ['ACKs', send(0, { opcode: WireOpcode.RcAck, payload: 0, extension: aeth(0x1f, 1) }), 10],
    ['READ requests', send(0, { opcode: WireOpcode.RcReadRequest, payload: 0, extension: reth(0, 7, 64) }), 10],
    ['WRITEs', send(0, { opcode: WireOpcode.RcWriteOnly, extension: reth(0, 7, 64) }), 10],
    ['SENDs with the length of one', send(0), 1],
    ['longer SENDs', send(0, { payload: 1024 }), 10],
  ])('are found without looking at the ICRC where they are too long: %s', (_, spec, count) => {
    const d = new Dissection()
    const problems: number[] = []
    const whole = framesTogether(Array.from({ length: 10 }, (_, psn) => ({ ...spec, psn })))
    new Datagrams().each(packetOf(whole), d, false, () => problems.push(d.problems))
    expect(problems).toEqual(Array.from({ length: count }, () => 0))
  })

  it('count one by one', async () => {
    const chunks: Uint8Array[] = []
    const writer = new PcapWriter({ write: (bytes) => void chunks.push(bytes.slice()) })
    for (const frame of [framesTogether([send(1), send(2), send(3)]), roceFrame(send(4))])
      writer.packet(frame, 0, frame.length, 1, 0, frame.length)
    writer.close()
    const source = bytesSource(Buffer.concat(chunks))
    expect(await checkCapture(source)).toMatchObject({ packets: 2, roce: 4, icrcValid: 4, malformed: [] })
    const { conversations } = await analyseCapture(source)
    expect(conversations[0]!.directions[0]!.messages.total).toBe(4)
  })
})
