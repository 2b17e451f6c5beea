/** The rules for one packet. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CapturedPacket, LinkType } from '../../src/capture/index.ts'
import {
  Dissection,
  dissect,
  IcrcState,
  Kind,
  problemNames,
  problemRules,
  type TraceOptions,
  tunnelNames,
} from '../../src/trace/index.ts'
import { checkAll, Layers, locateIp, opcodeTable, put16, WireOpcode } from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { encapsulations, gre, ipv4, udp } from './encapsulate.ts'
import {
  aeth,
  erfRecord,
  ethernet,
  globalPacket,
  infiniBandPacket,
  type PacketSpec,
  reth,
  roceFrame,
  rocePacket,
} from './packets.ts'

function look(
  bytes: Uint8Array,
  linkType: number = LinkType.Ethernet,
  originalLength = bytes.length,
  options: TraceOptions = {},
): Dissection {
  const packet = new CapturedPacket()
  packet.bytes = bytes
  packet.view = new DataView(bytes.buffer)
  packet.length = bytes.length
  packet.originalLength = originalLength
  packet.linkType = linkType
  packet.number = 1
  const d = new Dissection(options)
  dissect(packet, d, true)
  return d
}

const send: PacketSpec = { opcode: WireOpcode.RcSendOnly, payload: 20, destQp: 5, psn: 6 }
const bth = 14 + 20 + 8

describe('finds the packet', () => {
  const cooked = (packet: Uint8Array, header: number, at: number): Uint8Array => {
    const b = new Uint8Array(header + packet.length)
    b[at] = 8
    b.set(packet, header)
    return b
  }
  it.each<[string, number, Uint8Array, number]>([
    ['Ethernet', LinkType.Ethernet, roceFrame(send), Kind.RoceV2],
    ['with VLAN tags', LinkType.Ethernet, roceFrame(send, [3, 4]), Kind.RoceV2],
    ['IPv6', LinkType.Ethernet, roceFrame({ ...send, source: '::1', destination: '::2' }), Kind.RoceV2],
    ['Linux cooked', LinkType.LinuxSll, cooked(rocePacket(send), 16, 14), Kind.RoceV2],
    ['Linux cooked v2', LinkType.LinuxSll2, cooked(rocePacket(send), 20, 0), Kind.RoceV2],
    ['raw IP', LinkType.Raw, rocePacket(send), Kind.RoceV2],
    ['raw IP of BSD', LinkType.RawBsd, rocePacket({ ...send, source: '::1', destination: '::2' }), Kind.RoceV2],
    ['raw IP of OpenBSD', LinkType.RawOpenBsd, rocePacket(send), Kind.RoceV2],
    ['BSD loopback', LinkType.Null, cooked(rocePacket(send), 4, 0), Kind.RoceV2],
    ['ERF Ethernet', LinkType.Erf, erfRecord(2, roceFrame(send)), Kind.RoceV2],
    ['ERF InfiniBand', LinkType.Erf, erfRecord(21, infiniBandPacket(send), 1), Kind.InfiniBand],
    ['InfiniBand with GRH', LinkType.InfiniBand, infiniBandPacket(send, true), Kind.InfiniBand],
    ['RoCEv1', LinkType.Ethernet, ethernet(0x8915, globalPacket(send)), Kind.RoceV1],
  ])('%s', (_, linkType, bytes, kind) => {
    const d = look(bytes, linkType)
    expect(d).toMatchObject({
      kind,
      problems: 0,
      icrc: IcrcState.Valid,
      destQp: 5,
      psn: 6,
      payloadLength: 20,
      cut: false,
    })
    // A bit of the payload matters, wherever the packet is.
    const broken = bytes.slice()
    broken[d.payload + 3]! ^= 0x10
    expect(look(broken, linkType).icrc).toBe(IcrcState.Invalid)
  })

  it('behind padding of the frame', () => {
    const frame = roceFrame({ ...send, payload: 0 })
    const padded = new Uint8Array(frame.length + 6)
    padded.set(frame)
    expect(look(padded)).toMatchObject({ problems: 0, icrc: IcrcState.Valid })
  })

  it('as far as the capture has it', () => {
    const frame = roceFrame({ ...send, payload: 256 })
    for (let length = 0; length < frame.length; length++) {
      const d = look(frame.slice(0, length), LinkType.Ethernet, frame.length)
      expect(d.problems).toBe(0)
      expect(d.icrc).toBe(IcrcState.Unknown)
      if (length >= 14 + 20 + 4) expect([d.kind, d.cut]).toEqual([Kind.RoceV2, true])
      else expect(d.kind).toBe(Kind.Other)
      expect(d.complete).toBe(length >= bth + 12)
    }
  })

  it('not in other traffic', () => {
    const dns = roceFrame(send)
    dns[14 + 20 + 3] = 53
    for (const bytes of [dns, new Uint8Array(60), new Uint8Array(0)]) expect(look(bytes).kind).toBe(Kind.Other)
  })
})

describe('finds it behind', () => {
  const inner = rocePacket(send)
  const six = rocePacket({ ...send, source: '::1', destination: '::2' })
  const behind = (header: readonly number[], packet: Uint8Array): Uint8Array =>
    new Uint8Array(Buffer.concat([Uint8Array.from(header), packet]))
  const ipoib = (packet: Uint8Array, type: number): Uint8Array =>
    behind([...new Uint8Array(40), type >> 8, type & 255, 0, 0], packet)

  it.each<[string, number, Uint8Array]>([
    ['PPP', LinkType.Ppp, behind([0xff, 3, 0, 0x21], inner)],
    ['PPP without address and control', LinkType.Ppp, behind([0, 0x57], six)],
    ['PPP with a short protocol', LinkType.PppHdlc, behind([0x21], inner)],
    ['IP over InfiniBand', LinkType.IpOverInfiniBand, ipoib(inner, 0x0800)],
    ['IPv6 over InfiniBand', LinkType.IpOverInfiniBand, ipoib(six, 0x86dd)],
    ['PPI', LinkType.Ppi, behind([0, 0, 12, 0, 1, 0, 0, 0, 9, 9, 9, 9], roceFrame(send))],
  ])('%s', (_, linkType, bytes) => {
    expect(look(bytes, linkType)).toMatchObject({ kind: Kind.RoceV2, problems: 0, icrc: IcrcState.Valid, psn: 6 })
    for (let length = 0; length < bytes.length; length++)
      expect(look(bytes.subarray(0, length), linkType, bytes.length).problems).toBe(0)
  })

  it('authentication headers, as the codecs do', () => {
    const header = (length: number): number[] => [17, length / 4 - 2, ...new Uint8Array(length - 2)]
    const four = behind([...inner.subarray(0, 20), ...header(24)], inner.subarray(20))
    put16(four, 2, four.length)
    four[9] = 51
    const other = behind([...six.subarray(0, 40), ...header(32)], six.subarray(40))
    put16(other, 4, other.length - 40)
    other[6] = 51
    const layers = new Layers()
    for (const [packet, bth] of [
      [four, 20 + 24 + 8],
      [other, 40 + 32 + 8],
    ] as const) {
      // Nothing says whether it covers that header: neither right nor wrong.
      const { Unknown } = IcrcState
      expect(look(packet, LinkType.Raw)).toMatchObject({ kind: Kind.RoceV2, problems: 0, bth, psn: 6, icrc: Unknown })
      expect(locateIp(packet, 0, packet.length, layers)).toBeUndefined()
      expect(layers.bth).toBe(bth)
    }
  })
})

describe('finds the packet in another', () => {
  const inner = rocePacket(send)
  const around = Object.entries(encapsulations)

  it.each(around)('%s', (name, put) => {
    for (const packet of [inner, rocePacket({ ...send, source: '::1', destination: '::2' })]) {
      const frame = put(packet)
      const d = look(frame)
      expect(d).toMatchObject({ kind: Kind.RoceV2, problems: 0, icrc: IcrcState.Valid, destQp: 5, psn: 6, cut: false })
      expect(name).toContain(tunnelNames[d.tunnel])
      // Cut off anywhere it is cut, or not to be recognised, but never broken.
      for (let length = 0; length < frame.length; length++) {
        const part = look(frame.slice(0, length), LinkType.Ethernet, frame.length)
        expect([part.problems, part.icrc, part.cut]).toEqual([0, IcrcState.Unknown, part.kind === Kind.RoceV2])
      }
    }
  })

  it('unless the outer one ends before it', () => {
    const outer = ipv4(4, inner)
    outer[3]! -= 8
    expect(problemNames(look(ethernet(0x0800, outer)).problems)).toEqual(['ip-length'])
  })

  it('as a part, if the mirror or a fragment has only that', () => {
    const half = inner.slice(0, -12)
    expect(look(ethernet(0x0800, ipv4(4, half, 0x2000)))).toMatchObject({ kind: Kind.RoceV2, problems: 0, cut: true })
    const frame = ethernet(0x0800, half)
    const span = new Uint8Array(8 + frame.length)
    span.set([0x10, 5, 0x04, 1, 0, 0, 0, 3])
    span.set(frame, 8)
    const mirrored = ethernet(0x0800, ipv4(47, gre(0x88be, span, { sequence: true })))
    expect(look(mirrored)).toMatchObject({ kind: Kind.RoceV2, problems: 0, cut: true })
  })

  it('not without end', () => {
    let packet = inner
    for (let depth = 0; depth < 8; depth++) packet = ipv4(4, packet)
    expect(look(ethernet(0x0800, packet)).kind).toBe(Kind.RoceV2)
    expect(look(ethernet(0x0800, ipv4(4, packet))).kind).toBe(Kind.Other)
  })

  it('of a UDP port that only the person knows', () => {
    const elsewhere = inner.slice()
    elsewhere[22] = 0x12
    elsewhere[23] = 0xb8
    const frame = ethernet(0x0800, elsewhere)
    const decodeAs = new Map([
      [0x12b8, 'roce'],
      [8472, 'vxlan'],
    ] as const)
    expect(look(frame).kind).toBe(Kind.Other)
    expect(look(frame, LinkType.Ethernet, frame.length, { decodeAs })).toMatchObject({ kind: Kind.RoceV2, psn: 6 })
    const vxlan = new Uint8Array(8 + 14 + inner.length)
    vxlan[0] = 8
    vxlan.set(ethernet(0x0800, inner), 8)
    const old = ethernet(0x0800, ipv4(17, udp(8472, vxlan)))
    expect(look(old).kind).toBe(Kind.Other)
    expect(look(old, LinkType.Ethernet, old.length, { decodeAs })).toMatchObject({ icrc: IcrcState.Valid })
  })
})

describe('finds what is wrong', () => {
  const changed = (spec: PacketSpec, change: (b: Uint8Array) => void): Uint8Array => {
    const b = roceFrame(spec)
    change(b)
    return b
  }
  const or = (at: number, bits: number) => (b: Uint8Array) => {
    b[at]! |= bits
  }
  const infiniBand = (change: (b: Uint8Array) => void): Uint8Array => {
    const b = infiniBandPacket(send)
    change(b)
    return b
  }
  const cases: [string, Uint8Array, number?][] = [
    ['ip-length', roceFrame(send).slice(0, -1)],
    ['fragment', changed(send, or(14 + 6, 0x20))],
    ['udp-length', changed(send, (b) => b[14 + 20 + 5]!--)],
    ['too-short', roceFrame({ ...send, payload: 0 }).slice(0, -4)],
    ['opcode', changed(send, or(bth, 0x15))],
    ['version', changed(send, or(bth + 1, 1))],
    ['alignment', roceFrame(send)],
    ['pad', changed({ ...send, payload: 0 }, or(bth + 1, 0x30))],
    ['no-payload', roceFrame({ opcode: WireOpcode.RcAck, extension: aeth(0x1f, 1), payload: 4 })],
    ['place-length', roceFrame({ opcode: WireOpcode.RcSendMiddle, payload: 300 })],
    ['operand-length', roceFrame({ opcode: WireOpcode.RcAtomicWrite, extension: reth(0, 0, 8), payload: 4 })],
    ['dma-length', roceFrame({ opcode: WireOpcode.RcWriteOnly, extension: reth(0, 0, 9), payload: 8 })],
    ['syndrome', roceFrame({ opcode: WireOpcode.RcAck, extension: aeth(0x80, 1) })],
    ['mad-length', roceFrame({ opcode: WireOpcode.UdSendOnly, destQp: 1, payload: 100 })],
    ['grh', ethernet(0x8915, globalPacket(send).fill(17, 6, 7))],
    ['lrh', infiniBand((b) => b[5]!++), LinkType.InfiniBand],
    ['vcrc', infiniBand((b) => b[b.length - 1]!++), LinkType.InfiniBand],
  ]
  // One byte less in IP and UDP, as a sender that miscounts would make it.
  for (const [name, by] of [
    ['too-short', 4],
    ['alignment', 1],
  ] as const) {
    const entry = cases.find(([rule]) => rule === name)!
    entry[1] = changed(name === 'too-short' ? { ...send, payload: 0 } : send, (b) => {
      b[14 + 3]! -= by
      b[14 + 20 + 5]! -= by
    })
  }

  it.each(cases)('%s', (name, bytes, linkType) => {
    expect(problemNames(look(bytes, linkType ?? LinkType.Ethernet).problems)).toEqual([name])
  })

  it('and has a test for each rule', () => {
    expect(cases.map(([name]) => name)).toEqual(problemRules.map(({ name }) => name))
  })

  it('in agreement with the rules of the wire', () => {
    const opcodes = opcodeTable.filter((info) => info !== undefined).map(({ opcode }) => opcode)
    holds(
      fc.property(
        fc.constantFrom(...opcodes, 0x15, 0x3f, 0x66),
        fc.oneof(fc.nat(40), fc.constantFrom(256, 512, 1024, 4096, 4100)),
        fc.option(fc.uint8Array({ minLength: 28, maxLength: 28 })),
        fc.nat(255),
        (opcode, payload, extension, flags) => {
          const b = roceFrame({ opcode, payload, destQp: 9 })
          if (extension !== null) b.set(extension.subarray(0, Math.min(28, b.length - 4 - bth - 12)), bth + 12)
          b[bth + 1] = flags & 0x3f
          const d = look(b)
          const mine = problemNames(d.problems).filter((name) => name !== 'syndrome')
          const bad = checkAll(b, bth, b.length - 4)
          expect(mine.length > 0, `${mine} ${bad}`).toBe(bad !== undefined)
        },
      ),
    )
  })
})

it('garbage and mutations never throw, whatever the link type', () => {
  const good = [
    roceFrame(send),
    roceFrame({ ...send, source: '::1', destination: '::2' }),
    infiniBandPacket(send, true),
    ...Object.values(encapsulations).map((put) => put(rocePacket(send))),
  ]
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .tuple(fc.constantFrom(...good), fc.array(fc.tuple(fc.nat(150), fc.nat(255)), { maxLength: 8 }))
      .map(([base, changes]) => {
        const b = base.slice()
        for (const [at, value] of changes) b[at] = value
        return b
      }),
  )
  holds(
    fc.property(bytes, fc.constantFrom(...Object.values(LinkType), 999), fc.nat(3000), (b, linkType, more) => {
      const d = look(b, linkType, b.length + more)
      if (d.complete) expect(d.payload).toBeLessThanOrEqual(b.length)
    }),
    2000,
  )
})
