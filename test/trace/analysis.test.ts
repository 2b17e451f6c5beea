/** What the history of a connection says about a packet. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { psnDiff, WireOpcode } from '../../src/wire/index.ts'
import { holds } from '../property.ts'
import { deth, roceFrame } from './packets.ts'
import { A, B, Script } from './script.ts'

describe('requests', () => {
  it('in sequence have nothing to remark, across the end of the PSNs too', () => {
    const s = new Script()
    for (const psn of [0xfffffe, 0xffffff, 0, 1]) {
      const row = s.request({ psn })
      expect([row.retransmission, row.missing, row.late, row.restart]).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ])
    }
    expect(s.flow).toMatchObject({ sends: 4, requestBytes: 32, retransmissions: 0, gaps: 0 })
  })

  it('sent again is a retransmission of the first; after its ACK, a duplicate', () => {
    const s = new Script()
    s.request({ psn: 5 })
    expect(s.request({ psn: 5 })).toMatchObject({ retransmission: true, refersTo: 1 })
    s.ack(5)
    expect(s.request({ psn: 5 })).toMatchObject({ retransmission: true, duplicate: true, refersTo: 1 })
    expect(s.flow).toMatchObject({ sends: 1, requestBytes: 8, retransmissions: 2, duplicates: 1 })
  })

  it('leave a gap, which a late one fills', () => {
    const s = new Script()
    s.request({ psn: 5 })
    expect(s.request({ psn: 8 })).toMatchObject({ missing: 2 })
    expect(s.request({ psn: 6 }).late).toBe(true)
    expect(s.request({ psn: 6 })).toMatchObject({ retransmission: true, refersTo: 3 })
    expect(s.flow).toMatchObject({ sends: 3, gaps: 1, missing: 2, late: 1, retransmissions: 1 })
  })

  /** A and B have exchanged a message each way, so that the flows are known to belong together; then B begins to send. */
  const paired = (): Script => {
    const s = new Script()
    s.request({ psn: 5 })
    s.ack(5)
    return s
  }
  const fromB = { source: B, destination: A, destQp: 0xa }

  it.each([
    ['with a NAK', true],
    ['without', false],
  ])('of which a later one came first: %s', (_, nak) => {
    const s = paired()
    const { flows } = s.analysis.table
    expect(s.request({ ...fromB, psn: 81 })).toMatchObject({ conversation: 1 })
    s.request({ ...fromB, psn: 88 })
    if (nak) expect(s.ack(80, 0x60, { source: A, destination: B, destQp: 0xb })).toMatchObject({ nak: true })
    const first = s.request({ ...fromB, psn: 80 })
    expect([first.late, first.retransmission, first.duplicate]).toEqual([true, undefined, undefined])
    expect(s.request({ ...fromB, psn: 80 })).toMatchObject({ retransmission: true, refersTo: first.number })
    expect(s.request({ ...fromB, psn: 81 })).toMatchObject({ retransmission: true, refersTo: 3 })
    const expected = { sends: 3, requestBytes: 24, retransmissions: 2, duplicates: 0, late: 1, missing: 7, gaps: 2 }
    expect(flows[1]).toMatchObject(expected)
    expect(s.ack(81, 0x1f, { source: A, destination: B, destQp: 0xb })).toMatchObject({
      covers: { from: 80, to: 81, packets: 2 },
    })
    expect(s.request({ ...fromB, psn: 80 })).toMatchObject({ duplicate: true })
  })

  it('before those that the capture has may be acknowledged in it', () => {
    const s = paired()
    const fromA = { source: A, destination: B, destQp: 0xb }
    s.request({ ...fromB, psn: 100 })
    const early = s.ack(95, 0x1f, fromA)
    expect([early.unseen, early.repeat]).toEqual([true, undefined])
    expect(s.ack(95, 0x1f, fromA)).toMatchObject({ repeat: true })
    expect(s.request({ ...fromB, psn: 95 })).toMatchObject({ duplicate: true })
    expect(s.request({ ...fromB, psn: 96 })).toMatchObject({ late: true })
    expect(s.analysis.table.flows[1]).toMatchObject({ sends: 2, late: 1, missing: 4, gaps: 1 })
  })

  it('in any order are none of them a repetition', () => {
    holds(
      fc.property(
        fc.uniqueArray(fc.nat(60), { minLength: 1 }),
        fc.boolean(),
        fc.nat(0xffffff),
        (order, reliable, start) => {
          const s = new Script()
          const opcode = reliable ? WireOpcode.RcSendOnly : WireOpcode.UcSendOnly
          for (const offset of order) {
            const row = s.request({ psn: (start + offset) & 0xffffff, opcode })
            expect([row.retransmission, row.duplicate, row.restart]).toEqual([undefined, undefined, undefined])
          }
          const span = Math.max(...order) - Math.min(...order) + 1
          expect(s.flow.sends).toBe(order.length)
          expect(s.flow.missing - s.flow.late).toBe(span - order.length)
        },
      ),
    )
  })

  it('far off begin anew', () => {
    const s = new Script()
    s.request({ psn: 5 })
    expect(s.request({ psn: 5_000_000 })).toMatchObject({ restart: true })
    expect(s.request({ psn: 5_000_001 }).missing).toBeUndefined()
    expect(s.flow.restarts).toBe(1)
  })

  it('of UC are never retransmissions of what was acknowledged, but repeated', () => {
    const s = new Script()
    s.request({ psn: 1, opcode: WireOpcode.UcSendOnly })
    s.request({ psn: 2, opcode: WireOpcode.UcSendOnly })
    expect(s.request({ psn: 2, opcode: WireOpcode.UcSendOnly })).toMatchObject({ retransmission: true, refersTo: 2 })
    expect(s.request({ psn: 4, opcode: WireOpcode.UcSendOnly })).toMatchObject({ missing: 1 })
    expect(s.request({ psn: 3, opcode: WireOpcode.UcSendOnly })).toMatchObject({ late: true })
  })

  it('that are damaged do not count: their receiver drops them', () => {
    const s = new Script()
    s.request({ psn: 1 })
    const broken = roceFrame({
      opcode: WireOpcode.RcSendOnly,
      source: A,
      destination: B,
      destQp: 0xb,
      payload: 8,
      psn: 2,
    })
    broken[60]! ^= 1
    expect(s.frame(broken)).toMatchObject({ icrc: 'invalid', conversation: 1 })
    expect(s.request({ psn: 2 }).retransmission).toBeUndefined()
    expect(s.flow).toMatchObject({ icrcInvalid: 1, sends: 2, packets: 2 })
  })
})

