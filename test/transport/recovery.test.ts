/** How soon a requester finds out that something was lost: a packet at a time, and over a link with faults in virtual time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  Access,
  type Context,
  connectQp,
  Opcode,
  openDevice,
  type QpEndpoint,
  QpType,
  SendFlag,
  WcStatus,
  workCompletions,
} from '../../src/index.ts'
import { seeded } from '../random.ts'
import { bytes, mtu, nak, ours, type Packet, rnr, type Script, scripted, theirs } from './script.ts'
import { type Faults, link, registerVirtual } from './virtual.ts'

registerVirtual()

const ms = 1e6
/** As the RDMA CM sets it: 4.096 µs · 2^19. */
const connect = { timeout: 19, retryCnt: 1 }
const ackTimeoutNs = 4096 * 2 ** 19
const send = (s: Script, length = 8): void => s.post(Opcode.Send, { length, wrId: 1, sendFlags: SendFlag.Signaled })
const psns = (s: Script): number[] => s.take().map(({ psn }) => psn - ours)

/** A message that takes a millisecond there and back. */
function measured(s: Script): void {
  send(s)
  s.wait(ms)
  s.answer(ours)
  expect(psns(s)).toEqual([0])
  s.expectCompletion({ status: 'Success' })
}

describe('what is not acknowledged', () => {
  // IBA 9.7.6.1.3
  scripted(
    'is sent again when nothing was heard for longer than usual, each time after twice as long',
    (s) => {
      measured(s)
      send(s)
      send(s)
      expect(psns(s)).toEqual([1, 2])
      // The mean, which is 1 ms, and 30 ms.
      for (const waitMs of [31, 62, 124, 248]) {
        s.wait((waitMs - 0.5) * ms)
        s.expectSilence()
        s.wait(0.5 * ms)
        expect(psns(s)).toEqual([1, 2])
      }
      expect(s.counted()).toMatchObject({ early_retransmits: 4, retransmitted_pkts: 8 })
      expect(s.counted()).not.toHaveProperty('timeouts')
      s.answer(ours + 2)
      s.expectCompletion({ status: 'Success' })
      s.expectCompletion({ status: 'Success' })
      s.wait(ackTimeoutNs)
      s.expectSilence()
    },
    { connect },
  )

  scripted(
    'by a peer that has become slow is waited for as long as it takes now, and not asked for again and again',
    (s) => {
      measured(s)
      let asked = 0
      for (let i = 1; i < 20; i++) {
        send(s)
        s.wait(150 * ms)
        asked += s.take().length - 1
        s.answer(ours + i)
        s.expectCompletion({ status: 'Success' })
      }
      // Of the first after 31 and 93 ms, of the second after 124; then the wait is long enough to measure the round trip.
      expect(asked).toBe(3)
    },
    { connect },
  )

  scripted(
    'is waited for once more by a thread that was held up, which may have held up the answer',
    (s) => {
      measured(s)
      send(s)
      expect(psns(s)).toEqual([1])
      s.late(40 * ms)
      s.expectSilence()
      s.wait(30.5 * ms)
      s.expectSilence()
      s.late(40 * ms)
      expect(psns(s)).toEqual([1])
      // The wait is twice as long now.
      s.late(70 * ms)
      s.expectSilence()
      s.wait(62 * ms)
      expect(psns(s)).toEqual([1])
      expect(s.counted()).toMatchObject({ early_retransmits: 2 })
    },
    { connect },
  )

  scripted(
    'is given up as late as the ACK timeout and the retries say, not earlier',
    (s) => {
      measured(s)
      send(s)
      s.wait(2 * ackTimeoutNs - ms)
      s.expectNoCompletion()
      expect(s.counted()).toMatchObject({ timeouts: 1 })
      expect(s.take().length).toBeLessThan(25)
      s.wait(ms)
      s.expectCompletion({ status: 'RetryExcErr' })
    },
    { connect },
  )

  scripted(
    'waits for a tenth of a second before a round trip was measured',
    (s) => {
      send(s)
      s.take()
      s.wait(99 * ms)
      s.expectSilence()
      s.wait(ms)
      expect(psns(s)).toEqual([0])
    },
    { connect },
  )

  scripted(
    'has a timeout of 0: then it is never sent again',
    (s) => {
      measured(s)
      send(s)
      s.take()
      s.wait(1e12)
      s.expectSilence()
    },
    { connect: { ...connect, timeout: 0 } },
  )
})

