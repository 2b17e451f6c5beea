/** The requester of RC, a packet at a time. */
import { describe, expect } from 'vitest'
import { Access, incRkey, MwType, Opcode, QpState, SendFlag } from '../../src/index.ts'
import { read64 } from '../compliance/end.ts'
import {
  ack,
  bytes,
  mtu,
  nak,
  ours,
  type Packet,
  peerQp,
  rnr,
  type Script,
  scripted,
  textOf,
  theirs,
} from './script.ts'
import { link } from './virtual.ts'

const texts = (s: Script): string[] => s.take().map(textOf)
const psns = (s: Script): number[] => s.take().map(({ psn }) => psn)
const send = (s: Script, length = 8, wrId = 1, sendFlags: number = SendFlag.Signaled): void =>
  s.post(Opcode.Send, { length, wrId, sendFlags })

describe('sending', () => {
  scripted('a message in packets; the last one asks for an ACK', (s) => {
    s.end.buffer.set(bytes(1024))
    send(s, 2 * mtu + 3)
    s.expect({ op: 'RcSendFirst', psn: ours, ackReq: false, destQp: peerQp, payload: bytes(1024).subarray(0, mtu) })
    s.expect({ op: 'RcSendMiddle', psn: ours + 1, ackReq: false, length: mtu })
    s.expect({ op: 'RcSendLast', psn: ours + 2, ackReq: true, length: 3 })
    s.expectSilence()
    s.answer(ours + 1)
    s.expectNoCompletion()
    s.answer(ours + 2)
    s.expectCompletion({ status: 'Success' })
  })

  // IBA 9.7.5.1.2
  scripted('one ACK completes all before it, in order', (s) => {
    for (let i = 0; i < 5; i++) send(s, 8, i, i === 2 ? 0 : SendFlag.Signaled)
    s.answer(ours + 3)
    for (const wrId of [0, 1, 3]) s.expectCompletion({ wrId, status: 'Success' })
    s.expectNoCompletion()
    s.answer(ours + 4)
    s.expectCompletion({ wrId: 4 })
  })

  scripted('short messages wait for company while much is outstanding: until the next look', (s) => {
    const post = (length = 8): void => s.end.post(Opcode.Send, null, { length, wrId: 1, sendFlags: SendFlag.Signaled })
    for (let i = 0; i < 8; i++) {
      post()
      expect(psns(s)).toEqual([ours + i])
    }
    for (let i = 0; i < 3; i++) post()
    s.expectSilence()
    s.drive()
    expect(psns(s)).toEqual([ours + 8, ours + 9, ours + 10])
    // A long one goes at once, and takes those with it that waited.
    post()
    s.expectSilence()
    post(2 * mtu + 1)
    expect(psns(s)).toEqual([ours + 11, ours + 12, ours + 13, ours + 14])
    for (let i = 0; i < 47; i++) post()
    s.expectSilence()
    // So many do not wait any longer.
    post()
    expect(s.take()).toHaveLength(48)
    s.answer(ours + 62)
    post()
    expect(psns(s)).toEqual([ours + 63])
  })

  scripted('messages of one packet wait, as long as they are few in bytes, and longer ones do not', (s) => {
    const post = (length: number): void =>
      s.end.post(Opcode.Send, null, { length, wrId: 1, sendFlags: SendFlag.Signaled })
    for (let i = 0; i < 8; i++) post(mtu)
    expect(s.take()).toHaveLength(8)
    const many = Math.ceil((48 * 1024) / mtu)
    for (let i = 1; i < Math.min(many, 48); i++) post(mtu)
    s.expectSilence()
    post(mtu)
    expect(s.take()).toHaveLength(Math.min(many, 48))
    post(mtu + 1)
    expect(s.take()).toHaveLength(2)
  })

  scripted('what waits for company is sent at the end of what the program is doing', async (s) => {
    for (let i = 0; i < 10; i++) s.end.post(Opcode.Send, null, { length: 8, wrId: i, sendFlags: SendFlag.Signaled })
    expect(s.take()).toHaveLength(8)
    await null
    expect(s.take()).toHaveLength(2)
  })

  scripted('ACKs are asked for so often that the window never stands still', (s) => {
    send(s, 16384)
    const seen = s.take()
    const asked = seen.filter(({ ackReq }) => ackReq)
    expect(seen.length).toBe(16384 / mtu)
    expect(asked.length).toBeGreaterThanOrEqual(1)
    expect(seen.at(-1)!.ackReq).toBe(true)
    // With the window full nothing goes out; any ACK that was asked for lets it go on.
    for (let i = 0; i < 12; i++) send(s, 16384, i + 2)
    const window = s.take()
    expect(window.length + seen.length).toBe(256)
    expect(window.filter(({ ackReq }) => ackReq).length).toBeGreaterThanOrEqual(3)
    s.answer(ours + 63)
    expect(s.take().length).toBe(64)
  })

  scripted(
    'the numbers go around',
    (s) => {
      send(s, 3 * mtu)
      expect(psns(s)).toEqual([0xffffff, 0, 1])
      s.answer(0)
      s.wait(70e6)
      expect(psns(s)).toEqual([1])
      s.answer(1)
      s.expectCompletion({ status: 'Success' })
    },
    { connect: { sqPsn: 0xffffff } },
  )

  scripted('at most maxRdAtomic READs and atomics are outstanding; a fence waits for them', (s) => {
    s.post(Opcode.Read, { length: 8, wrId: 1 })
    s.post(Opcode.AtomicFetchAndAdd, { wrId: 2, compareAdd: 1n, offset: 64 })
    s.post(Opcode.Read, { length: 8, wrId: 3 })
    send(s, 8, 4)
    expect(texts(s)).toEqual([`RcReadRequest ${ours}`, `RcFetchAdd ${ours + 1}`])
    s.send({ op: 'RcReadResponseOnly', psn: ours, aeth: { syndrome: ack, msn: 1 }, payload: bytes(8) })
    expect(texts(s)).toEqual([`RcReadRequest ${ours + 2}`, `RcSendOnly ${ours + 3} 8 bytes`])
    send(s, 8, 5, SendFlag.Fence | SendFlag.Signaled)
    s.expectSilence()
    s.send({ op: 'RcAtomicAck', psn: ours + 1, aeth: { syndrome: ack, msn: 2 }, atomicAckEth: { original: 99n } })
    s.expectSilence()
    s.send({ op: 'RcReadResponseOnly', psn: ours + 2, aeth: { syndrome: ack, msn: 3 }, payload: bytes(8) })
    expect(texts(s)).toEqual([`RcSendOnly ${ours + 4} 8 bytes`])
    expect(read64(s.end.buffer, 64)).toBe(99n)
    for (const wrId of [1, 2, 3]) s.expectCompletion({ wrId, status: 'Success' })
    s.answer(ours + 4)
    for (const wrId of [4, 5]) s.expectCompletion({ wrId, status: 'Success' })
  })

  scripted(
    'a READ larger than a piece is asked for in pieces',
    (s) => {
      s.post(Opcode.Read, { length: 300 * mtu, offset: 0 })
      const first = s.expect({ op: 'RcReadRequest', psn: ours })
      s.expectSilence()
      const count = first.reth!.dmaLength / mtu
      expect(count).toBeLessThan(300)
      for (let i = 0; i < 300; i++) {
        const last = i === 299 || (i + 1) % count === 0
        const where = i % count === 0 ? 'First' : last ? 'Last' : 'Middle'
        const aeth = where === 'Middle' ? {} : { aeth: { syndrome: ack, msn: 1 } }
        s.send({ op: `RcReadResponse${where}`, psn: ours + i, ...aeth, payload: bytes(mtu, i) })
      }
      const second = s.expect({ op: 'RcReadRequest', psn: ours + count })
      expect(Number(second.reth!.va - first.reth!.va)).toBe(first.reth!.dmaLength)
      expect(first.reth!.dmaLength + second.reth!.dmaLength).toBe(300 * mtu)
      s.expectSilence()
      s.expectCompletion({ status: 'Success', byteLen: 300 * mtu })
      expect(s.counted()).toMatchObject({ rdma_sends: 1 })
      for (let i = 0; i < 300; i++) expect(s.end.buffer[i * mtu + 5]).toBe(bytes(6, i)[5])
    },
    { bytes: 300 * mtu },
  )

  // IBA 10.6.5.1
  scripted('LOCAL_INV waits until all before it is acknowledged', (s) => {
    const { mr, pd } = s.end
    const mw = pd.allocMw(MwType.Type2)
    const rkey = incRkey(mw.rkey)
    const bindMw = { mw, rkey, mr, addr: mr.addr, length: 64, accessFlags: Access.RemoteWrite }
    s.post(Opcode.BindMw, { wrId: 1, bindMw })
    s.expectCompletion({ wrId: 1, status: 'Success' })
    send(s, 8, 2)
    s.post(Opcode.LocalInv, { wrId: 3, invalidateRkey: rkey })
    s.take()
    const write = (psn: number): Packet => ({
      ...{ op: 'RcWriteOnly', psn, ...s.reth({ length: 4, rkey }), payload: bytes(4), ackReq: true },
    })
    s.send(write(theirs))
    s.expect({ op: 'RcAck', psn: theirs, syndrome: ack })
    s.answer(ours)
    for (const wrId of [2, 3]) s.expectCompletion({ wrId, status: 'Success' })
    s.send(write(theirs + 1))
    s.expect({ op: 'RcAck', psn: theirs + 1, syndrome: nak.access })
    mw.close()
  })
})

