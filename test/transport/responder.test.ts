/** The responder of RC, a packet at a time. */
import { describe, expect } from 'vitest'
import { Access, EventType, QpState } from '../../src/index.ts'
import { read64, write64 } from '../compliance/end.ts'
import { ack, bytes, mtu, nak, type Packet, rnr, type Script, scripted, theirs } from './script.ts'

const only = (psn: number, more: Partial<Packet> = {}): Packet => ({
  op: 'RcSendOnly',
  psn,
  payload: bytes(8, psn),
  ackReq: true,
  ...more,
})

describe('acknowledging', () => {
  // IBA 9.7.5.1.2
  scripted('an ACK only when it is asked for, and one for many messages', (s) => {
    for (let i = 0; i < 4; i++) s.receive(64, i)
    for (let i = 0; i < 3; i++) s.send(only(theirs + i, { ackReq: false }))
    s.expectSilence()
    s.send(only(theirs + 3))
    s.expect({ op: 'RcAck', psn: theirs + 3, syndrome: ack, msn: 4 })
    s.expectSilence()
    for (let i = 0; i < 4; i++) s.expectCompletion({ wrId: i, status: 'Success', byteLen: 8 }, 'recv')
  })

  scripted('the ACK of a message that comes whole counts in the MSN, that of its first packet does not', (s) => {
    s.receive(1024)
    s.send({ op: 'RcSendFirst', psn: theirs, payload: bytes(mtu), ackReq: true })
    s.expect({ op: 'RcAck', psn: theirs, msn: 0 })
    s.send({ op: 'RcSendLast', psn: theirs + 1, payload: bytes(3), ackReq: true })
    s.expect({ op: 'RcAck', psn: theirs + 1, msn: 1 })
    s.expectCompletion({ byteLen: mtu + 3 }, 'recv')
  })

  scripted(
    'goes around the end of the numbers',
    (s) => {
      for (let i = 0; i < 4; i++) s.receive(64, i)
      for (const psn of [0xfffffe, 0xffffff, 0, 1]) {
        s.send(only(psn))
        s.expect({ op: 'RcAck', psn })
      }
      s.send(only(0xffffff))
      s.expect({ op: 'RcAck', psn: 1 })
      s.send(only(3))
      s.expect({ op: 'RcAck', psn: 2, syndrome: nak.sequence })
    },
    { connect: { rqPsn: 0xfffffe } },
  )
})

