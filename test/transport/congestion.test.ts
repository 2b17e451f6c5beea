/** Congestion control: CNPs for marked packets, and DCQCN at the sender, in virtual time. */
import { describe, expect } from 'vitest'
import { Opcode, QpType } from '../../src/index.ts'
import { Dcqcn } from '../../src/transport/index.ts'
import { ack, mtu, nak, ours, type Packet, type Script, scripted, theirs } from './script.ts'
import { link } from './virtual.ts'

const on = { congestionControl: true, bytes: 1 << 16 }
const marked = (psn: number): Packet => ({
  ...{ op: 'RcWriteOnly', psn, reth: { va: 0n, rkey: 0, dmaLength: 0 }, trafficClass: 3 },
})
const cnp: Packet = { op: 'Cnp', becn: true, cnp: { reserved: new Uint8Array(16) } }
const line = 100e9

/** Bits a second that go out in `ns` while everything is acknowledged at once. */
function measure(s: Script, ns: number): number {
  const until = link.nowNs + ns
  let sent = 0
  while (link.nowNs < until) {
    for (const { op, psn, length, ackReq } of s.take()) {
      if (op === 'RcAck') continue
      sent += length + 12
      if (ackReq) s.answer(psn)
    }
    while (s.completion() !== null) s.post(Opcode.Write, { length: 1 << 16 })
    s.wait(200)
  }
  return (sent * 8e9) / ns
}

describe('CNPs', () => {
  // IBA CA17-44
  scripted(
    'a marked packet is answered by one, at most every 50 µs',
    (s) => {
      s.send(marked(theirs), marked(theirs + 1))
      s.expect({ op: 'Cnp', psn: 0 })
      s.expectSilence()
      s.wait(Dcqcn.cnpIntervalNs - 1)
      s.send(marked(theirs + 2))
      s.expectSilence()
      s.wait(1)
      s.send(marked(theirs + 3))
      s.expect({ op: 'Cnp' })
      expect(s.counted()).toMatchObject({ ecn_marked: 4, cnps_sent: 2 })
    },
    on,
  )

  scripted('without congestion control marks and CNPs are counted, no more', (s) => {
    s.send(marked(theirs), cnp)
    s.expectSilence()
    expect(s.counted()).toMatchObject({ ecn_marked: 1, cnps_rcvd: 1 })
    s.post(Opcode.Send, { length: 16 * mtu })
    expect(s.take().length).toBe(16)
  })

  scripted(
    'a CNP from another address, or to a QP of UD, is dropped',
    (s) => {
      s.send({ ...cnp, from: 1 })
      expect(s.counted()).toMatchObject({ drops_source: 1 })
      expect(s.counted()).not.toHaveProperty('cnps_rcvd')
    },
    on,
  )

  scripted(
    'one that is marked itself is not answered with another',
    (s) => {
      s.send({ ...cnp, trafficClass: 3 })
      s.expectSilence()
      expect(s.counted()).toMatchObject({ cnps_rcvd: 1 })
      expect(s.counted()).not.toHaveProperty('ecn_marked')
    },
    on,
  )

  scripted(
    'UD has no use for one',
    (s) => {
      s.send(cnp)
      expect(s.counted()).toMatchObject({ drops_opcode: 1 })
    },
    { ...on, type: QpType.UD, connect: { pathMtu: 4096 } },
  )
})

describe('the sender', () => {
  // IBA CA17-45
  scripted(
    'goes at half the rate after the first CNP, and comes back',
    (s) => {
      s.send(cnp)
      for (let i = 0; i < 4; i++) s.post(Opcode.Write, { length: 1 << 16 })
      const first = measure(s, 50_000)
      expect(first / line).toBeGreaterThan(0.4)
      expect(first / line).toBeLessThan(0.6)
      const later = measure(s, 110_000)
      expect(later).toBeGreaterThan(first * 1.3)
      // After two milliseconds there is no limit: a burst goes out as far as the window reaches.
      s.wait(2e6)
      s.answer(s.take().findLast(({ ackReq }) => ackReq)!.psn)
      expect(s.take().length).toBeGreaterThan(100)
    },
    on,
  )

  scripted(
    'goes slower with each CNP, and never stops',
    (s) => {
      for (let i = 0; i < 4; i++) s.post(Opcode.Write, { length: 1 << 16 })
      let last = Number.POSITIVE_INFINITY
      for (let i = 0; i < 5; i++) {
        s.send(cnp)
        const rate = measure(s, 30_000)
        expect(rate).toBeLessThan(last)
        last = rate
      }
      for (let i = 0; i < 200; i++) s.send(cnp)
      expect(measure(s, 2e6)).toBeGreaterThan(0)
    },
    on,
  )

  scripted(
    'the ACK timeout and NAKs work while it goes slowly',
    (s) => {
      for (let i = 0; i < 30; i++) s.send(cnp)
      s.post(Opcode.Send, { length: 4 * mtu })
      expect(s.take().length).toBe(1)
      s.wait(1e6)
      expect(s.take().map(({ psn }) => psn)).toEqual([ours + 1, ours + 2, ours + 3])
      s.answer(ours + 2, nak.sequence)
      s.wait(1e6)
      expect(s.take().map(({ psn }) => psn)).toEqual([ours + 2, ours + 3])
      s.wait(70e6)
      expect(s.take().map(({ psn }) => psn)).toEqual([ours + 2, ours + 3])
      s.answer(ours + 3, ack)
      s.expectCompletion({ status: 'Success' })
      s.wait(1e9)
      s.expectSilence()
      expect(s.device.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY)
    },
    on,
  )

  scripted(
    'is not taken for a peer that does not answer while no packet has asked it to',
    (s) => {
      // A round trip of a microsecond was measured: what is lost is sent again soon.
      s.post(Opcode.Send, { length: 8 })
      s.take()
      s.wait(1000)
      s.answer(ours)
      s.expectCompletion({ status: 'Success' })
      for (let i = 0; i < 100; i++) {
        s.send(cnp)
        s.wait(1000)
      }
      // At 10 Mbit/s 64 packets, of which the last one asks for an ACK, take 54 ms.
      s.post(Opcode.Write, { length: 1 << 16 })
      let sent = 0
      for (let ns = 0; sent < 64 && ns < 200e6; ns += 50_000) {
        s.send(cnp)
        s.wait(50_000)
        for (const { op, psn, ackReq } of s.take()) {
          if (op === 'RcAck') continue
          sent++
          if (ackReq) s.answer(psn)
        }
      }
      s.expectCompletion({ status: 'Success' })
      expect(s.counted()).not.toHaveProperty('early_retransmits')
      expect(s.counted()).not.toHaveProperty('retransmitted_pkts')
    },
    { ...on, connect: { timeout: 19, pathMtu: 1024 } },
  )

  scripted(
    'UC is slowed down too',
    (s) => {
      for (let i = 0; i < 30; i++) s.send(cnp)
      s.post(Opcode.Send, { length: 4 * mtu })
      expect(s.take().length).toBe(1)
      s.wait(1e6)
      expect(s.take().length).toBe(3)
      s.expectCompletion({ status: 'Success' })
    },
    { ...on, type: QpType.UC },
  )
})
