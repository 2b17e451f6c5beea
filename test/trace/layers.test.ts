/** The headers of packets field by field: they are where the analysis has found them, and no byte is left out. */
import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CapturedPacket, LinkType } from '../../src/capture/index.ts'
import { fileSource } from '../../src/files/index.ts'
import {
  Dissection,
  dissect,
  hexLines,
  Kind,
  type Layer,
  layersOf,
  type Row,
  showCapture,
  verboseLines,
} from '../../src/trace/index.ts'
import { cmMessage, emitCm, WireOpcode } from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { encapsulations } from './encapsulate.ts'
import { aeth, deth, globalPacket, infiniBandPacket, reth, roceFrame, rocePacket } from './packets.ts'

const captures = new URL('../captures/', import.meta.url)

function packetOf(bytes: Uint8Array, linkType: number = LinkType.Ethernet): CapturedPacket {
  const packet = new CapturedPacket()
  packet.bytes = bytes
  packet.view = new DataView(bytes.buffer)
  packet.length = bytes.length
  packet.originalLength = bytes.length
  packet.linkType = linkType
  packet.number = 1
  return packet
}

function look(bytes: Uint8Array, linkType?: number): Layer[] {
  const packet = packetOf(bytes, linkType)
  const d = new Dissection()
  dissect(packet, d, true)
  return layersOf(packet, d)
}

function fieldsOf(layers: readonly Layer[], title: string): Record<string, string> {
  const layer = layers.find((one) => one.title.startsWith(title))
  return Object.fromEntries(layer!.fields.map(({ name, text }) => [name, text]))
}

const names = (layers: readonly Layer[]): string[] => layers.map(({ title }) => title.split(',')[0]!)

