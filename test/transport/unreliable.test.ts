/** UC and UD, a packet at a time. */
import { describe, expect } from 'vitest'
import { Opcode, QpState, QpType } from '../../src/index.ts'
import { bytes, mtu, ours, type Packet, type Script, scripted, theirs } from './script.ts'

const uc = { type: QpType.UC }
const ud = { type: QpType.UD, connect: { pathMtu: 4096 } } as const
const first = (psn: number, seed = 1): Packet => ({ op: 'UcSendFirst', psn, payload: bytes(mtu, seed) })
const middle = (psn: number, seed = 1): Packet => ({ op: 'UcSendMiddle', psn, payload: bytes(mtu, seed) })
const last = (psn: number, seed = 1): Packet => ({ op: 'UcSendLast', psn, payload: bytes(4, seed) })
const only = (psn: number, seed = 1): Packet => ({ op: 'UcSendOnly', psn, payload: bytes(8, seed) })

function arrives(s: Script, ...byteLens: number[]): void {
  for (const byteLen of byteLens) s.expectCompletion({ status: 'Success', byteLen }, 'recv')
  s.expectNoCompletion()
  s.expectSilence()
  expect(s.end.qp.state).toBe(QpState.Rts)
}

describe('UC', () => {
  scripted(
    'a message arrives; nothing is acknowledged, and a request completes when it has left',
    (s) => {
      s.receive()
      s.send(first(theirs), middle(theirs + 1), { ...last(theirs + 2), ackReq: true })
      arrives(s, 2 * mtu + 4)
      s.post(Opcode.Send, { length: mtu + 1 })
      s.expect({ op: 'UcSendFirst', psn: ours, ackReq: false })
      s.expect({ op: 'UcSendLast', psn: ours + 1, ackReq: false })
      s.expectCompletion({ status: 'Success' })
    },
    uc,
  )

  const lossy: [string, Packet[], number[]][] = [
    ['without its first packet', [middle(theirs + 1), last(theirs + 2), only(theirs + 3)], [8]],
    ['without a middle packet', [first(theirs), last(theirs + 2), only(theirs + 3)], [8]],
    ['without its last packet', [first(theirs), middle(theirs + 1), only(theirs + 3)], [8]],
    ['without the last, and the next is long', [first(theirs), first(theirs + 2), last(theirs + 3)], [mtu + 4]],
    ['whose middle comes late', [first(theirs), last(theirs + 2), middle(theirs + 1), only(theirs + 3)], [8]],
    ['with a packet twice', [first(theirs), middle(theirs + 1), middle(theirs + 1), last(theirs + 2), only(9)], [8]],
    ['of two that are mixed', [first(theirs), first(theirs + 3, 2), middle(theirs + 1), last(theirs + 2)], []],
    [
      'with packets in no order',
      [middle(theirs), first(theirs + 1), middle(theirs + 2), last(theirs + 3)],
      [2 * mtu + 4],
    ],
  ]
  // IBA 9.8.2
  for (const [title, packets, lengths] of lossy)
    scripted(
      `a message ${title} is dropped, and only that`,
      (s) => {
        for (let i = 0; i < 3; i++) s.receive()
        s.send(...packets)
        arrives(s, ...lengths)
      },
      uc,
    )

  const wrong: [string, (s: Script) => Packet[]][] = [
    ['a first packet shorter than the MTU', () => [{ ...first(theirs), payload: bytes(mtu - 4) }]],
    ['a last packet of another kind', () => [first(theirs), { op: 'UcWriteLast', psn: theirs + 1, payload: bytes(4) }]],
    [
      'a WRITE with a wrong rkey',
      (s) => [{ op: 'UcWriteOnly', psn: theirs, ...s.reth({ length: 4, rkey: 9 }), payload: bytes(4) }],
    ],
    [
      'a WRITE of another length',
      (s) => [{ op: 'UcWriteOnly', psn: theirs, ...s.reth({ length: 12 }), payload: bytes(8) }],
    ],
  ]
  for (const [title, packets] of wrong)
    scripted(
      `${title} is dropped and counted; the QP goes on`,
      (s) => {
        s.receive()
        const all = packets(s)
        s.end.buffer.fill(0)
        s.send(...all)
        expect(s.counted()).toMatchObject({ uc_drops_access: 1 })
        s.send(only(theirs + all.length))
        arrives(s, 8)
      },
      uc,
    )

  scripted(
    'without a receive the message is dropped; a receive that is taken serves the next message',
    (s) => {
      s.send(first(theirs))
      s.receive(4096, 7)
      s.send(last(theirs + 1))
      s.expectNoCompletion()
      s.send(first(theirs + 2), first(theirs + 4))
      s.send({ op: 'UcWriteOnly', psn: theirs + 5, ...s.reth({ length: 4, offset: 8000 }), payload: bytes(4) })
      s.send(only(theirs + 6))
      arrives(s, 8)
      expect(s.counted()).toMatchObject({ uc_drops_no_receive: 1 })
    },
    uc,
  )

  scripted(
    'a message longer than its receive is dropped with the rest of it; the receive serves the next message',
    (s) => {
      s.receive(mtu + 3, 7)
      s.send(first(theirs), middle(theirs + 1), last(theirs + 2))
      s.expectNoCompletion()
      s.send(first(theirs + 3), last(theirs + 4), only(theirs + 5))
      s.expectCompletion({ wrId: 7, status: 'Success', byteLen: 8 }, 'recv')
      arrives(s)
      expect(s.counted()).toMatchObject({ uc_drops_length: 2, drops_uc_sequence: 1 })
      expect(s.counted()).not.toHaveProperty('uc_drops_access')
    },
    uc,
  )
})

