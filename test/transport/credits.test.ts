/** End-to-end credits, a packet at a time. */
import { describe, expect } from 'vitest'
import { Opcode, QpType, SendFlag } from '../../src/index.ts'
import { creditCode } from '../../src/wire/index.ts'
import { ack, bytes, mtu, ours, rnr, type Script, scripted, theirs } from './script.ts'

const send = (s: Script, wrId: number): void => s.post(Opcode.Send, { length: 8, wrId, sendFlags: SendFlag.Signaled })
const psns = (s: Script): number[] => s.take().map(({ psn }) => psn - ours)

describe('the responder', () => {
  // IBA 9.7.7.2
  scripted('says how many receives it has left, in ACKs and answers', (s) => {
    s.useCredits()
    for (let i = 0; i < 7; i++) s.receive(64, i)
    s.send({ op: 'RcSendOnly', psn: theirs, payload: bytes(4), ackReq: true })
    s.expect({ op: 'RcAck', syndrome: creditCode(6), msn: 1 })
    s.send({ op: 'RcSendOnly', psn: theirs + 1, payload: bytes(4), ackReq: true })
    // Five is no value that can be said.
    s.expect({ op: 'RcAck', syndrome: creditCode(4), msn: 2 })
    s.send({ op: 'RcReadRequest', psn: theirs + 2, ...s.reth({ length: 4 }) })
    s.expect({ op: 'RcReadResponseOnly', syndrome: creditCode(4), msn: 3 })
    for (let i = 3; i < 8; i++) s.send({ op: 'RcSendOnly', psn: theirs + i, payload: bytes(4) })
    s.send({ op: 'RcSendOnly', psn: theirs + 7, payload: bytes(4) })
    s.expect({ op: 'RcAck', psn: theirs + 7, syndrome: 0 })
  })

  scripted('says nothing without an agreement', (s) => {
    s.receive()
    s.send({ op: 'RcSendOnly', psn: theirs, payload: bytes(4), ackReq: true })
    s.expect({ op: 'RcAck', syndrome: ack })
  })

  // IBA 9.7.7.2
  scripted('says nothing of an SRQ', (s) => {
    const srq = s.t.own(s.end.pd.createSrq({ maxWr: 4, maxSge: 1 }))
    const { pd, sendCq, recvCq } = s.end
    s.use(s.t.own(pd.createQp({ type: QpType.RC, sendCq, recvCq, srq })))
    s.useCredits()
    srq.postRecv({ wrId: 3, sgList: [s.end.sge(0, 64)] })
    s.send({ op: 'RcSendOnly', psn: theirs, payload: bytes(4), ackReq: true })
    s.expect({ op: 'RcAck', syndrome: ack })
  })
})

describe('the requester', () => {
  scripted('sends one message to learn of credits, then as many as it has', (s) => {
    s.useCredits()
    for (let i = 0; i < 6; i++) send(s, i)
    expect(psns(s)).toEqual([0])
    s.answer(ours, creditCode(2), 1)
    expect(psns(s)).toEqual([1, 2])
    s.answer(ours + 1, creditCode(1), 2)
    s.expectSilence()
    s.answer(ours + 2, creditCode(0), 3)
    // Without credits one goes out alone.
    expect(psns(s)).toEqual([3])
    s.answer(ours + 3, creditCode(16), 4)
    expect(psns(s)).toEqual([4, 5])
  })

  scripted('sends what takes no receive without credits', (s) => {
    s.useCredits()
    send(s, 1)
    s.post(Opcode.Write, { length: 8 })
    s.post(Opcode.Read, { length: 8 })
    expect(psns(s)).toEqual([0, 1, 2])
    send(s, 4)
    s.answer(ours, creditCode(0), 1)
    s.expectSilence()
    s.send({ op: 'RcReadResponseOnly', psn: ours + 2, aeth: { syndrome: creditCode(0), msn: 3 }, payload: bytes(8) })
    expect(psns(s)).toEqual([3])
  })

  scripted('an RNR NAK of the message without credit is met with patience', (s) => {
    s.useCredits()
    send(s, 1)
    send(s, 2)
    expect(psns(s)).toEqual([0])
    s.answer(ours, rnr(1))
    s.wait(10_000)
    expect(psns(s)).toEqual([0])
    s.answer(ours, creditCode(1), 1)
    expect(psns(s)).toEqual([1])
  })

  scripted('a late ACK takes no credit away, and code 31 gives all', (s) => {
    s.useCredits()
    for (let i = 0; i < 8; i++) send(s, i)
    s.take()
    s.answer(ours, creditCode(4), 1)
    expect(psns(s)).toEqual([1, 2, 3, 4])
    s.answer(ours + 2, creditCode(0), 1)
    s.expectSilence()
    s.answer(ours + 3, ack, 4)
    expect(psns(s)).toEqual([5, 6, 7])
  })

  // IBA 9.7.7.2
  scripted('of a message without credit one packet goes out, which asks for an ACK; the rest follows that', (s) => {
    s.useCredits()
    s.post(Opcode.Send, { length: 5 * mtu, wrId: 1, sendFlags: SendFlag.Signaled })
    s.expect({ op: 'RcSendFirst', psn: ours, ackReq: true })
    s.expectSilence()
    s.answer(ours, creditCode(0), 0)
    expect(psns(s)).toEqual([1, 2, 3, 4])
    s.answer(ours + 4, creditCode(0), 1)
    s.expectCompletion({ wrId: 1, status: 'Success' })
  })

  scripted('a repeated ACK grants credits', (s) => {
    s.useCredits()
    for (let i = 0; i < 6; i++) send(s, i)
    s.answer(ours, creditCode(1), 1)
    expect(psns(s)).toEqual([0, 1])
    s.answer(ours, creditCode(3), 1)
    expect(psns(s)).toEqual([2, 3])
    s.answer(ours, creditCode(2), 1)
    s.answer(ours, rnr(1), 1)
    s.answer(ours - 1, creditCode(16), 1)
    s.expectSilence()
    expect(s.counted()).toMatchObject({ drops_unexpected_ack: 3 })
  })

  scripted('does not ask without an agreement', (s) => {
    for (let i = 0; i < 4; i++) send(s, i)
    s.answer(ours, 0, 1)
    expect(psns(s)).toEqual([0, 1, 2, 3])
  })
})