describe('order of PSNs', () => {
  // IBA 9.7.5.2.2
  scripted('ahead: one NAK, then silence until the expected one comes', (s) => {
    for (let i = 0; i < 4; i++) s.receive(64, i)
    s.send(only(theirs + 1), only(theirs + 2), only(theirs + 3))
    s.expect({ op: 'RcAck', psn: theirs, syndrome: nak.sequence, msn: 0 })
    s.expectSilence()
    expect(s.counted()).toMatchObject({ out_of_seq_request: 3, drops_nak_pending: 2, naks_sent: 1 })
    s.send(only(theirs))
    s.expect({ op: 'RcAck', psn: theirs, syndrome: ack })
    s.send(only(theirs + 2))
    s.expect({ op: 'RcAck', psn: theirs + 1, syndrome: nak.sequence })
    expect(s.completion('recv')).toMatchObject({ wrId: 0 })
    expect(s.completion('recv')).toBe(null)
  })

  // IBA C9-105, C10-87
  scripted('behind: a SEND or WRITE is acknowledged again, and not carried out again', (s) => {
    s.receive(64, 1)
    s.receive(64, 2)
    s.send(only(theirs), { op: 'RcWriteOnly', psn: theirs + 1, ...s.reth({ length: 4 }), payload: bytes(4, 9) })
    s.expect({ op: 'RcAck', psn: theirs })
    s.end.buffer.fill(0)
    s.send(only(theirs, { ackReq: false }))
    s.expect({ op: 'RcAck', psn: theirs + 1, syndrome: ack, msn: 2 })
    s.send({ op: 'RcWriteOnly', psn: theirs + 1, ...s.reth({ length: 4 }), payload: bytes(4, 9) })
    s.expect({ op: 'RcAck', psn: theirs + 1, syndrome: ack, msn: 2 })
    expect(s.end.buffer.every((byte) => byte === 0)).toBe(true)
    s.expectCompletion({ wrId: 1 }, 'recv')
    s.expectNoCompletion()
    expect(s.counted()).toMatchObject({ duplicate_request: 2 })
  })

  scripted(
    'behind: the ACK leaves out READs and atomics that came after, since only their answers acknowledge them',
    (s) => {
      s.receive(64)
      s.receive(64)
      s.send(only(theirs), { op: 'RcReadRequest', psn: theirs + 1, ...s.reth({ length: 3 * mtu }) })
      s.send({ op: 'RcFetchAdd', psn: theirs + 4, ...s.atomicEth(1n) })
      s.take()
      s.send(only(theirs))
      s.expect({ op: 'RcAck', psn: theirs, syndrome: ack, msn: 3 })
      s.send(only(theirs + 5))
      s.expect({ op: 'RcAck', psn: theirs + 5, syndrome: ack, msn: 4 })
      s.send(only(theirs))
      s.expect({ op: 'RcAck', psn: theirs + 5, syndrome: ack, msn: 4 })
      s.expectSilence()
    },
  )

  // IBA 9.7.5.2.8
  scripted('a receive that comes between RNR NAK and its time is found by a copy', (s) => {
    s.send(only(theirs))
    s.expect({ op: 'RcAck', psn: theirs, syndrome: rnr(12) })
    s.send(only(theirs + 1))
    s.expectSilence()
    s.receive()
    s.send(only(theirs))
    s.expect({ op: 'RcAck', psn: theirs, syndrome: ack })
    s.send(only(theirs + 2))
    s.expect({ op: 'RcAck', psn: theirs + 1, syndrome: nak.sequence })
    expect(s.counted()).toMatchObject({ send_rnr_err: 1 })
  })

  // IBA C10-86
  scripted('WRITE_IMM without a receive: RNR NAK at its last packet, and the data once', (s) => {
    const write = { ...s.reth({ length: mtu + 4 }), payload: bytes(mtu), ackReq: true }
    s.send({ op: 'RcWriteFirst', psn: theirs, ...write })
    s.expect({ op: 'RcAck', psn: theirs, syndrome: ack })
    const last: Packet = {
      op: 'RcWriteLastWithImm',
      psn: theirs + 1,
      payload: bytes(4),
      immDt: { data: 5 },
      ackReq: true,
    }
    s.send(last)
    s.expect({ op: 'RcAck', psn: theirs + 1, syndrome: rnr(12) })
    s.receive()
    s.send(last)
    s.expect({ op: 'RcAck', psn: theirs + 1, syndrome: ack, msn: 1 })
    s.expectCompletion({ opcode: 'RecvRdmaWithImm', immData: 5, byteLen: mtu + 4 }, 'recv')
  })
})