describe('sending again', () => {
  scripted('not when the timer expires with the ACK already there, behind other packets', (s) => {
    s.receive()
    send(s, 2 * mtu)
    expect(psns(s)).toEqual([ours, ours + 1])
    link.nowNs += 70e6
    s.device.batch = 1
    try {
      s.burst(
        { op: 'RcSendFirst', psn: theirs, payload: bytes(mtu) },
        { op: 'RcSendMiddle', psn: theirs + 1, payload: bytes(mtu) },
        { op: 'RcAck', psn: ours + 1, aeth: { syndrome: ack, msn: 1 } },
      )
    } finally {
      s.device.batch = Number.POSITIVE_INFINITY
    }
    s.expectSilence()
    s.expectCompletion({ status: 'Success' })
    expect(s.counted()).not.toHaveProperty('timeouts')
  })

  scripted('the timer runs from when the packet left, however long that took', (s) => {
    s.device.heldUpNs = 50e6
    s.end.post(Opcode.Send, null, { length: 8 })
    s.device.heldUpNs = 0
    expect(psns(s)).toEqual([ours])
    s.wait(4096 * 2 ** 14 - 1)
    s.expectSilence()
    s.wait(1)
    expect(psns(s)).toEqual([ours])
  })

  scripted('a NAK for a PSN acknowledges all before it; all from it on are sent again, once', (s) => {
    for (let i = 0; i < 4; i++) send(s, 8, i)
    s.take()
    s.answer(ours + 2, nak.sequence)
    s.expectCompletion({ wrId: 0 })
    s.expectCompletion({ wrId: 1 })
    expect(psns(s)).toEqual([ours + 2, ours + 3])
    s.answer(ours + 2, nak.sequence)
    s.expectSilence()
    expect(s.counted()).toMatchObject({ retransmitted_pkts: 2, rcvd_seq_err: 1, naks_rcvd: 2, rdma_sends: 4 })
    s.answer(ours + 3)
    s.expectCompletion({ wrId: 2 })
  })

  scripted('a NAK in the middle of a message resumes there', (s) => {
    s.end.buffer.set(bytes(1024))
    send(s, 4 * mtu)
    s.take()
    s.answer(ours + 2, nak.sequence)
    s.expect({ op: 'RcSendMiddle', psn: ours + 2, payload: bytes(1024).subarray(2 * mtu, 3 * mtu) })
    s.expect({ op: 'RcSendLast', psn: ours + 3, ackReq: true })
    s.expectSilence()
  })

  // IBA C9-140, 9.7.6.1.3
  scripted('without an ACK: again after 4.096 µs · 2^timeout, retryCnt times; then RETRY_EXC_ERR', (s) => {
    send(s, 8, 1)
    send(s, 8, 2)
    s.take()
    const timeout = 4096 * 2 ** 14
    for (let i = 0; i < 2; i++) {
      s.wait(timeout - 1)
      s.expectSilence()
      s.wait(1)
      expect(psns(s)).toEqual([ours, ours + 1])
    }
    s.wait(timeout - 1)
    s.expectNoCompletion()
    s.wait(1)
    s.expectSilence()
    s.expectCompletion({ wrId: 1, status: 'RetryExcErr' })
    s.expectCompletion({ wrId: 2, status: 'WrFlushErr' })
    expect(s.end.qp.state).toBe(QpState.Err)
    expect(s.counted()).toMatchObject({ timeouts: 3, retry_exceeded_err: 1, retransmitted_pkts: 4 })
  })

  // IBA C9-140
  scripted(
    'a timeout below 10 ms is 10 ms',
    (s) => {
      send(s)
      s.take()
      s.wait(10e6 - 1)
      s.expectSilence()
      s.wait(1)
      expect(psns(s)).toEqual([ours])
      expect(s.counted()).toMatchObject({ timeouts: 1 })
    },
    { connect: { timeout: 1 } },
  )

  scripted('progress gives all retries back', (s) => {
    send(s, 8, 1)
    send(s, 8, 2)
    s.wait(2.5 * 4096 * 2 ** 14)
    s.answer(ours)
    s.expectCompletion({ wrId: 1, status: 'Success' })
    s.take()
    s.wait(2.5 * 4096 * 2 ** 14)
    expect(psns(s)).toEqual([ours + 1, ours + 1])
    s.answer(ours + 1)
    s.expectCompletion({ wrId: 2, status: 'Success' })
  })

  scripted(
    'timeout 0 waits for ever',
    (s) => {
      send(s)
      s.take()
      s.wait(3600e9)
      s.expectSilence()
      s.expectNoCompletion()
    },
    { connect: { timeout: 0 } },
  )

  scripted('the timer runs also when a QP stops at the end of its turn of sixteen packets', (s) => {
    // What comes second waits until the first is done.
    const next = s.end.request(Opcode.LocalInv, null, { invalidateRkey: 1 })
    s.post(Opcode.Send, { length: 16 * mtu, next })
    expect(s.take().length).toBe(16)
    s.wait(4096 * 2 ** 14)
    expect(s.take().length).toBe(16)
  })

  // IBA 9.7.5.2.8
  scripted('RNR NAK: again after its time, rnrRetry times; then RNR_RETRY_EXC_ERR', (s) => {
    send(s, 8, 1)
    send(s, 8, 2)
    s.take()
    for (let i = 0; i < 2; i++) {
      s.answer(ours, rnr(10))
      s.answer(ours, rnr(10))
      s.wait(320_000 - 1)
      s.expectSilence()
      s.wait(1)
      expect(psns(s)).toEqual([ours, ours + 1])
    }
    s.answer(ours, rnr(10))
    s.expectCompletion({ wrId: 1, status: 'RnrRetryExcErr' })
    s.expectCompletion({ wrId: 2, status: 'WrFlushErr' })
    expect(s.counted()).toMatchObject({ retry_rnr_exceeded_err: 1 })
  })

  scripted(
    'timer code 0 is 655.36 ms, and rnrRetry 7 has no end',
    (s) => {
      send(s)
      s.take()
      for (let i = 0; i < 20; i++) {
        s.answer(ours, rnr(0))
        s.wait(655_359_999)
        s.expectSilence()
        s.wait(1)
        expect(psns(s)).toEqual([ours])
      }
      s.answer(ours)
      s.expectCompletion({ status: 'Success' })
    },
    { connect: { rnrRetry: 7 } },
  )

  scripted(
    'while it waits for the receiver nothing goes out; a late ACK ends the wait',
    (s) => {
      send(s, 8, 1)
      s.take()
      s.answer(ours, rnr(20))
      send(s, 8, 2)
      s.expectSilence()
      s.answer(ours)
      s.expectCompletion({ wrId: 1, status: 'Success' })
      expect(psns(s)).toEqual([ours + 1])
      s.answer(ours + 1)
      s.expectCompletion({ wrId: 2, status: 'Success' })
    },
    { connect: { timeout: 0 } },
  )

  scripted(
    'a NAK while it waits for the receiver does not end the wait',
    (s) => {
      send(s, 8, 1)
      s.take()
      s.answer(ours, rnr(20))
      s.answer(ours, nak.sequence)
      s.wait(10.24e6 - 1)
      s.expectSilence()
      s.wait(1)
      expect(psns(s)).toEqual([ours])
    },
    { connect: { timeout: 0 } },
  )

  // IBA 9.4.4
  scripted('a READ whose answer has a gap is asked for again from the first byte that is missing', (s) => {
    s.post(Opcode.Read, { length: 4 * mtu, remoteAddr: 0x5000 })
    s.take()
    s.send(
      { op: 'RcReadResponseFirst', psn: ours, aeth: { syndrome: ack, msn: 1 }, payload: bytes(mtu, 0) },
      { op: 'RcReadResponseMiddle', psn: ours + 2, payload: bytes(mtu, 2) },
      { op: 'RcReadResponseLast', psn: ours + 3, aeth: { syndrome: ack, msn: 1 }, payload: bytes(mtu, 3) },
    )
    const again = s.expect({ op: 'RcReadRequest', psn: ours + 1 })
    expect(again.reth).toMatchObject({ va: BigInt(0x5000 + mtu), dmaLength: 3 * mtu })
    s.expectSilence()
    s.send(
      { op: 'RcReadResponseFirst', psn: ours + 1, aeth: { syndrome: ack, msn: 1 }, payload: bytes(mtu, 1) },
      { op: 'RcReadResponseMiddle', psn: ours + 2, payload: bytes(mtu, 2) },
      { op: 'RcReadResponseLast', psn: ours + 3, aeth: { syndrome: ack, msn: 1 }, payload: bytes(mtu, 3) },
    )
    s.expectCompletion({ status: 'Success', byteLen: 4 * mtu })
    for (let i = 0; i < 4; i++) expect([...s.end.buffer.subarray(i * mtu, (i + 1) * mtu)]).toEqual([...bytes(mtu, i)])
  })

  // IBA 9.7.6.1
  scripted('a READ response is taken by its PSN and length, whichever part of a message it calls itself', (s) => {
    s.post(Opcode.Read, { length: 2 * mtu })
    s.take()
    s.send(
      { op: 'RcReadResponseOnly', psn: ours, aeth: { syndrome: ack, msn: 1 }, payload: bytes(mtu, 0) },
      { op: 'RcReadResponseMiddle', psn: ours + 1, payload: bytes(mtu, 1) },
    )
    s.expectCompletion({ status: 'Success', byteLen: 2 * mtu })
    expect([...s.end.buffer.subarray(0, 2 * mtu)]).toEqual([...bytes(mtu, 0), ...bytes(mtu, 1)])
  })

  scripted('an ACK of what came after a READ means that its answer is lost', (s) => {
    s.post(Opcode.Read, { length: 8 })
    send(s, 8, 2)
    s.take()
    s.answer(ours + 1)
    s.expectNoCompletion()
    expect(texts(s)).toEqual([`RcReadRequest ${ours}`, `RcSendOnly ${ours + 1} 8 bytes`])
    expect(s.counted()).toMatchObject({ completer_retry_err: 1 })
  })

  scripted('in SQD what is outstanding is sent again', (s) => {
    send(s)
    s.take()
    s.end.qp.modify({ state: QpState.Sqd })
    s.wait(4096 * 2 ** 14)
    expect(psns(s)).toEqual([ours])
    s.answer(ours)
    s.expectCompletion({ status: 'Success' })
  })
})