describe('UC with an SRQ', () => {
  scripted('a receive that an unfinished message took is not lost', (s) => {
    const srq = s.t.own(s.end.pd.createSrq({ maxWr: 4, maxSge: 1 }))
    s.t.close(s.end.qp)
    const { pd, sendCq, recvCq } = s.end
    const qp = s.t.own(pd.createQp({ type: QpType.UC, sendCq, recvCq, srq }))
    s.use(qp)
    srq.postRecv({ wrId: 3, sgList: [s.end.sge(0, 4096)] })
    s.send(first(theirs))
    s.send({ op: 'UcWriteOnly', psn: theirs + 2, ...s.reth({ length: 4, offset: 8000 }), payload: bytes(4) })
    s.send(only(theirs + 3))
    s.expectCompletion({ wrId: 3, byteLen: 8 }, 'recv')
  })
})

describe('UD', () => {
  const qkey = 0x11111111
  const datagram = (more: Partial<Packet> = {}): Packet => ({
    op: 'UdSendOnly',
    psn: 77,
    deth: { qkey, srcQp: 0x4711 },
    payload: bytes(12),
    ...more,
  })

  // IBA A17.4.5.2
  scripted(
    'a datagram comes with 40 bytes before it, whatever its PSN',
    (s) => {
      s.receive(64)
      s.send(datagram({ psn: 0xabcdef }))
      s.expectCompletion({ status: 'Success', byteLen: 52, srcQp: 0x4711 }, 'recv')
      expect([...s.end.buffer.subarray(40, 52)]).toEqual([...bytes(12)])
      expect(s.end.buffer[20]).toBe(0x45)
      expect([...s.end.buffer.subarray(32, 36)]).toEqual([10, 0, 0, 99])
      s.expectSilence()
    },
    ud,
  )

  const dropped: [string, string, Packet][] = [
    // IBA 9.6.1.4.1
    ['with another Q_Key', 'ud_drops_qkey', datagram({ deth: { qkey: 1, srcQp: 1 } })],
    ['of RC', 'drops_opcode', { op: 'RcSendOnly', psn: 0, payload: bytes(4) }],
    ['to another QP', 'drops_no_qp', datagram({ destQp: 8 })],
    // IBA 10.9.3
    ['of another partition', 'drops_pkey', datagram({ pkey: 0x1234 })],
    ['longer than the MTU', 'drops_malformed', datagram({ payload: bytes(4100) })],
  ]
  for (const [title, counter, packet] of dropped)
    scripted(
      `${title}: dropped and counted`,
      (s) => {
        s.receive(8192)
        s.send(packet)
        s.expectNoCompletion()
        s.expectSilence()
        expect(s.counted()).toMatchObject({ [counter]: 1 })
        s.send(datagram())
        s.expectCompletion({ status: 'Success' }, 'recv')
      },
      ud,
    )

  scripted(
    'longer than its receive: dropped and counted; the receive serves the next one',
    (s) => {
      s.receive(51, 5)
      s.send(datagram())
      s.expectNoCompletion()
      expect(s.counted()).toMatchObject({ ud_drops_length: 1 })
      s.send(datagram({ payload: bytes(8) }))
      s.expectCompletion({ wrId: 5, status: 'Success', byteLen: 48 }, 'recv')
      expect(s.end.qp.state).toBe(QpState.Rts)
    },
    ud,
  )

  scripted(
    'without a receive: dropped and counted',
    (s) => {
      s.send(datagram())
      expect(s.counted()).toMatchObject({ ud_drops_no_receive: 1 })
      s.receive()
      s.send(datagram())
      s.expectCompletion({ status: 'Success' }, 'recv')
    },
    ud,
  )
})
