/** What a flow knows of its past: nothing of another flow that it was, and nothing of the lap of its PSNs before this one. */
import { describe, expect, it } from 'vitest'
import { Flow, Service } from '../../src/trace/flow.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { Script } from './script.ts'

const limits = {
  latencies: { count: 0, unmeasured: 0, add: () => {}, summary: () => undefined },
  rings: { bytesLeft: 1 << 20 },
}

it('forgets all that it had counted when it becomes another one', () => {
  const flow = new Flow(1, 2, 3, 4, Service.RC, -1, limits)
  flow.begin(100, true)
  flow.pause(true)
  flow.outstanding.put(100, 0, 1, 5, 1)
  const fields = flow as unknown as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'number') fields[name] = 7
    else if (typeof value === 'boolean') fields[name] = !value
    else if (value === undefined) fields[name] = flow
  }
  flow.naks.fill(7)
  flow.outstanding.free()
  flow.renew(10, 20, 30, 40, Service.UD, 50)
  expect(flow).toEqual(new Flow(10, 20, 30, 40, Service.UD, 50, limits))
  expect(flow.outstanding.find(100)).toBe(-1)
  flow.begin(7, true)
  expect(flow.isResumed).toBe(false)
})

describe('a sequence that is longer than half of the circle of PSNs, and than all of it', () => {
  const step = 60_000
  const mtu = 1024
  /** READs of so many responses each, up to `packets` PSNs behind `psn`; the PSN that comes next. */
  const readOn = (s: Script, psn: number, packets: number, acknowledged: boolean): number => {
    for (let done = 0; done < packets; done += step, psn += step) {
      const row = s.read(psn & 0xffffff, step * mtu)
      expect([row.missing, row.restart, row.retransmission]).toEqual([undefined, undefined, undefined])
      if (acknowledged) s.ack((psn + step - 1) & 0xffffff)
    }
    return psn
  }
  const begun = (psn: number): Script => {
    const s = new Script()
    s.request({ psn, opcode: WireOpcode.RcSendFirst, payload: mtu })
    s.request({ psn: psn + 1, opcode: WireOpcode.RcSendLast })
    s.ack(psn + 1)
    return s
  }

  it.each([140, 281, 421])('after %i 60,000ths what is sent again is that, and nothing was missing before', (steps) => {
    const s = begun(3)
    const next = readOn(s, 5, steps * step, true)
    const sent = [0, 1, 2].map((i) => s.request({ psn: (next + i) & 0xffffff }))
    expect(s.request({ psn: next & 0xffffff })).toMatchObject({ retransmission: true, refersTo: sent[0]!.number })
    expect(s.flow).toMatchObject({ gaps: 0, missing: 0, late: 0, duplicates: 0, retransmissions: 1, restarts: 0 })
  })

  it('an ACK measures no request of the lap before', () => {
    const s = begun(3)
    const before = s.flow.latencies.count
    // To 8,000 PSNs behind where it began; one that is answered with responses asks for no ACK.
    const next = readOn(s, 5, 279 * step, false)
    s.read(next & 0xffffff, ((1 << 24) + 8000 - next) * mtu)
    const ack = s.ack(7999)
    expect(ack.refersTo).toBeUndefined()
    expect(s.flow.latencies.count).toBe(before)
  })

  it('without an ACK in the capture what comes late is late', () => {
    const s = new Script()
    s.request({ psn: 3, opcode: WireOpcode.RcSendFirst, payload: mtu })
    const next = readOn(s, 4, 141 * step, false)
    expect(s.flow.unacknowledged).toBeGreaterThan(1e6)
    s.request({ psn: next })
    s.request({ psn: next + 2 })
    expect(s.request({ psn: next + 1 })).toMatchObject({ late: true })
    expect(s.flow).toMatchObject({ gaps: 1, missing: 1, late: 1, duplicates: 0, retransmissions: 0 })
  })

  it('a gap of the lap before is none of this one', () => {
    const s = begun(3)
    s.request({ psn: 10 })
    expect(s.flow).toMatchObject({ gaps: 1, missing: 5 })
    s.ack(10)
    const next = readOn(s, 11, 279 * step, true)
    s.read(next & 0xffffff, ((1 << 24) + 100 - next) * mtu)
    s.ack(99)
    // Among what a READ took, where the gap was: a duplicate.
    expect(s.request({ psn: 7 })).toMatchObject({ duplicate: true })
    expect(s.flow).toMatchObject({ gaps: 1, missing: 5, late: 0 })
  })
})