describe('a peer that vanishes', () => {
  const timeout = 4096 * 2 ** 14
  const answer = (op: 'First' | 'Middle' | 'Only', psn: number, length = mtu): Packet => ({
    op: `RcReadResponse${op}`,
    psn,
    payload: bytes(length),
    ...(op === 'Middle' ? {} : { aeth: { syndrome: ack, msn: 1 } }),
  })
  const places: [string, ...((s: Script) => void)[]][] = [
    ['before it acknowledges anything', (s) => send(s, 3 * mtu)],
    ['within a SEND', (s) => send(s, 3 * mtu), (s) => s.answer(ours)],
    ['within a WRITE', (s) => s.post(Opcode.Write, { length: 3 * mtu }), (s) => s.answer(ours + 1)],
    ['before the answer to a READ', (s) => s.post(Opcode.Read, { length: 3 * mtu })],
    [
      'within the answer to a READ',
      (s) => s.post(Opcode.Read, { length: 3 * mtu }),
      (s) => s.send(answer('First', ours)),
    ],
    [
      'after a gap in the answer to a READ',
      (s) => s.post(Opcode.Read, { length: 3 * mtu }),
      (s) => s.send(answer('Middle', ours + 1)),
    ],
    ['before the answer to an atomic', (s) => s.post(Opcode.AtomicFetchAndAdd, { compareAdd: 1n })],
    ['before the answer to an ATOMIC WRITE', (s) => s.post(Opcode.AtomicWrite)],
    ['after a NAK', (s) => send(s, 3 * mtu), (s) => s.answer(ours + 1, nak.sequence)],
    ['after it was not ready', (s) => send(s, 3 * mtu), (s) => s.answer(ours, rnr(12))],
    ['while the send queue drains', (s) => send(s), (s) => s.end.qp.modify({ state: QpState.Sqd })],
  ]
  for (const [title, ...begins] of places)
    scripted(`${title}: RETRY_EXC_ERR in time, the rest is flushed`, (s) => {
      for (const begin of begins) begin(s)
      const draining = s.end.qp.state === QpState.Sqd
      if (!draining) send(s, 8, 2)
      s.receive(64, 3)
      // One time more than it is tried again, and what an RNR NAK asks for.
      s.wait(3 * timeout + 1e6)
      s.expectCompletion({ wrId: 1, status: 'RetryExcErr' })
      if (!draining) s.expectCompletion({ wrId: 2, status: 'WrFlushErr' })
      s.expectCompletion({ wrId: 3, status: 'WrFlushErr' }, 'recv')
      s.expectNoCompletion()
      expect(s.end.qp.state).toBe(QpState.Err)
      s.take()
      s.wait(10 * timeout)
      s.expectSilence()
    })
})