describe('a NAK', () => {
  scripted(
    'for what is being sent again is old news until a round trip has passed',
    (s) => {
      measured(s)
      send(s)
      s.take()
      s.answer(ours + 1, nak.sequence)
      expect(psns(s)).toEqual([1])
      s.wait(0.5 * ms)
      s.answer(ours + 1, nak.sequence)
      s.expectSilence()
      s.wait(0.5 * ms)
      s.answer(ours + 1, nak.sequence)
      expect(psns(s)).toEqual([1])
    },
    { connect: { ...connect, retryCnt: 7 } },
  )

  scripted(
    'costs a retry once, however many follow: the ACK timeout decides when a peer is given up that sends nothing else',
    (s) => {
      measured(s)
      send(s)
      for (let i = 0; i < 20; i++) {
        s.wait(ms)
        s.answer(ours + 1, nak.sequence)
        s.expectNoCompletion()
      }
      // After 1, 2, 4, 7 and 13 ms: each time it waits twice as long before it believes the next one.
      expect(s.counted()).toMatchObject({ rcvd_seq_err: 5 })
      // From the first one on, and once more it would be one retry too many.
      s.wait(ackTimeoutNs - 20 * ms)
      s.expectNoCompletion()
      s.wait(ms)
      s.expectCompletion({ status: 'RetryExcErr' })
    },
    { connect },
  )

  scripted(
    'and a time-out cost nothing in the end if the peer says that it is not ready, however often packets are lost meanwhile',
    (s) => {
      measured(s)
      send(s)
      for (let i = 0; i < 5; i++) {
        expect(psns(s)).toEqual([1])
        s.answer(ours + 1, rnr(20))
        s.wait(11 * ms)
        expect(psns(s)).toEqual([1])
        s.answer(ours + 1, nak.sequence)
      }
      expect(psns(s)).toEqual([1])
      s.answer(ours + 1, rnr(20))
      s.wait(11 * ms + ackTimeoutNs)
      s.answer(ours + 1, rnr(20))
      s.wait(11 * ms + ackTimeoutNs)
      s.expectNoCompletion()
      s.answer(ours + 1)
      s.expectCompletion({ status: 'Success' })
    },
    { connect: { ...connect, rnrRetry: 7 } },
  )

  scripted(
    'costs a retry each time where no ACK timeout runs',
    (s) => {
      measured(s)
      send(s)
      s.wait(ms)
      s.answer(ours + 1, nak.sequence)
      s.wait(ms)
      s.expectNoCompletion()
      s.answer(ours + 1, nak.sequence)
      s.expectCompletion({ status: 'RetryExcErr' })
    },
    { connect: { ...connect, timeout: 0 } },
  )

  const only = (psn: number): Packet => ({ op: 'RcSendOnly', psn, payload: bytes(8), ackReq: true })
  // IBA 9.7.5.2
  scripted('is repeated when the requester has gone back and the same packet is lost again', (s) => {
    for (let i = 0; i < 3; i++) s.receive(64, i)
    s.send(only(theirs + 1), only(theirs + 2))
    s.expect({ op: 'RcAck', psn: theirs, syndrome: nak.sequence })
    s.expectSilence()
    s.send(only(theirs + 1), only(theirs + 2))
    s.expect({ op: 'RcAck', psn: theirs, syndrome: nak.sequence })
    s.expectSilence()
    s.send(only(theirs), only(theirs + 1))
    s.expect({ op: 'RcAck', psn: theirs })
    s.expect({ op: 'RcAck', psn: theirs + 1 })
  })
})

describe('a missing response', () => {
  const response = (i: number): Packet => ({ op: 'RcReadResponseMiddle', psn: ours + i, payload: bytes(mtu, i) })
  scripted(
    'is asked for again once, however long the others go on to come, and again when it is missing again',
    (s) => {
      measured(s)
      s.post(Opcode.Read, { length: 20 * mtu, wrId: 2, sendFlags: SendFlag.Signaled })
      expect(psns(s)).toEqual([1])
      s.send(response(2))
      expect(psns(s)).toEqual([1])
      for (let i = 3; i < 20; i++) {
        s.wait(ms)
        s.send(response(i))
      }
      s.expectSilence()
      s.send(response(2))
      expect(psns(s)).toEqual([1])
      expect(s.counted()).toMatchObject({ completer_retry_err: 2 })
      expect(s.counted()).not.toHaveProperty('timeouts')
    },
    { connect: { ...connect, retryCnt: 7 }, bytes: 20 * mtu },
  )
})

describe('what is sent behind a loss', () => {
  scripted(
    'is little while there are many losses, and as much as ever when there are none',
    (s) => {
      send(s, 2000 * mtu)
      expect(s.take().length).toBe(256)
      s.answer(ours + 29)
      s.take()
      s.answer(ours + 30, nak.sequence)
      // Four times the 30 packets that were acknowledged before it.
      expect(psns(s)).toEqual(Array.from({ length: 120 }, (_, i) => 30 + i))
      s.answer(ours + 32)
      s.take()
      s.answer(ours + 33, nak.sequence)
      expect(psns(s)).toEqual(Array.from({ length: 64 }, (_, i) => 33 + i))
      for (let psn = 50; psn < 400; psn += 50) s.answer(ours + psn)
      expect(psns(s).at(-1)).toBe(350 + 256)
    },
    { connect: { ...connect, retryCnt: 7 }, bytes: 2000 * mtu },
  )
})