describe('READ', () => {
  const length = 3 * mtu - 1
  function fill(s: Script): Uint8Array {
    const data = bytes(4096, 3)
    s.end.buffer.set(data)
    return data
  }

  // IBA C9-148
  scripted('one answer for each MTU; its PSNs are used up', (s) => {
    const data = fill(s)
    s.receive()
    s.send({ op: 'RcReadRequest', psn: theirs, ...s.reth({ length }) })
    s.expect({ op: 'RcReadResponseFirst', psn: theirs, syndrome: ack, msn: 1, payload: data.subarray(0, mtu) })
    s.expect({ op: 'RcReadResponseMiddle', psn: theirs + 1, payload: data.subarray(mtu, 2 * mtu) })
    s.expect({ op: 'RcReadResponseLast', psn: theirs + 2, payload: data.subarray(2 * mtu, length) })
    s.send(only(theirs + 3))
    s.expect({ op: 'RcAck', psn: theirs + 3, msn: 2 })
  })

  // IBA 9.4.4
  scripted('a duplicate gets the whole answer again, or the part it asks for', (s) => {
    const data = fill(s)
    s.send({ op: 'RcReadRequest', psn: theirs, ...s.reth({ length }) })
    s.take()
    s.send({ op: 'RcReadRequest', psn: theirs, ...s.reth({ length }) })
    expect(s.take().map(({ psn }) => psn)).toEqual([theirs, theirs + 1, theirs + 2])
    s.send({ op: 'RcReadRequest', psn: theirs + 1, ...s.reth({ offset: mtu, length: length - mtu }) })
    s.expect({ op: 'RcReadResponseFirst', psn: theirs + 1, payload: data.subarray(mtu, 2 * mtu) })
    s.expect({ op: 'RcReadResponseLast', psn: theirs + 2, payload: data.subarray(2 * mtu, length) })
    s.send({ op: 'RcReadRequest', psn: theirs + 2, ...s.reth({ offset: 2 * mtu, length: mtu - 1 }) })
    s.expect({ op: 'RcReadResponseOnly', psn: theirs + 2, payload: data.subarray(2 * mtu, length) })
    s.expectSilence()
  })

  scripted('a duplicate that asks for other memory than the request did gets no answer', (s) => {
    s.send({ op: 'RcReadRequest', psn: theirs, ...s.reth({ offset: 1024, length: 600 }) })
    s.take()
    const wrong: Packet[] = [
      { op: 'RcReadRequest', psn: theirs, ...s.reth({ offset: 1024, length: 601 }) },
      { op: 'RcReadRequest', psn: theirs, ...s.reth({ offset: 1023, length: 600 }) },
      { op: 'RcReadRequest', psn: theirs, ...s.reth({ offset: 1024, length: 600, rkey: 5 }) },
      { op: 'RcReadRequest', psn: theirs + 2, ...s.reth({ offset: 1024, length: 600 }) },
      { op: 'RcReadRequest', psn: theirs - 1, ...s.reth({ offset: 1024, length: 600 }) },
      { op: 'RcFetchAdd', psn: theirs, ...s.atomicEth(1n) },
      { op: 'RcAtomicWrite', psn: theirs, ...s.reth({ length: 8 }), payload: bytes(8) },
    ]
    s.send(...wrong)
    s.expectSilence()
    expect(s.counted()).toMatchObject({ duplicate_request: wrong.length, drops_duplicate_unknown: wrong.length })
    expect(s.end.qp.state).toBe(QpState.Rts)
  })

  // IBA C9-88
  scripted('no bytes need no key', (s) => {
    s.send({ op: 'RcReadRequest', psn: theirs, reth: { va: 1n, rkey: 1, dmaLength: 0 } })
    s.expect({ op: 'RcReadResponseOnly', psn: theirs, length: 0 })
  })

  scripted('an ACK waits for the answers before it', (s) => {
    s.receive()
    s.burst({ op: 'RcReadRequest', psn: theirs, ...s.reth({ length }) }, only(theirs + 3))
    expect(s.take().map(({ op, psn }) => `${op} ${psn}`)).toEqual([
      `RcReadResponseFirst ${theirs}`,
      `RcReadResponseMiddle ${theirs + 1}`,
      `RcReadResponseLast ${theirs + 2}`,
      `RcAck ${theirs + 3}`,
    ])
  })

  scripted(
    'a region that goes away while it is read: REMOTE ACCESS in place of the next response, and the QP ends',
    (s) => {
      s.device.oneTurn = true
      s.arrive(
        { op: 'RcReadRequest', psn: theirs, ...s.reth({ length: 40 * mtu }) },
        { op: 'RcReadRequest', psn: theirs + 40, ...s.reth({ length: 8 }) },
      )
      s.device.drive(true)
      expect(s.take().at(-1)).toMatchObject({ op: 'RcReadResponseMiddle', psn: theirs + 15 })
      s.t.close(s.end.mr)
      s.drive()
      s.expect({ op: 'RcAck', psn: theirs + 16, syndrome: nak.access })
      s.drive()
      s.expectSilence()
      expect(s.end.qp.state).toBe(QpState.Err)
      s.expectEvent(EventType.QpAccessErr)
      expect(s.counted()).toMatchObject({ resp_remote_access_errors: 1, naks_sent: 1 })
    },
  )

  scripted('a late duplicate of a READ whose region is gone is dropped, and what comes after it is answered', (s) => {
    const other = s.t.own(s.end.pd.regMr(s.end.buffer, Access.RemoteRead))
    s.send({ op: 'RcReadRequest', psn: theirs, ...s.reth({ length }) })
    s.send({ op: 'RcReadRequest', psn: theirs + 3, ...s.reth({ length: 8, rkey: other.rkey }) })
    expect(s.take().length).toBe(4)
    const late: Packet = { op: 'RcReadRequest', psn: theirs, ...s.reth({ length }) }
    s.t.close(s.end.mr)
    s.send(late)
    s.expectSilence()
    expect(s.counted()).toMatchObject({ duplicate_request: 1, drops_duplicate_unknown: 1 })
    s.burst(late, { op: 'RcReadRequest', psn: theirs + 3, ...s.reth({ length: 8, rkey: other.rkey }) })
    s.expect({ op: 'RcReadResponseOnly', psn: theirs + 3, length: 8 })
    s.send({ op: 'RcReadRequest', psn: theirs + 4, ...s.reth({ length: 8, rkey: other.rkey }) })
    s.expect({ op: 'RcReadResponseOnly', psn: theirs + 4, length: 8 })
    s.expectSilence()
    s.expectEvent(null)
    expect(s.end.qp.state).toBe(QpState.Rts)
  })

  scripted('more at once than agreed is INVALID REQUEST; an answered one makes room', (s) => {
    for (let i = 0; i < 5; i++) s.send({ op: 'RcReadRequest', psn: theirs + i, ...s.reth({ length: 8 }) })
    expect(s.take().map(({ psn }) => psn)).toEqual([0, 1, 2, 3, 4].map((i) => theirs + i))
    // Duplicates of the last two, and a new one, before any of them is answered.
    s.burst(
      { op: 'RcReadRequest', psn: theirs + 3, ...s.reth({ length: 8 }) },
      { op: 'RcReadRequest', psn: theirs + 4, ...s.reth({ length: 8 }) },
      { op: 'RcReadRequest', psn: theirs + 5, ...s.reth({ length: 8 }) },
    )
    expect(s.take().map(({ op, psn }) => `${op} ${psn}`)).toEqual([
      `RcReadResponseOnly ${theirs + 4}`,
      `RcReadResponseOnly ${theirs + 5}`,
    ])
    s.burst(...[6, 7, 8].map((i): Packet => ({ op: 'RcReadRequest', psn: theirs + i, ...s.reth({ length: 8 }) })))
    expect(s.take().map(({ op, psn, syndrome }) => [op, psn - theirs, syndrome])).toEqual([
      ['RcReadResponseOnly', 6, ack],
      ['RcReadResponseOnly', 7, ack],
      ['RcAck', 8, nak.invalid],
    ])
  })
})

