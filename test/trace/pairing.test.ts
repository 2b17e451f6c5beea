/** Which two directions belong together, and how that is known. */
import { describe, expect, it } from 'vitest'
import { fileSource } from '../../src/files/index.ts'
import { analyseCapture, type Basis, type Row, showCapture } from '../../src/trace/index.ts'
import { type CmMessage, cmMessage, emitCm, put16, WireOpcode } from '../../src/wire/index.ts'
import { deth, ethernet, roceFrame } from './packets.ts'
import { A, B, Script } from './script.ts'

const capture = (name: string) => fileSource(new URL(`../captures/${name}.pcap`, import.meta.url).pathname)

describe('captures of Soft-RoCE', () => {
  it.each<[string, (Basis | null)[]]>([
    ['rc_pingpong_mtu1024', ['ack']],
    ['rc_pingpong_loss3', ['ack']],
    ['srq_pingpong', ['ack', 'ack', 'ack', 'ack']],
    ['uc_pingpong', ['only']],
    ['ud_pingpong', ['deth']],
    ['rping', ['deth', 'cm']],
    ['rstream', ['deth', 'cm']],
    ['ucmatose', ['deth', 'cm']],
    ['udaddy', ['deth', 'deth']],
    ['write_bw', ['ack']],
    ['read_lat', ['ack']],
    ['atomic_lat', ['ack']],
  ])('%s: %s', async (name, bases) => {
    const { conversations, packets } = await analyseCapture(capture(name))
    expect(conversations.map(({ paired }) => paired)).toEqual(bases)
    expect(conversations.map(({ number }) => number)).toEqual(bases.map((_, i) => i + 1))
    let counted = 0
    for (const { directions } of conversations) {
      expect(directions).toHaveLength(2)
      const [there, back] = directions
      expect([there!.source, there!.sourceQp]).toEqual([back!.destination, back!.destinationQp])
      counted += there!.packets + back!.packets
    }
    expect(counted).toBe(packets)
  })

  it('the loss of 3 % is seen: each gap has its NAK from the other side', async () => {
    const { conversations } = await analyseCapture(capture('rc_pingpong_loss3'))
    const [there, back] = conversations[0]!.directions
    expect([there, back].map((d) => [d!.messages.send, d!.bytes, d!.unacknowledged])).toEqual([
      [30, 300_000, 0],
      [30, 300_000, 0],
    ])
    expect([there!.gaps, back!.gaps]).toEqual([back!.naks.psnSequence, there!.naks.psnSequence])
    expect(there!.missingPackets).toBe(there!.latePackets)
    expect(there!.retransmissions).toBeGreaterThan(20)
  })

  it('retransmissions after a time-out are seen, where nothing was lost', async () => {
    const { conversations } = await analyseCapture(capture('rc_pingpong_mtu1024'))
    expect(conversations[0]!.directions.map((d) => [d.messages.send, d.gaps, d.naks.psnSequence])).toEqual([
      [20, 0, 0],
      [20, 0, 0],
    ])
    expect(conversations[0]!.directions.map((d) => d.retransmissions)).toEqual([30, 20])
  })

  it.each(['write_bw', 'rping', 'rstream', 'ucmatose'])('%s lost nothing', async (name) => {
    const { conversations } = await analyseCapture(capture(name))
    for (const { directions } of conversations)
      for (const d of directions)
        expect([d.gaps, d.retransmissions, d.restarts, d.unacknowledged, d.repeatedAnswers]).toEqual([0, 0, 0, 0, 0])
  })

  it('a second reading knows the connection from its first packet', async () => {
    const rows: Row[] = []
    await showCapture(capture('uc_pingpong'), (row) => rows.push(row))
    expect(rows.every(({ conversation, srcQp }) => conversation === 1 && srcQp === 0x14)).toBe(true)
  })
})

