/** Management datagrams by name, whatever their class, and packets as InfiniBand has them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CapturedPacket, LinkType } from '../../src/capture/index.ts'
import { Dissection, dissect, LinePrinter, layersOf, parseFilter } from '../../src/trace/index.ts'
import { madName, put16, put32, WireOpcode } from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { deth, erfRecord, infiniBandPacket, roceFrame } from './packets.ts'
import { Script } from './script.ts'

interface MadSpec {
  mgmtClass: number
  method?: number
  attributeId: number
  status?: number
  specific?: number
  qp?: number
  path?: readonly number[]
}

function madFrame(spec: MadSpec): Uint8Array {
  const { qp = 0 } = spec
  return roceFrame({ opcode: WireOpcode.UdSendOnly, destQp: qp, extension: deth(1, qp), payload: mad(spec) })
}

function mad({ mgmtClass, method = 1, attributeId, status = 0, specific = 0, path = [] }: MadSpec): Uint8Array {
  const b = new Uint8Array(256)
  b.set([1, mgmtClass, 1, method])
  put16(b, 4, status)
  put16(b, 6, specific)
  put32(b, 12, 0x1234)
  put16(b, 16, attributeId)
  b.set(path, 128)
  return b
}

const text = (bytes: Uint8Array): string => new LinePrinter().line(new Script().frame(bytes))

describe('a management datagram', () => {
  it.each<[string, MadSpec]>([
    ['SubnGet(SMInfo)', { mgmtClass: 1, attributeId: 0x20 }],
    ['SubnGetResp(PortInfo)', { mgmtClass: 0x81, method: 0x81, attributeId: 0x15 }],
    ['SubnTrap(Notice)', { mgmtClass: 1, method: 5, attributeId: 2 }],
    ['SubnAdmGetTable(PathRecord)', { mgmtClass: 3, method: 0x12, attributeId: 0x35, qp: 1 }],
    ['SubnAdmSet(MCMemberRecord)', { mgmtClass: 3, method: 2, attributeId: 0x38, qp: 1 }],
    ['PerfGet(PortCounters)', { mgmtClass: 4, attributeId: 0x12, qp: 1 }],
    ['PerfSet(0x0099)', { mgmtClass: 4, method: 2, attributeId: 0x99, qp: 1 }],
    ['CommGet(ClassPortInfo)', { mgmtClass: 7, attributeId: 1, qp: 1 }],
    ['Vendor0x55(ClassPortInfo)', { mgmtClass: 0x32, method: 0x55, attributeId: 1, qp: 1 }],
  ])('%s', (expected, spec) => {
    const row = new Script().frame(madFrame(spec))
    expect(row.mad).toMatchObject({ name: expected, transactionId: 0x1234n })
    expect(text(madFrame(spec))).toContain(`UD ${expected}`)
    expect(parseFilter(`op == "${expected}" and mad ~ "${expected.slice(2, 8)}"`)(row)).toBe(true)
  })

  it('says on which route it goes', () => {
    const spec = { mgmtClass: 0x81, attributeId: 0x11, status: 0x8000, specific: 0x0102, path: [0, 3, 7] }
    const row = new Script().frame(madFrame(spec))
    expect(row.mad).toMatchObject({ status: 0, hopPointer: 1, hopCount: 2, returns: true, route: [0, 3, 7] })
    expect(text(madFrame(spec))).toContain('directed route 0,3,7, hop 1 of 2, on its way back')
  })

  it('has exactly 256 bytes', () => {
    const short = roceFrame({
      ...{ opcode: WireOpcode.UdSendOnly, destQp: 0, extension: deth(1, 0) },
      payload: mad({ mgmtClass: 1, attributeId: 0x20 }).subarray(0, 252),
    })
    expect(new Script().frame(short)).toMatchObject({ malformed: ['mad-length'] })
  })

  it('is shown field by field', () => {
    const packet = new CapturedPacket()
    const layersIn = (bytes: Uint8Array): Map<string, Record<string, string>> => {
      Object.assign(packet, { bytes, view: new DataView(bytes.buffer), linkType: LinkType.Ethernet })
      packet.length = packet.originalLength = bytes.length
      const d = new Dissection()
      dissect(packet, d, true)
      return new Map(
        layersOf(packet, d).map(({ title, fields }) => [
          title,
          Object.fromEntries(fields.map(({ name, text }) => [name, text])),
        ]),
      )
    }
    const route = { mgmtClass: 0x81, attributeId: 0x15, specific: 0x0102, path: [0, 3, 7] }
    const smp = layersIn(madFrame(route))
    expect([...smp.keys()].slice(5)).toEqual([
      ...['MAD, SubnGet(PortInfo)', 'SMP, directed route', 'SMP data, 64 bytes', 'ICRC, right'],
    ])
    expect(smp.get('MAD, SubnGet(PortInfo)')).toMatchObject({
      ...{ Method: 'Get (0x01)', Direction: 'out', 'Hop pointer': '1', 'Hop count': '2' },
      'Attribute ID': 'PortInfo (0x0015)',
    })
    expect(smp.get('SMP, directed route')).toMatchObject({ 'Initial path': '0, 3, 7', 'Return path': '0, 0, 0' })
    const sa = layersIn(madFrame({ mgmtClass: 3, attributeId: 0x35, qp: 1 }))
    expect([...sa.keys()].slice(5, 8)).toEqual(['MAD, SubnAdmGet(PathRecord)', 'SA', 'MAD data, 200 bytes'])
    expect(sa.get('SA')).toMatchObject({ 'RMPP type': 'none', 'Component mask': '0x0000000000000000' })
    const perf = layersIn(madFrame({ mgmtClass: 4, attributeId: 0x12, qp: 1 }))
    expect([...perf.keys()].slice(5, 7)).toEqual(['MAD, PerfGet(PortCounters)', 'MAD data, 192 bytes'])
  })

  it('of any bytes is shown, and never throws', () => {
    holds(
      fc.property(fc.uint8Array({ minLength: 256, maxLength: 256 }), fc.constantFrom(0, 1), (payload, qp) => {
        payload[0] = 1
        const frame = roceFrame({ opcode: WireOpcode.UdSendOnly, destQp: qp, extension: deth(1, qp), payload })
        const row = new Script().frame(frame)
        expect(row.mad!.name).toBe(madName(payload[1]!, payload[3]!, (payload[16]! << 8) | payload[17]!))
        new LinePrinter().line(row)
        const packet = new CapturedPacket()
        Object.assign(packet, { bytes: frame, view: new DataView(frame.buffer), linkType: LinkType.Ethernet })
        packet.length = packet.originalLength = frame.length
        const d = new Dissection()
        dissect(packet, d, true)
        expect(layersOf(packet, d).length).toBeGreaterThan(6)
      }),
      200,
    )
  })
})

describe('native InfiniBand', () => {
  const spec = { opcode: WireOpcode.RcSendOnly, payload: 12, destQp: 5 }

  it.each([false, true])('without VCRC is read, too (GRH: %s)', (isGlobal) => {
    const whole = infiniBandPacket(spec, isGlobal)
    const without = whole.subarray(0, whole.length - 2)
    const wrong = whole.slice()
    wrong[wrong.length - 1]! ^= 1
    const cut = whole.subarray(0, whole.length - 1)
    const results = [whole, without, wrong, cut].map((bytes) => new Script().frame(bytes, 1, LinkType.InfiniBand))
    expect(results.map(({ icrc, malformed }) => [icrc, malformed])).toEqual([
      ['valid', undefined],
      ['valid', undefined],
      ['valid', ['vcrc']],
      ['unknown', ['lrh']],
    ])
    expect(new Script().frame(erfRecord(21, without), 1, LinkType.Erf)).toMatchObject({ icrc: 'valid', destQp: 5 })
  })
})

it('opcodes of manufacturers have no service', () => {
  expect(text(roceFrame({ opcode: 0xc1, destQp: 5, payload: 8 }))).toContain('vendor opcode 0xc1')
})