describe('atomics', () => {
  scripted('a duplicate gets the old result; nothing is added again', (s) => {
    write64(s.end.buffer, 8, 40n)
    const add = (psn: number): Packet => ({ op: 'RcFetchAdd', psn, ...s.atomicEth(2n, { offset: 8 }) })
    s.send(add(theirs), add(theirs + 1))
    s.expect({ op: 'RcAtomicAck', psn: theirs, original: 40n, msn: 1 })
    s.expect({ op: 'RcAtomicAck', psn: theirs + 1, original: 42n })
    s.send(add(theirs), add(theirs + 1), add(theirs))
    s.expect({ op: 'RcAtomicAck', psn: theirs, original: 40n })
    s.expect({ op: 'RcAtomicAck', psn: theirs + 1, original: 42n })
    s.expect({ op: 'RcAtomicAck', psn: theirs, original: 40n })
    s.expectSilence()
    expect(read64(s.end.buffer, 8)).toBe(44n)
  })

  scripted('COMPARE SWAP compares', (s) => {
    write64(s.end.buffer, 0, 7n)
    s.send({ op: 'RcCompareSwap', psn: theirs, ...s.atomicEth(9n, { compare: 8n }) })
    s.expect({ original: 7n })
    s.send({ op: 'RcCompareSwap', psn: theirs + 1, ...s.atomicEth(2n ** 63n + 1n, { compare: 7n }) })
    s.expect({ original: 7n })
    expect(read64(s.end.buffer, 0)).toBe(2n ** 63n + 1n)
  })

  scripted('of more than are kept the oldest duplicates get no answer', (s) => {
    for (let i = 0; i < 3; i++) s.send({ op: 'RcFetchAdd', psn: theirs + i, ...s.atomicEth(1n) })
    s.take()
    s.send({ op: 'RcFetchAdd', psn: theirs, ...s.atomicEth(1n) })
    s.expectSilence()
    expect(s.counted()).toMatchObject({ drops_duplicate_unknown: 1 })
    expect(read64(s.end.buffer, 0)).toBe(3n)
  })

  scripted('ATOMIC WRITE and FLUSH are answered like READs, their duplicates too', (s) => {
    const write: Packet = {
      op: 'RcAtomicWrite',
      psn: theirs,
      ...s.reth({ offset: 16, length: 8 }),
      payload: bytes(8, 4),
    }
    const flush: Packet = {
      op: 'RcFlush',
      psn: theirs + 1,
      feth: { placement: 1, selectivity: 0 },
      ...s.reth({ length: 64 }),
    }
    s.send(write, flush)
    expect([...s.end.buffer.subarray(16, 24)]).toEqual([...bytes(8, 4)])
    s.end.buffer.fill(0)
    s.send(write, flush)
    for (const psn of [theirs, theirs + 1, theirs, theirs + 1]) s.expect({ op: 'RcReadResponseOnly', psn, length: 0 })
    s.expectSilence()
    expect(s.end.buffer[16]).toBe(0)
  })
})