describe('by ACKs', () => {
  it('many QPs between the same hosts find their own', () => {
    const s = new Script()
    const count = 200
    const psnOf = (i: number) => (i * 80_000 + 7) & 0xffffff
    for (let i = 0; i < count; i++) s.request({ psn: psnOf(i), destQp: 0x1000 + i })
    for (let i = count - 1; i >= 0; i--) s.ack(psnOf(i), 0x1f, { destQp: 0x8000 + i })
    for (let i = 0; i < count; i++) {
      const flow = s.analysis.table.flows[i]!
      expect(flow).toMatchObject({ destQp: 0x1000 + i, srcQp: 0x8000 + i, basis: 'ack' })
    }
  })

  it('two that have the same PSN outstanding are not guessed between', () => {
    const s = new Script()
    s.request({ psn: 5, destQp: 1 })
    s.request({ psn: 5, destQp: 2 })
    expect(s.ack(5, 0x1f, { destQp: 0x11 }).unpaired).toBe(true)
    s.request({ psn: 6, destQp: 1 })
    expect(s.ack(6, 0x1f, { destQp: 0x11 })).toMatchObject({ srcQp: 1 })
    expect(s.analysis.table.flows[0]).toMatchObject({ destQp: 1, srcQp: 0x11 })
  })

  it('a QP that is connected to itself', () => {
    const s = new Script()
    const own = { source: A, destination: A, destQp: 7 }
    s.request({ psn: 1, ...own })
    expect(s.ack(1, 0x1f, own)).toMatchObject({ conversation: 1, srcQp: 7 })
  })
})

describe('by what the capture says', () => {
  const mad = (source: string, destination: string, type: 'REQ' | 'REP', fields: object): Uint8Array => {
    const payload = new Uint8Array(256)
    emitCm(cmMessage(type, 1n, fields) as CmMessage, payload, 0)
    return roceFrame({
      opcode: WireOpcode.UdSendOnly,
      destQp: 1,
      extension: deth(0x80010000, 1),
      source,
      destination,
      payload,
    })
  }

  it('REQ and REP tell QPs, first PSNs and the MTU', () => {
    const s = new Script()
    s.frame(mad(A, B, 'REQ', { localCommId: 1, localQpn: 0xa, startingPsn: 500, pathMtu: 3 }))
    s.frame(mad(B, A, 'REP', { localCommId: 2, remoteCommId: 1, localQpn: 0xb, startingPsn: 900 }))
    // A READ of 3000 bytes takes three PSNs at 1024.
    expect(s.read(900, 3000)).toMatchObject({ srcQp: 0xa })
    expect(s.request({ psn: 903 }).missing).toBeUndefined()
    expect(s.request({ psn: 905 }).missing).toBe(1)
    // B's first request is not there.
    const back = roceFrame({
      opcode: WireOpcode.RcSendOnly,
      payload: 1,
      source: B,
      destination: A,
      destQp: 0xa,
      psn: 501,
    })
    expect(s.frame(back)).toMatchObject({ missing: 1, srcQp: 0xb })
    const flows = s.analysis.table.flows.filter(({ service }) => service === 0)
    expect(flows.map(({ basis, mtu }) => [basis, mtu])).toEqual([
      ['cm', 1024],
      ['cm', 1024],
    ])
  })

  it('the lines that pingpong programs exchange tell QPs, several at once too', () => {
    const line = (qpn: number, psn: number) =>
      `0000:${qpn.toString(16).padStart(6, '0')}:${psn.toString(16).padStart(6, '0')}:${'0'.repeat(32)}\0`
    const tcp = (source: number, destination: number, ports: [number, number], text: string): Uint8Array => {
      const b = new Uint8Array(40 + text.length)
      b[0] = 0x45
      put16(b, 2, b.length)
      b[9] = 6
      b.set([10, 0, 0, source], 12)
      b.set([10, 0, 0, destination], 16)
      put16(b, 20, ports[0])
      put16(b, 22, ports[1])
      b[32] = 0x50
      b.set(new TextEncoder().encode(text), 40)
      return ethernet(0x0800, b)
    }
    const s = new Script()
    s.frame(tcp(1, 2, [40_000, 18515], line(0xa, 100)))
    s.frame(tcp(1, 2, [40_000, 18515], line(0xc, 200)))
    s.frame(tcp(2, 1, [18515, 40_000], line(0xb, 300) + line(0xd, 400)))
    expect(s.request({ psn: 100 })).toMatchObject({ srcQp: 0xa })
    expect(s.request({ psn: 201, destQp: 0xd })).toMatchObject({ srcQp: 0xc, missing: 1 })
    const uc = { opcode: WireOpcode.UcSendOnly, payload: 1, source: B, destination: A, destQp: 0xa, psn: 300 }
    expect(s.frame(roceFrame(uc))).toMatchObject({ srcQp: 0xb })
    expect(s.flow.basis).toBe('pingpong')
  })
})
