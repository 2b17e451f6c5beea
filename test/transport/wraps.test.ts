/**
 * What a QP remembers of a PSN when half of their circle has passed since: 2^23 packets, behind which comparisons turn round. What
 * counts a packet at a time is tested across its wrap by traffic.random.test.ts.
 */
import { expect } from 'vitest'
import { Opcode, SendFlag } from '../../src/index.ts'
import { TransportQp } from '../../src/transport/index.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import { creditCode, noCreditCode, psnAdd, psnDiff } from '../../src/wire/index.ts'
import { bytes, mtu, nak, ours, type Script, scripted, theirs } from './script.ts'

const halfCircle = 1 << 23

/** A word of the transport's part of the QP, and what it is set to. */
function word(s: Script, name: keyof typeof TransportQp, value?: number): number {
  const { i32 } = s.device.host
  const at = i32[s.device.host.qpWord(s.end.qp.slot) + layout.Qp.wire]! + TransportQp[name]
  if (value !== undefined) i32[at] = value
  return i32[at]!
}

const write = (s: Script, packets = 1): void =>
  s.post(Opcode.Write, { length: packets * mtu, sendFlags: SendFlag.Signaled })

scripted(
  'packets without a loss before one do not make the window small after it, however many they were',
  (s) => {
    write(s)
    s.answer(ours)
    // As long traffic without losses leaves it, a little before it is half of the circle behind.
    word(s, 'runFrom', psnAdd(ours, 4 - halfCircle))
    for (let i = 1; i < 5; i++) {
      write(s)
      s.answer(ours + i)
    }
    write(s, 3)
    s.answer(ours + 5, nak.sequence)
    expect(s.counted()).toMatchObject({ rcvd_seq_err: 1 })
    expect(word(s, 'window')).toBe(0)
  },
  { bytes: 64 * mtu },
)

scripted(
  'a WRITE after READs alone asks for its ACK as early as one after WRITEs',
  (s) => {
    const read = (i: number): void => {
      s.post(Opcode.Read, { length: 8 })
      s.send({ op: 'RcReadResponseOnly', psn: ours + i, payload: bytes(8), aeth: { syndrome: 0x1f, msn: i } })
    }
    read(0)
    expect(psnDiff(word(s, 'lastAckReq'), word(s, 'una'))).toBe(-1)
    word(s, 'lastAckReq', psnAdd(ours, 2 - halfCircle))
    read(1)
    read(2)
    s.take()
    write(s, 100)
    const asking = s.take().flatMap(({ ackReq, psn }) => (ackReq ? [psn - ours - 3] : []))
    // A quarter of the window, and the last.
    expect(asking).toEqual([63, 99])
  },
  { bytes: 128 * mtu },
)

scripted('a peer that has said nothing of credits for long can begin to limit them', (s) => {
  s.useCredits()
  const send = (): void => s.post(Opcode.Send, { length: 8, sendFlags: SendFlag.Signaled })
  send()
  s.answer(ours, noCreditCode, 1)
  // As more than half of the circle of requests leaves them, all of which the peer has acknowledged so.
  for (const msn of [0x500000, 0x9fffff]) {
    word(s, 'ssn', msn - 1)
    send()
    s.answer(s.take().at(-1)!.psn, noCreditCode, msn)
  }
  send()
  s.answer(s.take().at(-1)!.psn, creditCode(2), 0xa00000)
  for (let i = 0; i < 5; i++) send()
  expect(s.take()).toHaveLength(2)
})

scripted('an ACK that is sent after a takeover never names a PSN that is to come', (s) => {
  const read = (i: number): void => s.send({ op: 'RcReadRequest', psn: theirs + i, ...s.reth({ length: 8 }) })
  read(0)
  // As READs alone leave it, a little before it is half of the circle behind.
  word(s, 'plainPsn', psnAdd(theirs, 3 - halfCircle))
  for (let i = 1; i < 6; i++) read(i)
  s.take()
  s.device.orphan()
  s.drive()
  const named = s.take().filter(({ op }) => op === 'RcAck')
  expect(named).toHaveLength(1)
  expect(psnDiff(named[0]!.psn, theirs + 6)).toBeLessThan(0)
})