describe('NAKs and their completions', () => {
  // IBA 9.7.5.2.2
  for (const [name, syndrome, status] of [
    ['INVALID REQUEST', nak.invalid, 'RemInvReqErr'],
    ['REMOTE ACCESS', nak.access, 'RemAccessErr'],
    ['REMOTE OPERATIONAL', nak.operational, 'RemOpErr'],
    ['INVALID RD REQUEST', 0x64, 'RemInvReqErr'],
    ['a reason that does not exist', 0x6a, 'BadRespErr'],
  ] as const)
    scripted(`${name}: ${status}`, (s) => {
      for (let i = 0; i < 3; i++) send(s, 8, i)
      s.answer(ours + 1, syndrome)
      s.expectCompletion({ wrId: 0, status: 'Success' })
      s.expectCompletion({ wrId: 1, status })
      s.expectCompletion({ wrId: 2, status: 'WrFlushErr' })
      expect(s.end.qp.state).toBe(QpState.Err)
      s.take()
      s.wait(10e9)
      s.expectSilence()
      expect(s.device.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY)
    })

  for (const [title, answer] of [
    ['a READ answer that is too short', { op: 'RcReadResponseOnly', payload: bytes(4) }],
    ['a READ answer that is too long', { op: 'RcReadResponseOnly', payload: bytes(12) }],
    ['an atomic answer to a READ', { op: 'RcAtomicAck', atomicAckEth: { original: 1n } }],
  ] as const)
    scripted(`${title}: BAD_RESP_ERR`, (s) => {
      s.post(Opcode.Read, { length: 8 })
      s.end.buffer.fill(0)
      s.send({ ...answer, psn: ours, aeth: { syndrome: ack, msn: 1 } })
      s.expectCompletion({ status: 'BadRespErr' })
      expect(s.end.buffer.every((byte) => byte === 0)).toBe(true)
    })

  scripted('a READ answer to a SEND: BAD_RESP_ERR', (s) => {
    send(s)
    s.send({ op: 'RcReadResponseOnly', psn: ours, aeth: { syndrome: ack, msn: 1 }, payload: bytes(8) })
    s.expectCompletion({ status: 'BadRespErr' })
  })

  scripted('a syndrome that does not exist is dropped', (s) => {
    send(s)
    s.answer(ours, 0x40)
    s.answer(ours, 0x80)
    s.expectNoCompletion()
    expect(s.counted()).toMatchObject({ drops_malformed: 2 })
    s.answer(ours)
    s.expectCompletion({ status: 'Success' })
  })

  scripted('ACKs of what was never sent, or long ago, change nothing', (s) => {
    send(s)
    s.take()
    for (const psn of [ours + 1, ours + 5000, ours - 1, ours - 5000, ours + 2 ** 23, ours + 2 ** 23 - 1])
      for (const syndrome of [ack, nak.sequence, nak.access, rnr(1)]) s.answer(psn, syndrome)
    s.expectNoCompletion()
    s.expectSilence()
    expect(s.counted()).toMatchObject({ drops_unexpected_ack: 24 })
    s.answer(ours)
    s.expectCompletion({ status: 'Success' })
  })

  scripted('memory that is gone when its turn comes: LOC_PROT_ERR, after what was before it', (s) => {
    const mr = s.end.region(s.t, 1)
    send(s, 8, 1)
    for (let i = 0; i < 12; i++) send(s, 16384, 2)
    s.end.qp.postSend({
      wrId: 3,
      opcode: Opcode.Send,
      sgList: [{ addr: mr.addr, length: 8, lkey: mr.lkey }],
      sendFlags: 0,
    } as never)
    s.t.close(mr)
    s.take()
    s.answer(ours)
    s.expectCompletion({ wrId: 1, status: 'Success' })
    for (let i = 0; i < 12; i++) {
      s.take()
      s.answer(ours + 64 * (i + 1))
      s.expectCompletion({ wrId: 2, status: 'Success' })
    }
    s.expectCompletion({ wrId: 3, status: 'LocProtErr' })
    expect(s.end.qp.state).toBe(QpState.Err)
  })

  scripted(
    'a message of 2 GiB in packets of 256 bytes waits until nothing else is outstanding, for PSNs are compared around half of their circle',
    (s) => {
      const { segment } = s.device.host
      const quarter = 2 ** 29
      const mr = s.t.own(s.end.pd.regMr({ addr: segment.heapStart, length: quarter }, 0))
      const sge = { addr: segment.heapStart, length: quarter, lkey: mr.lkey }
      send(s, 8, 1)
      s.post(Opcode.Write, { wrId: 2, sgList: [sge, sge, sge, sge], sendFlags: SendFlag.Signaled })
      expect(psns(s)).toEqual([ours])
      s.answer(ours)
      s.expectCompletion({ wrId: 1, status: 'Success' })
      expect(s.take().slice(0, 2)).toMatchObject([{ op: 'RcWriteFirst', psn: ours + 1 }, { psn: ours + 2 }])
      s.answer(ours + 100)
      expect(s.take().at(-1)).toMatchObject({ op: 'RcWriteMiddle', psn: ours + 100 + 256 })
      s.expectNoCompletion()
    },
    { cap: { maxSendSge: 4 } },
  )

  scripted(
    'an ATOMIC_WRITE whose memory is gone when its turn comes: LOC_PROT_ERR, and no packet',
    (s) => {
      const mr = s.end.region(s.t, 1)
      s.post(Opcode.Read, { length: 8, wrId: 1, sendFlags: SendFlag.Signaled })
      s.post(Opcode.AtomicWrite, { wrId: 2, sgList: [{ addr: mr.addr, length: 8, lkey: mr.lkey }] })
      s.expect({ op: 'RcReadRequest', psn: ours })
      s.t.close(mr)
      s.send({ op: 'RcReadResponseOnly', psn: ours, aeth: { syndrome: ack, msn: 1 }, payload: bytes(8) })
      s.expectSilence()
      s.expectCompletion({ wrId: 1, status: 'Success' })
      s.expectCompletion({ wrId: 2, status: 'LocProtErr' })
    },
    { connect: { maxRdAtomic: 1 } },
  )

  scripted('a request that cannot be sent fails after those before it, also if these are sent again', (s) => {
    send(s, 8, 1)
    s.post(Opcode.Send, { wrId: 2, sgList: [{ addr: 8, length: 8, lkey: 1 }] })
    s.expectNoCompletion()
    s.take()
    s.answer(ours, nak.sequence)
    expect(psns(s)).toEqual([ours])
    s.answer(ours)
    s.expectCompletion({ wrId: 1, status: 'Success' })
    s.expectCompletion({ wrId: 2, status: 'LocProtErr' })
  })
})