describe('what breaks a rule', () => {
  /** The packet earns this NAK; then the QP is in ERR. */
  function refused(title: string, syndrome: number, packets: (s: Script) => Packet[], options: object = {}): void {
    scripted(
      title,
      (s) => {
        s.receive(600)
        const all = packets(s)
        s.send(...all)
        const last = s.take().at(-1)
        expect(last).toMatchObject({ op: 'RcAck', psn: all.at(-1)!.psn, syndrome })
        expect(s.end.qp.state).toBe(QpState.Err)
        s.send(only(all.at(-1)!.psn! + 1))
        s.expectSilence()
        expect(s.counted()).toMatchObject({ naks_sent: 1, drops_qp_state: 1 })
      },
      options,
    )
  }
  const order: [string, ...[Packet['op'], number][]][] = [
    ['Middle without First', ['RcSendMiddle', mtu]],
    ['Last without First', ['RcSendLast', 8]],
    ['First after First', ['RcSendFirst', mtu], ['RcSendFirst', mtu]],
    ['Only after First', ['RcSendFirst', mtu], ['RcSendOnly', 8]],
    ['First shorter than the MTU', ['RcSendFirst', mtu - 4]],
    ['First longer than the MTU', ['RcSendFirst', mtu + 4]],
    ['Middle shorter than the MTU', ['RcSendFirst', mtu], ['RcSendMiddle', mtu - 4]],
    ['Last of no bytes', ['RcSendFirst', mtu], ['RcSendLast', 0]],
    ['Last longer than the MTU', ['RcSendFirst', mtu], ['RcSendLast', mtu + 4]],
    ['Only longer than the MTU', ['RcSendOnly', mtu + 4]],
    ['WRITE Middle within a SEND', ['RcSendFirst', mtu], ['RcWriteMiddle', mtu]],
  ]
  for (const [title, ...ops] of order)
    refused(title, nak.invalid, () =>
      ops.map(([op, length], i) => ({ op, psn: theirs + i, payload: bytes(length) }) as Packet),
    )
  refused('a READ within a SEND', nak.invalid, (s) => [
    { op: 'RcSendFirst', psn: theirs, payload: bytes(mtu) },
    { op: 'RcReadRequest', psn: theirs + 1, ...s.reth({ length: 8 }) },
  ])
  // IBA 9.7.4.1.6
  refused('WRITE of less than its length says', nak.invalid, (s) => [
    { op: 'RcWriteOnly', psn: theirs, ...s.reth({ length: 9 }), payload: bytes(8) },
  ])
  refused('WRITE of more than its length says', nak.invalid, (s) => [
    { op: 'RcWriteFirst', psn: theirs, ...s.reth({ length: mtu + 4 }), payload: bytes(mtu) },
    { op: 'RcWriteLast', psn: theirs + 1, payload: bytes(8) },
  ])
  refused('WRITE that goes on after its length', nak.invalid, (s) => [
    { op: 'RcWriteFirst', psn: theirs, ...s.reth({ length: mtu }), payload: bytes(mtu) },
  ])
  refused('WRITE longer than any message', nak.invalid, (s) => [
    { op: 'RcWriteFirst', psn: theirs, ...s.reth({ length: 0x80000001 }), payload: bytes(mtu) },
  ])
  // IBA 9.7.5.2.4
  refused('WRITE with a wrong rkey', nak.access, (s) => [
    { op: 'RcWriteOnly', psn: theirs, ...s.reth({ length: 8, rkey: 0xbad }), payload: bytes(8) },
  ])
  refused('WRITE before its region', nak.access, (s) => [
    { op: 'RcWriteOnly', psn: theirs, ...s.reth({ length: 8, offset: -1 }), payload: bytes(8) },
  ])
  refused('WRITE past its region, at its first packet', nak.access, (s) => [
    { op: 'RcWriteFirst', psn: theirs, ...s.reth({ length: 2 * mtu, offset: 16384 - mtu }), payload: bytes(mtu) },
  ])
  refused('READ past its region', nak.access, (s) => [
    { op: 'RcReadRequest', psn: theirs, ...s.reth({ length: 2, offset: 16383 }) },
  ])
  refused('WRITE to an address of more than 53 bits', nak.access, (s) => [
    { op: 'RcWriteOnly', psn: theirs, reth: { ...s.reth({ length: 8 }).reth, va: 2n ** 64n - 8n }, payload: bytes(8) },
  ])
  refused('an atomic that is not aligned', nak.invalid, (s) => [
    { op: 'RcFetchAdd', psn: theirs, ...s.atomicEth(1n, { offset: 4 }) },
  ])
  refused('ATOMIC WRITE of 4 bytes', nak.invalid, (s) => [
    { op: 'RcAtomicWrite', psn: theirs, ...s.reth({ length: 4 }), payload: bytes(4) },
  ])
  refused('SEND longer than its receive', nak.invalid, () => [
    { op: 'RcSendFirst', psn: theirs, payload: bytes(mtu) },
    { op: 'RcSendMiddle', psn: theirs + 1, payload: bytes(mtu) },
    { op: 'RcSendLast', psn: theirs + 2, payload: bytes(mtu) },
  ])
  // IBA 9.9.6.3
  refused('SEND_WITH_INV of a key that is not a window of this QP', nak.access, (s) => [
    { op: 'RcSendOnlyWithInv', psn: theirs, ieth: { rkey: s.end.mr.rkey >>> 0 }, payload: bytes(4) },
  ])
  const flags = (accessFlags: number): object => ({ connect: { accessFlags } })
  refused(
    'WRITE that the QP does not allow',
    nak.invalid,
    (s) => [{ op: 'RcWriteOnly', psn: theirs, ...s.reth({ length: 8 }), payload: bytes(8) }],
    flags(Access.RemoteRead),
  )
  refused(
    'READ that the QP does not allow',
    nak.invalid,
    (s) => [{ op: 'RcReadRequest', psn: theirs, ...s.reth({ length: 8 }) }],
    flags(Access.LocalWrite | Access.RemoteWrite),
  )
  refused(
    'an atomic that the QP does not allow',
    nak.invalid,
    (s) => [{ op: 'RcFetchAdd', psn: theirs, ...s.atomicEth(1n) }],
    flags(Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead),
  )
  refused(
    'a READ where none was agreed',
    nak.invalid,
    (s) => [{ op: 'RcReadRequest', psn: theirs, ...s.reth({ length: 8 }) }],
    { connect: { maxDestRdAtomic: 0 } },
  )
  refused(
    'an atomic where none was agreed',
    nak.invalid,
    (s) => [{ op: 'RcFetchAdd', psn: theirs, ...s.atomicEth(1n) }],
    { connect: { maxDestRdAtomic: 0 } },
  )

  scripted(
    'an atomic that is refused adds nothing',
    (s) => {
      s.send({ op: 'RcFetchAdd', psn: theirs, ...s.atomicEth(1n) })
      s.expect({ syndrome: nak.invalid })
      expect(read64(s.end.buffer, 0)).toBe(0n)
    },
    { connect: { maxDestRdAtomic: 0 } },
  )

  scripted('a receive whose memory may not be written: REMOTE OPERATIONAL, and LOC_PROT_ERR here', (s) => {
    s.end.qp.postRecv({ wrId: 3, sgList: [{ addr: s.end.mr.addr, length: 64, lkey: s.end.mr.lkey ^ 0x100 }] })
    s.send(only(theirs))
    s.expect({ psn: theirs, syndrome: nak.operational })
    s.expectCompletion({ wrId: 3, status: 'LocProtErr' }, 'recv')
  })

  scripted('responses that were asked for before come before the NAK, a turn at a time', (s) => {
    s.device.oneTurn = true
    s.arrive(
      { op: 'RcReadRequest', psn: theirs, ...s.reth({ length: 40 * mtu }) },
      { op: 'RcReadRequest', psn: theirs + 40, ...s.reth({ length: 40 * mtu }) },
      { op: 'RcSendLast', psn: theirs + 80, payload: bytes(8) },
      only(theirs + 81),
    )
    for (let turn = 0; turn < 5; turn++) {
      s.device.drive(true)
      expect(s.take().map(({ psn }) => psn - theirs)).toEqual(Array.from({ length: 16 }, (_, i) => 16 * turn + i))
    }
    s.device.drive(true)
    s.expect({ op: 'RcAck', psn: theirs + 80, syndrome: nak.invalid, msn: 2 })
    s.drive()
    s.expectSilence()
    expect(s.end.qp.state).toBe(QpState.Err)
    s.expectEvent(EventType.QpReqErr)
    expect(s.counted()).toMatchObject({ naks_sent: 1, drops_qp_state: 1 })
  })

  scripted('a NAK behind responses is forgotten with a QP that is reset', (s) => {
    s.device.oneTurn = true
    s.arrive(
      { op: 'RcReadRequest', psn: theirs, ...s.reth({ length: 40 * mtu }) },
      { op: 'RcSendLast', psn: theirs + 40, payload: bytes(8) },
    )
    s.device.drive(true)
    expect(s.take().length).toBe(16)
    s.end.qp.modify({ state: QpState.Reset })
    s.drive()
    s.expectSilence()
    s.use(s.end.qp)
    s.drive()
    s.expectSilence()
  })

  scripted(
    'the NAKs for a gap and for a missing receive wait for responses, too, unless they are needless by then',
    (s) => {
      s.device.oneTurn = true
      const read = (psn: number): Packet => ({ op: 'RcReadRequest', psn, ...s.reth({ length: 20 * mtu }) })
      s.arrive(read(theirs), only(theirs + 21), only(theirs + 22))
      s.device.drive(true)
      expect(s.take().at(-1)).toMatchObject({ op: 'RcReadResponseMiddle', psn: theirs + 15 })
      s.device.drive(true)
      expect(s.take().map(({ op, psn, syndrome }) => [op, psn - theirs, syndrome])).toEqual([
        ...[16, 17, 18].map((psn) => ['RcReadResponseMiddle', psn, undefined]),
        ['RcReadResponseLast', 19, ack],
        ['RcAck', 20, nak.sequence],
      ])
      // Of a gap that is filled before the NAK was sent nothing is said.
      s.receive()
      s.arrive(only(theirs + 20), read(theirs + 21), only(theirs + 42))
      s.device.drive(true)
      expect(s.take().length).toBe(16)
      s.receive()
      s.arrive(only(theirs + 41))
      s.device.drive(true)
      expect(
        s
          .take()
          .map(({ op, psn, syndrome }) => [op, psn - theirs, syndrome])
          .slice(-2),
      ).toEqual([
        ['RcReadResponseLast', 40, ack],
        ['RcAck', 41, ack],
      ])
      s.arrive(read(theirs + 42), only(theirs + 62))
      s.device.drive(true)
      expect(s.take().length).toBe(16)
      s.drive()
      expect(s.take().at(-1)).toMatchObject({ op: 'RcAck', psn: theirs + 62, syndrome: rnr(12) })
      s.expectEvent(null)
    },
  )

  scripted('answers that were asked for before come before the NAK', (s) => {
    s.burst(
      { op: 'RcReadRequest', psn: theirs, ...s.reth({ length: 8 }) },
      { op: 'RcSendLast', psn: theirs + 1, payload: bytes(8) },
    )
    s.expect({ op: 'RcReadResponseOnly', psn: theirs })
    s.expect({ op: 'RcAck', psn: theirs + 1, syndrome: nak.invalid })
    s.expectEvent(EventType.QpReqErr)
  })
})