// --- over a link with faults -----------------------------------------------------------------------------------------

const faults: Faults = {
  ...{ loss: 0.05, reordering: 0.1, reorderNs: 5 * ms, duplication: 0.03, corruption: 0.01 },
  ...{ delayNs: 5 * ms, byteNs: 8 },
}

interface Plan {
  opcode: Opcode
  length: number
  count: number
  depth: number
  bothWays?: boolean
}

describe('on a link that loses 5 % and reorders 10 %, there and back in 10 ms', () => {
  const contexts: Context[] = []
  beforeAll(() => void contexts.push(openDevice('virtual0'), openDevice('virtual1')))
  afterAll(() => {
    for (const context of contexts) context.close()
  })

  /** How many milliseconds of virtual time all messages take. */
  function run(seed: number, { opcode, length, count, depth, bothWays = false }: Plan): number {
    const closing: { close(): void }[] = []
    const own = <T extends { close(): void }>(object: T): T => {
      closing.push(object)
      return object
    }
    const ends = contexts.map((context) => {
      const pd = own(context.allocPd())
      const buffer = context.alloc(length)
      const mr = own(pd.regMr(buffer, Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead))
      const sendCq = own(context.createCq(256))
      const recvCq = own(context.createCq(256))
      const qp = own(pd.createQp({ type: QpType.RC, sendCq, recvCq }))
      const local: QpEndpoint = { qpn: qp.qpNum, psn: 1000, lid: 0, gid: context.queryGid(1, 0) }
      const sgList = [{ addr: mr.addr, length, lkey: mr.lkey }]
      return { context, buffer, mr, sendCq, recvCq, qp, local, sgList, posted: 0, done: 0 }
    })
    const wc = workCompletions(32)
    link.random = seeded(seed)
    link.faults = faults
    const startNs = link.nowNs
    try {
      for (const [i, { qp, local, sgList }] of ends.entries()) {
        const accessFlags = Access.RemoteWrite | Access.RemoteRead
        const depths = { maxRdAtomic: 16, maxDestRdAtomic: 16 }
        connectQp(qp, local, ends[1 - i]!.local, { pathMtu: 1024, accessFlags, timeout: 19, retryCnt: 7, ...depths })
        for (let n = 0; n < 128; n++) qp.postRecv({ sgList })
      }
      const senders = bothWays ? ends : ends.slice(0, 1)
      while (senders.some(({ done }) => done < count)) {
        for (const end of senders)
          for (; end.posted < count && end.posted - end.done < depth; end.posted++) {
            const { addr, rkey } = ends[end === ends[0] ? 1 : 0]!.mr
            const more = { remoteAddr: addr, rkey, immData: 0 }
            end.qp.postSend({ opcode, sendFlags: SendFlag.Signaled, sgList: end.sgList, ...more } as never)
          }
        link.frozen = false
        link.step()
        // A poll that finds nothing would let time go on.
        link.frozen = true
        link.step()
        for (const { sendCq, recvCq, qp, sgList } of ends) {
          const sent = sendCq.poll(wc)
          for (let i = 0; i < sent; i++) expect(wc[i]!.status).toBe(WcStatus.Success)
          ends.find((end) => end.sendCq === sendCq)!.done += sent
          for (let n = recvCq.poll(wc); n > 0; n--) qp.postRecv({ sgList })
        }
      }
      return (link.nowNs - startNs) / ms
    } finally {
      link.frozen = false
      link.faults = {}
      for (const object of closing.reverse()) object.close()
      for (const { context, buffer } of ends) context.free(buffer)
      while (link.step());
    }
  }

  const plans: [string, number, Plan][] = [
    // Each exchange takes 10 to 20 ms, and one in ten loses something: with ACK timeouts alone it took 9 to 20 s.
    ['30 messages, one after the other', 1000, { opcode: Opcode.Send, length: 64, count: 30, depth: 1 }],
    ['150 short messages, 16 at a time', 600, { opcode: Opcode.Send, length: 64, count: 150, depth: 16 }],
    [
      '8 messages of 30 packets each way',
      800,
      { opcode: Opcode.WriteWithImm, length: 30_000, count: 8, depth: 8, bothWays: true },
    ],
    ['6 READs of 30 packets', 800, { opcode: Opcode.Read, length: 30_000, count: 6, depth: 6 }],
  ]
  for (const [title, limitMs, plan] of plans)
    for (const seed of [1, 2, 3])
      it(`${title}, seed ${seed}: less than ${limitMs} ms`, () => {
        expect(run(seed, plan)).toBeLessThan(limitMs)
      })
})