describe('READs', () => {
  it('take as many PSNs as they have responses, once the MTU is known', () => {
    const s = new Script()
    s.read(10, 3000)
    expect(s.response(10, 'First', 1024)).toMatchObject({
      refersTo: 1,
      covers: { from: 10, to: 10, packets: 1, messages: 1 },
    })
    expect(s.response(11, 'Middle', 1024)).toMatchObject({ refersTo: 1 })
    expect(s.response(12, 'Last', 952)).toMatchObject({ refersTo: 1, latencyNs: 3000 })
    // The MTU is known now: 13 is next, and 16 after that.
    expect(s.read(13, 3000).missing).toBeUndefined()
    expect(s.request({ psn: 16 }).missing).toBeUndefined()
    expect(s.request({ psn: 18 }).missing).toBe(1)
    expect(s.flow).toMatchObject({ reads: 2, readBytes: 3000, mtu: 1024 })
    expect(s.flow.latencies.count).toBe(1)
  })

  it('before the MTU is known leave room for any', () => {
    const s = new Script()
    s.read(10, 3000)
    // 3 responses of 1024 bytes, or 12 of 256.
    expect(s.request({ psn: 13 }).missing).toBeUndefined()
    const t = new Script()
    t.read(10, 3000)
    expect(t.request({ psn: 22 }).missing).toBeUndefined()
    const u = new Script()
    u.read(10, 3000)
    expect(u.request({ psn: 23 }).missing).toBe(1)
  })

  it('answered again are repeated responses', () => {
    const s = new Script()
    s.read(10, 100)
    s.response(10, 'Only', 100)
    expect(s.read(10, 100)).toMatchObject({ retransmission: true, duplicate: true })
    expect(s.response(10, 'Only', 100)).toMatchObject({ repeat: true })
    expect(s.flow.readBytes).toBe(100)
  })
})