describe('what is dropped', () => {
  function dropped(title: string, counter: string, packet: (s: Script) => Packet, options: object = {}): void {
    scripted(
      title,
      (s) => {
        s.receive(1024, 5)
        s.send(packet(s))
        s.expectSilence()
        s.expectNoCompletion()
        const { rcvd_pkts: _, ...others } = s.counted()
        expect(others).toEqual({ [counter]: 1 })
        // The QP goes on as if nothing had been.
        s.send(only(theirs))
        s.expect({ op: 'RcAck', psn: theirs, syndrome: ack })
        s.expectCompletion({ wrId: 5, status: 'Success' }, 'recv')
      },
      options,
    )
  }
  // IBA 9.6.1.2.3
  dropped('from another address', 'drops_source', () => only(theirs, { from: 1 }))
  dropped('to a QP that does not exist', 'drops_no_qp', () => only(theirs, { destQp: 7 }))
  // IBA CA17-33
  dropped('to QP 0', 'drops_no_qp', () => only(theirs, { destQp: 0 }))
  // IBA 10.9.3
  dropped('of another partition', 'drops_pkey', () => only(theirs, { pkey: 0x8001 }))
  dropped('of UC', 'drops_opcode', () => ({ ...only(theirs), op: 'UcSendOnly' }))
  dropped('of UD', 'drops_opcode', () => ({ ...only(theirs), op: 'UdSendOnly', deth: { qkey: 1, srcQp: 1 } }))
  dropped('of RD', 'drops_opcode', () => ({
    ...only(theirs),
    op: 'RdSendOnly',
    rdeth: { eeContext: 0 },
    deth: { qkey: 1, srcQp: 1 },
  }))
  const spoil =
    (change: (b: Uint8Array) => void): ((s: Script) => Packet) =>
    () =>
      only(theirs, { spoil: (b) => void change(b) })
  // IBA 9.6.1
  dropped(
    'with an opcode that does not exist',
    'drops_opcode',
    spoil((b) => b.set([0x18])),
  )
  dropped(
    'with a header version that does not exist',
    'drops_opcode',
    spoil((b) => b.set([b[1]! | 1], 1)),
  )
  dropped('shorter than its headers', 'drops_malformed', () => ({
    op: 'RcFetchAdd',
    psn: theirs,
    atomicEth: { va: 0n, rkey: 0, swapAdd: 0n, compare: 0n },
    spoil: (b) => b.subarray(0, 36),
  }))
  dropped('shorter than a BTH', 'drops_malformed', () => only(theirs, { spoil: (b) => b.subarray(0, 8) }))
  dropped('with more pad than payload', 'drops_malformed', () => ({
    op: 'RcSendOnly',
    psn: theirs,
    spoil: (b) => void b.set([b[1]! | 0x30], 1),
  }))
  dropped('of a length that is no multiple of 4', 'drops_malformed', () =>
    only(theirs, { spoil: (b) => b.subarray(0, b.length - 1) }),
  )
  dropped('a READ request with a payload', 'drops_malformed', (s) => ({
    op: 'RcReadRequest',
    psn: theirs,
    ...s.reth({ length: 4 }),
    spoil: (b) => Uint8Array.of(...b, 0, 0, 0, 0),
  }))
  dropped('an ACK of what was never sent', 'drops_unexpected_ack', () => ({
    op: 'RcAck',
    psn: 100,
    aeth: { syndrome: ack, msn: 0 },
  }))
  dropped('an answer to a READ that nobody asked for', 'drops_unexpected_ack', () => ({
    op: 'RcReadResponseOnly',
    psn: 100,
    payload: bytes(8),
    aeth: { syndrome: ack, msn: 0 },
  }))

  scripted('MigReq says nothing', (s) => {
    s.receive()
    s.send(only(theirs, { migReq: false }))
    s.expect({ op: 'RcAck', psn: theirs, syndrome: ack })
  })

  for (const state of ['Init', 'Rtr', 'Rts', 'Sqd', 'Err', 'Reset'] as const) {
    const answers = state === 'Rtr' || state === 'Rts' || state === 'Sqd'
    const until = state === 'Init' ? QpState.Init : state === 'Rtr' ? QpState.Rtr : QpState.Rts
    scripted(
      `in ${state} a request is ${answers ? 'carried out' : 'dropped'}`,
      (s) => {
        if (state !== 'Reset') s.receive()
        if (state === 'Sqd' || state === 'Err' || state === 'Reset') s.end.qp.modify({ state: QpState[state] } as never)
        s.send(only(theirs))
        if (answers) s.expect({ op: 'RcAck', psn: theirs, syndrome: ack })
        else expect(s.counted()).toMatchObject({ drops_qp_state: 1 })
        s.expectSilence()
      },
      { connect: { until } },
    )
  }
})