describe('layers', () => {
  it('of every packet of the captures follow one another to the end, and agree with the row', async () => {
    let seen = 0
    for (const name of readdirSync(captures)) {
      if (!name.endsWith('.pcap')) continue
      const source = fileSource(new URL(name, captures).pathname)
      const check = (row: Row, packet: CapturedPacket, d: Dissection): void => {
        if (d.kind === Kind.Other || d.cut || row.malformed !== undefined) return
        const layers = layersOf(packet, d)
        seen++
        let at = 0
        for (const { start, end } of layers) {
          expect(start).toBe(at)
          at = end
        }
        expect(at).toBe(packet.length)
        const bth = fieldsOf(layers, 'BTH')
        expect([bth.PSN, bth['Acknowledge request'], bth['Destination QP']]).toEqual([
          String(row.psn),
          row.ackReq ? 'yes' : 'no',
          `0x${row.destQp!.toString(16).padStart(6, '0')} (${row.destQp})`,
        ])
        expect(layers.at(-1)!.title).toBe(row.icrc === 'valid' ? 'ICRC, right' : 'ICRC, WRONG')
      }
      await showCapture(source, check, { limit: 50 })
    }
    expect(seen).toBeGreaterThan(300)
  })

  it('of extension headers', () => {
    const write = roceFrame({
      opcode: WireOpcode.RcWriteOnlyWithImm,
      destQp: 5,
      payload: 7,
      extension: Uint8Array.of(...reth(0x1234_5678_9abc, 0x77, 7), 0, 0, 0, 9),
    })
    const layers = look(write)
    expect(names(layers)).toEqual(['Ethernet', 'IPv4', 'UDP', 'BTH', 'RETH', 'ImmDt', 'Payload', 'Pad', 'ICRC'])
    expect(fieldsOf(layers, 'RETH')).toEqual({ VA: '0x123456789abc', R_Key: '0x77', 'DMA length': '7' })
    expect(fieldsOf(layers, 'ImmDt')).toEqual({ Data: '0x9' })
    expect(fieldsOf(layers, 'BTH').Opcode).toBe('RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE (0x0b)')
    const nak = look(roceFrame({ opcode: WireOpcode.RcAck, extension: aeth(0x62, 3) }))
    expect(nak.find(({ title }) => title.startsWith('AETH'))!.title).toBe('AETH, NAK, remote access error')
    expect(fieldsOf(nak, 'AETH')).toEqual({ Syndrome: '0x62 (NAK, remote access error)', MSN: '3' })
  })

  it('of a connection message', () => {
    const gid = Uint8Array.from({ length: 16 }, (_, i) => i)
    const message = cmMessage('REJ', 7n, { localCommId: 1, remoteCommId: 2, reason: 28, privateData: gid })
    const payload = new Uint8Array(256)
    emitCm(message, payload, 0)
    const extension = deth(1, 0x80010000)
    const layers = look(roceFrame({ opcode: WireOpcode.UdSendOnly, destQp: 1, extension, payload }))
    expect(names(layers).slice(3)).toEqual(['BTH', 'DETH', 'MAD', 'CM REJ', 'ICRC'])
    expect(fieldsOf(layers, 'MAD')['Attribute ID']).toBe('REJ (0x0012)')
    expect(fieldsOf(layers, 'CM REJ')).toMatchObject({
      'Local comm ID': '0x1',
      Reason: '28, consumer reject',
      'Private data': expect.stringMatching(/^000102030405/),
    })
  })

  it('of an ICRC that is wrong', () => {
    const frame = roceFrame({ opcode: WireOpcode.RcSendOnly, payload: 8 })
    const right = fieldsOf(look(frame), 'ICRC').ICRC!.slice(0, 10)
    frame[frame.length - 1]! ^= 1
    expect(fieldsOf(look(frame), 'ICRC').ICRC).toMatch(new RegExp(`, WRONG, should be ${right}$`))
  })

  it('of InfiniBand, RoCEv1 and Linux cooked', () => {
    const send = { opcode: WireOpcode.RcSendOnly, payload: 8 }
    expect(names(look(infiniBandPacket(send, true), LinkType.InfiniBand))).toEqual([
      'LRH',
      'GRH',
      'BTH',
      'Payload',
      'ICRC',
      'VCRC',
    ])
    expect(names(look(infiniBandPacket(send, false), LinkType.InfiniBand))).toEqual([
      'LRH',
      'BTH',
      'Payload',
      'ICRC',
      'VCRC',
    ])
    const cooked = new Uint8Array([...new Uint8Array(14), 0x89, 0x15, ...globalPacket(send)])
    expect(names(look(cooked, LinkType.LinuxSll))).toEqual(['Linux cooked', 'GRH', 'BTH', 'Payload', 'ICRC'])
  })

  it('of a packet in others', () => {
    const around: Record<string, string> = {}
    for (const [name, put] of Object.entries(encapsulations)) {
      for (const source of ['10.0.0.1', '::1']) {
        const destination = source === '::1' ? '::2' : '10.0.0.2'
        const layers = look(put(rocePacket({ opcode: WireOpcode.RcSendOnly, payload: 8, source, destination })))
        expect(names(layers).slice(-5)).toEqual([source === '::1' ? 'IPv6' : 'IPv4', 'UDP', 'BTH', 'Payload', 'ICRC'])
        for (const [i, { start }] of layers.entries()) expect(start, name).toBe(i === 0 ? 0 : layers[i - 1]!.end)
        around[name] = names(layers.slice(0, -5)).join(' > ')
      }
    }
    expect(around).toMatchInlineSnapshot(`
      {
        "Cisco metadata": "Ethernet > Cisco metadata",
        "ERSPAN I": "Ethernet > IPv4 > ERSPAN > Ethernet",
        "ERSPAN II": "Ethernet > IPv4 > ERSPAN > Ethernet",
        "ERSPAN III": "Ethernet > IPv4 > ERSPAN > Ethernet",
        "GRE, Ethernet": "Ethernet > IPv6 > GRE > Ethernet",
        "GRE, IP": "Ethernet > IPv4 > GRE",
        "GRE, NVGRE": "Ethernet > IPv4 > GRE > Ethernet",
        "GRE, checksum": "Ethernet > IPv4 > GRE",
        "GTP-U": "Ethernet > IPv4 > UDP > GTP-U",
        "GTP-U, sequence and extension": "Ethernet > IPv4 > UDP > GTP-U",
        "Geneve": "Ethernet > IPv6 > UDP > Geneve > Ethernet",
        "IP in IP in PPPoE in VLANs": "Ethernet > VLAN 5 > VLAN 6 > PPPoE > IPv4",
        "IP in IPv4": "Ethernet > IPv4",
        "IP in IPv6": "Ethernet > IPv6",
        "MPLS": "Ethernet > MPLS > MPLS",
        "MPLS in UDP": "Ethernet > IPv4 > UDP > MPLS",
        "MPLS, Ethernet": "Ethernet > MPLS > Pseudowire control word > Ethernet",
        "PPPoE": "Ethernet > PPPoE",
        "TZSP": "Ethernet > IPv4 > UDP > TZSP > Ethernet",
        "VN-Tag and a VLAN": "Ethernet > VN-Tag > VLAN 5",
        "VXLAN": "Ethernet > IPv4 > UDP > VXLAN > Ethernet",
        "VXLAN in ERSPAN": "Ethernet > IPv4 > ERSPAN > Ethernet > IPv4 > UDP > VXLAN > Ethernet",
        "VXLAN-GPE, Ethernet": "Ethernet > IPv4 > UDP > VXLAN-GPE > Ethernet",
        "VXLAN-GPE, IP": "Ethernet > IPv6 > UDP > VXLAN-GPE",
      }
    `)
  })

  it('never throw, and stay within what was captured', async () => {
    const message = new Uint8Array(256)
    emitCm(cmMessage('REQ', 1n, { localCommId: 9 }), message, 0)
    const spec = { opcode: WireOpcode.RcWriteOnly, payload: 8, extension: reth(1, 2, 8) }
    const good = [
      roceFrame(spec),
      roceFrame({ opcode: WireOpcode.UdSendOnly, destQp: 1, extension: deth(1, 2), payload: message }),
      ...Object.values(encapsulations).map((put) => put(rocePacket(spec))),
    ]
    const mutated = fc
      .tuple(fc.constantFrom(...good), fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 8 }), fc.nat(400))
      .map(([base, changes, cut]) => {
        const b = base.slice(0, Math.max(base.length - (cut % 3 === 0 ? cut : 0), 0))
        for (const [at, value] of changes) if (at < b.length) b[at] = value
        return b
      })
    await holds(
      fc.property(mutated, (bytes) => {
        const packet = packetOf(bytes)
        packet.originalLength += 10
        const d = new Dissection()
        dissect(packet, d, true)
        let before = 0
        for (const { start, end } of layersOf(packet, d)) {
          expect(start).toBeGreaterThanOrEqual(before)
          expect(end).toBeGreaterThanOrEqual(start)
          expect(end).toBeLessThanOrEqual(bytes.length)
          before = end
        }
        const row = { number: 1, time: 0, delta: 0, length: 1, kind: 'RoCEv2' } as const
        expect([...verboseLines(row, packet, d)].length).toBeGreaterThan(2)
      }),
      500,
    )
  })
})

it('a hexadecimal dump has every byte, wherever the packet begins', () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => i * 7)
  const packet = packetOf(bytes)
  packet.offset = 3
  packet.length = 70
  const lines = [...hexLines(packet)]
  expect(lines).toHaveLength(5)
  expect(lines[1]).toBe('0010  85 8c 93 9a a1 a8 af b6  bd c4 cb d2 d9 e0 e7 ee  ................')
  expect(lines[0]!.slice(56)).toBe('..#*18?FMT[bipw~')
  const dumped = lines.flatMap((line) => line.slice(6, 55).trim().split(/ +/)).map((digits) => Number(`0x${digits}`))
  expect(dumped).toEqual([...bytes.subarray(3, 73)])
})