describe('answers', () => {
  it('cover everything before, and are timed from the first transmission', () => {
    const s = new Script()
    s.request({ psn: 1, opcode: WireOpcode.RcSendFirst, payload: 256, ackReq: false })
    s.request({ psn: 2, opcode: WireOpcode.RcSendLast })
    s.request({ psn: 3 })
    s.request({ psn: 3 }, 100)
    expect(s.ack(3)).toMatchObject({
      covers: { from: 1, to: 3, packets: 3, messages: 2 },
      refersTo: 3,
      latencyNs: 101_000,
    })
    expect(s.ack(3)).toMatchObject({ repeat: true })
    expect(s.flow.latencies.summary()).toMatchObject({ count: 2, minNs: 101_000, maxNs: 102_000 })
    expect(s.flow.unacknowledged).toBe(0)
  })

  it('NAKs acknowledge what is before, and are counted by reason', () => {
    const s = new Script()
    for (const psn of [1, 2, 4]) s.request({ psn })
    expect(s.ack(3, 0x60)).toMatchObject({
      nak: true,
      covers: { from: 1, to: 2, packets: 2 },
      answer: 'NAK, PSN sequence error',
    })
    for (const syndrome of [0x61, 0x62, 0x63, 0x64]) s.ack(4, syndrome)
    expect(s.ack(4, 0x21)).toMatchObject({ rnr: true, refersTo: 3, answer: 'RNR NAK, 0.01 ms' })
    expect(s.analysis.table.flows[1]).toMatchObject({ naks: [1, 1, 1, 1, 1, 0], rnrNaks: 1 })
  })

  it('of requests that the capture lacks say so', () => {
    const s = new Script()
    s.request({ psn: 1 })
    s.ack(1)
    expect(s.ack(5)).toMatchObject({ unseen: true })
    expect(new Script().ack(5)).toMatchObject({ unpaired: true })
  })

  it('any order of requests, losses and ACKs keeps the books straight', () => {
    holds(
      fc.property(fc.array(fc.tuple(fc.constantFrom('send', 'again', 'ack', 'skip'), fc.nat(40))), (steps) => {
        const s = new Script()
        let next = 0
        const sent = new Set<number>()
        for (const [what, n] of steps) {
          if (what === 'skip') next++
          else if (what === 'send' || sent.size === 0) {
            s.request({ psn: next })
            sent.add(next++)
          } else {
            const psn = [...sent][n % sent.size]!
            if (what === 'again') s.request({ psn })
            else s.ack(psn)
          }
        }
        if (sent.size === 0) return
        expect(s.flow.sends).toBe(sent.size)
        const again = s.rows.filter((row) => row.retransmission).length
        expect(again).toBe(s.flow.retransmissions)
        const requests = s.rows.filter((row) => row.operation === 'SEND').length
        expect(requests).toBe(sent.size + again)
      }),
    )
  })
})

describe('ACKs that were recorded before their requests', () => {
  it('make no duplicates, and no latencies', () => {
    const s = new Script()
    s.request({ psn: 1 })
    s.ack(1)
    for (let psn = 2; psn < 40; psn++) {
      expect(s.ack(psn)).toMatchObject({ unseen: true, covers: { from: psn, to: psn, packets: 0 } })
      const row = s.request({ psn })
      expect(row).toMatchObject({ overtaken: true })
      expect([row.retransmission, row.duplicate, row.late]).toEqual([undefined, undefined, undefined])
    }
    const { retransmissions, duplicates, overtaken, sends, unacknowledged, latencies } = s.flow
    expect([retransmissions, duplicates, overtaken, sends, unacknowledged, latencies.count]).toEqual([
      0, 0, 38, 39, 0, 1,
    ])
    // What is sent again is a duplicate then.
    expect(s.request({ psn: 39 })).toMatchObject({ duplicate: true })
    expect(s.request({ psn: 40 }).overtaken).toBeUndefined()
  })

  it('are found without anything that says which flows belong together', () => {
    const s = new Script()
    for (let psn = 1; psn < 20; psn++) {
      s.ack(psn)
      s.request({ psn })
    }
    s.analysis.finish()
    const [, requests] = s.analysis.table.flows
    expect(requests).toMatchObject({ retransmissions: 0, overtaken: 19, sends: 19, unacknowledged: 0 })
    expect(requests!.latencies.count).toBe(0)
  })

  it('are followed from the first one where the pair is known', () => {
    const first = new Script()
    const second = new Script(first.analysis)
    for (const s of [first, second]) {
      for (let psn = 1; psn < 20; psn++) {
        s.ack(psn)
        s.request({ psn })
      }
      s.analysis.finish()
    }
    expect(second.analysis.table.flows[1]).toMatchObject({ retransmissions: 0, overtaken: 19, sends: 19 })
    expect(second.rows.filter(({ overtaken }) => overtaken).length).toBe(19)
  })

  it('may stand for several', () => {
    const s = new Script()
    s.request({ psn: 1 })
    s.ack(1)
    s.ack(4)
    for (const psn of [2, 3, 4]) expect(s.request({ psn })).toMatchObject({ overtaken: true })
    s.request({ psn: 5 })
    s.request({ psn: 7 })
    // A gap that was acknowledged is filled late, and not a second time.
    s.ack(7)
    expect(s.request({ psn: 6 })).toMatchObject({ late: true })
    expect(s.request({ psn: 6 })).toMatchObject({ duplicate: true })
    expect(s.flow).toMatchObject({ missing: 1, late: 1, overtaken: 3, duplicates: 1, sends: 7 })
  })

  it('and those that are stamped before them are counted, not measured', () => {
    const s = new Script()
    s.request({ psn: 1 })
    s.ack(1, 0x1f, {}, 5)
    s.request({ psn: 2 })
    expect(s.ack(2, 0x1f, {}, -5).latencyNs).toBeUndefined()
    expect(s.flow.latencies.summary()).toMatchObject({ count: 1, minNs: 5000, maxNs: 5000 })
    expect(s.flow.latencies.unmeasured).toBe(1)
  })
})

describe('memory', () => {
  // Two packets of each flow, between which as many PSNs are left out as a ring has slots.
  const withGaps = (flows: number): Script => {
    const s = new Script()
    for (let destQp = 1; destQp <= flows; destQp++)
      for (const psn of [1, 16_384]) s.request({ psn, destQp, payload: 0 })
    return s
  }
  const slots = ({ analysis }: Script): number[] => analysis.table.flows.map(({ outstanding }) => outstanding.capacity)

  it('of outstanding requests has a limit; behind it, flows remember their last few', () => {
    const s = withGaps(800)
    expect(slots(s).reduce((sum, count) => sum + (count - 16) * 21, 0)).toBeLessThan(256 * 2 ** 20)
    expect([slots(s)[0], slots(s).at(-1)]).toEqual([16_384, 16])
    expect(s.analysis.table.flows.at(-1)).toMatchObject({ gaps: 1, missing: 16_382 })
    s.ack(16_384, 0x1f, { destQp: 0x11 })
    s.request({ psn: 16_385, destQp: 800 })
    expect(s.request({ psn: 16_385, destQp: 800 })).toMatchObject({ retransmission: true, refersTo: 1602 })
  })
})

describe('congestion', () => {
  it('CNPs belong to the flow that goes the same way; marks are counted', () => {
    const s = new Script()
    s.request({ psn: 1, tos: 3 })
    s.ack(1)
    const cnp = roceFrame({ opcode: WireOpcode.Cnp, source: B, destination: A, destQp: 0xa, ecn: 0x40 })
    expect(s.frame(cnp)).toMatchObject({ cnp: true, becn: true, conversation: 1 })
    expect(s.rows[0]).toMatchObject({ marked: true })
    expect(s.analysis.table.flows.map(({ cnps, marked }) => [cnps, marked])).toEqual([
      [0, 1],
      [1, 0],
    ])
  })
})

describe('datagrams', () => {
  it('are paired by their source QPs', () => {
    const s = new Script()
    const there = {
      opcode: WireOpcode.UdSendOnly,
      payload: 4,
      destQp: 0xb,
      extension: deth(1, 0xa),
      source: A,
      destination: B,
    }
    const back = { ...there, destQp: 0xa, extension: deth(1, 0xb), source: B, destination: A }
    s.frame(roceFrame(there))
    s.frame(roceFrame(back))
    // Another sender to the same QP is another conversation.
    s.frame(roceFrame({ ...there, extension: deth(1, 0xc) }))
    expect(s.rows.map(({ conversation, srcQp }) => [conversation, srcQp])).toEqual([
      [1, 0xa],
      [1, 0xb],
      [2, 0xc],
    ])
    expect(s.flow.basis).toBe('deth')
  })
})

it('PSNs are compared in a circle', () => {
  holds(
    fc.property(fc.nat(0xffffff), fc.integer({ min: -0x800000, max: 0x7fffff }), (psn, d) => {
      expect(psnDiff((psn + d) & 0xffffff, psn)).toBe(d)
    }),
  )
})
