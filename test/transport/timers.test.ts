/** The timers of a QP: each by itself, beside each of the others, and as the requester uses them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectQp, Opcode, openDevice, QpState, QpType } from '../../src/index.ts'
import { TransportDevice } from '../../src/transport/layout.ts'
import { type Expiry, Timers } from '../../src/transport/timers.ts'
import { layout } from '../../src/verbs/provider/index.ts'
import { mtu, ours, type Packet, rnr, type Script, scripted } from './script.ts'
import { link, registerVirtual } from './virtual.ts'

registerVirtual()

const ms = 1e6

describe('the timers of a device', () => {
  const names = ['ackTimeout', 'early', 'rnr', 'pace'] as const
  type Name = (typeof names)[number]

  const closing: { close(): void }[] = []
  const own = <T extends { close(): void }>(object: T): T => {
    closing.push(object)
    return object
  }
  let timers: Timers
  /** Two QPs in RTS: first word, and that of the transport's part. */
  const qps: { q: number; t: number; modify(state: QpState): void }[] = []
  const expired: string[] = []
  const note = (name: Name, q: number): void => void expired.push(`${name} ${qps.findIndex((qp) => qp.q === q)}`)
  const expiry: Expiry = {
    ackTimeoutExpired: (q) => note('ackTimeout', q),
    earlyExpired: (q) => note('early', q),
    rnrExpired: (q) => note('rnr', q),
    paceExpired: (q) => note('pace', q),
  }

  beforeAll(() => {
    const context = own(openDevice('virtual0'))
    const { host, index } = link.devices[0]!
    const record = host.segment.allocate(TransportDevice.words * 4) / 4
    host.f64[(record + TransportDevice.nextDeadline) >> 1] = Number.POSITIVE_INFINITY
    timers = new Timers(host, index, record)
    const pd = own(context.allocPd())
    const cq = own(context.createCq(2))
    for (let i = 0; i < 2; i++) {
      const qp = own(pd.createQp({ type: QpType.UC, sendCq: cq, recvCq: cq }))
      const local = { qpn: qp.qpNum, psn: 1, lid: 0, gid: context.queryGid(1, 0) }
      connectQp(qp, local, local)
      const q = host.qpWord(qp.slot)
      qps.push({ q, t: host.i32[q + layout.Qp.wire]!, modify: (state) => qp.modify({ state }) })
    }
  })
  afterAll(() => {
    for (const object of closing.reverse()) object.close()
  })

  /** `atNs` is for the timer itself; the ACK timeout begins `early` with it, for a later time. */
  function arm(name: Name, atNs: number, { q, t } = qps[0]!): void {
    if (name === 'ackTimeout') timers.armAckTimeout(q, t, atNs, 1e9)
    else if (name === 'early') timers.armAckTimeout(q, t, 1e9, atNs)
    else if (name === 'rnr') timers.armRnr(q, t, atNs)
    else timers.armPace(q, t, atNs)
  }

  function cancel(name: Name, { t } = qps[0]!): void {
    if (name === 'rnr') timers.cancelRnr(t)
    else if (name === 'pace') timers.cancelPace(t)
    else timers.cancelAckTimeout(t)
  }

  /** What expires at this time. */
  function at(nowNs: number): string[] {
    timers.advance(nowNs, expiry)
    return expired.splice(0)
  }

  /** Nothing runs any more, and the device need not be looked at. */
  function expectRest(): void {
    for (const { t } of qps) timers.cancelAll(t)
    expect(at(2e9)).toEqual([])
    expect(timers.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY)
  }

  it.each(names)('%s expires at its time, once', (name) => {
    arm(name, 100)
    expect(timers.nextDeadlineNs).toBe(100)
    expect(at(99)).toEqual([])
    expect(at(100)).toEqual([`${name} 0`])
    expect(at(200)).toEqual([])
    expectRest()
  })

  it.each(names)('%s expires at the time for which it was armed last', (name) => {
    arm(name, 100)
    arm(name, 300)
    expect(at(299)).toEqual([])
    expect(timers.nextDeadlineNs).toBe(300)
    arm(name, 200)
    expect(timers.nextDeadlineNs).toBe(200)
    expect(at(200)).toEqual([`${name} 0`])
    expectRest()
  })

  it.each(names)('%s does not expire when it was cancelled, and may be armed again', (name) => {
    arm(name, 100)
    cancel(name)
    expect(at(100)).toEqual([])
    expect(timers.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY)
    arm(name, 200)
    expect(at(200)).toEqual([`${name} 0`])
    expectRest()
  })

  const together = names.flatMap((one) => names.filter((other) => other !== one).map((other) => [one, other] as const))
  // The ACK timeout and the wait for a receive exclude each other.
  const beside = together.filter((pair) => pair.includes('pace'))
  it.each(beside)('%s leaves %s running: when it expires, is armed again or is cancelled', (one, other) => {
    arm(other, 300)
    arm(one, 100)
    expect(at(100)).toEqual([`${one} 0`])
    expect(timers.nextDeadlineNs).toBe(300)
    arm(one, 400)
    expect(at(300)).toEqual([`${other} 0`])
    arm(other, 500)
    cancel(one)
    expect(at(499)).toEqual([])
    expect(at(500)).toEqual([`${other} 0`])
    expectRest()
  })

  it('the ACK timeout goes on when the wait before it is over, and that may begin again', () => {
    const [{ q, t }] = qps as [(typeof qps)[0]]
    timers.armAckTimeout(q, t, 300, 100)
    expect(at(100)).toEqual(['early 0'])
    timers.armEarly(q, t, 200)
    expect(at(200)).toEqual(['early 0'])
    expect(at(300)).toEqual(['ackTimeout 0'])
    // Both at once: what costs a retry counts, and what is sent again is not sent twice.
    timers.armAckTimeout(q, t, 600, 500)
    expect(at(700)).toEqual(['ackTimeout 0'])
    expectRest()
  })

  it('there is no ACK timeout while the peer has no receive', () => {
    arm('ackTimeout', 100)
    arm('rnr', 300)
    expect(at(200)).toEqual([])
    expect(at(300)).toEqual(['rnr 0'])
    expectRest()
  })

  it('those of two QPs expire each at its time, in any order', () => {
    arm('rnr', 300, qps[0])
    arm('pace', 200, qps[1])
    arm('pace', 100, qps[0])
    expect(at(150)).toEqual(['pace 0'])
    expect(timers.nextDeadlineNs).toBe(200)
    expect(at(300)).toEqual(expect.arrayContaining(['rnr 0', 'pace 1']))
    expectRest()
  })

  it('a long turn puts off what was armed in it, but the pause between two packets', () => {
    const [{ q, t }, other] = qps as [(typeof qps)[0], (typeof qps)[0]]
    timers.beginTurn()
    timers.armAckTimeout(q, t, 400, 100)
    timers.armAckTimeout(q, t, 400, 100)
    timers.armPace(q, t, 150)
    timers.armRnr(other.q, other.t, 100)
    timers.postpone(1000)
    expect(at(1099)).toEqual(['pace 0'])
    expect(timers.nextDeadlineNs).toBe(1100)
    expect(at(1100)).toEqual(['early 0', 'rnr 1'])
    expect(at(1400)).toEqual(['ackTimeout 0'])
    timers.postpone(1000)
    expect(timers.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY)
    expectRest()
  })

  it('a long turn puts off nothing that was armed before it, of its own queue pair or of another one', () => {
    const [{ q, t }, other] = qps as [(typeof qps)[0], (typeof qps)[0]]
    timers.armAckTimeout(q, t, 400, 300)
    timers.armRnr(other.q, other.t, 200)
    timers.beginTurn()
    expect(timers.hasArmed).toBe(false)
    timers.armEarly(q, t, 100)
    expect(timers.hasArmed).toBe(true)
    timers.postpone(1000)
    expect(at(200)).toEqual(['rnr 1'])
    expect(at(400)).toEqual(['ackTimeout 0'])
    expectRest()
  })

  it('whoever asks is told once that a timer was armed', () => {
    timers.takeArmed()
    arm('pace', 100)
    expect(timers.takeArmed()).toBe(true)
    expect(timers.takeArmed()).toBe(false)
    expectRest()
  })

  it('a QP that has failed, or was reset, has none', () => {
    for (const state of [QpState.Err, QpState.Reset]) {
      for (const name of names) arm(name, 100, qps[1])
      qps[1]!.modify(state)
      expect(at(100)).toEqual([])
      expect(timers.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY)
    }
  })
})

const cnp: Packet = { op: 'Cnp', becn: true, cnp: { reserved: new Uint8Array(16) } }
const on = { congestionControl: true, bytes: 1 << 16 }
const psns = (s: Script): number[] => s.take().map(({ psn }) => psn - ours)
/** At the lowest rate, at which a packet goes in about a quarter of a millisecond. */
const slowly = (s: Script): void => s.send(...Array.from({ length: 60 }, () => cnp))

describe('congestion control and the other timers', () => {
  scripted(
    'the ACK timeout runs from when the packet left, however long that took',
    (s) => {
      s.device.heldUpNs = 50 * ms
      s.end.post(Opcode.Send, null, { length: 8 })
      s.device.heldUpNs = 0
      expect(psns(s)).toEqual([0])
      s.wait(4096 * 2 ** 14 - 1)
      s.expectSilence()
      s.wait(1)
      expect(psns(s)).toEqual([0])
    },
    on,
  )

  scripted(
    'what it holds back is sent when it is switched off',
    (s) => {
      slowly(s)
      s.post(Opcode.Send, { length: 4 * mtu })
      expect(psns(s)).toEqual([0])
      s.device.congestionControl = false
      s.wait(ms)
      s.device.congestionControl = true
      expect(psns(s)).toEqual([1, 2, 3])
    },
    { ...on, type: QpType.UC },
  )

  scripted(
    'while packets are held back the peer may say that it has no receive: then they wait for that',
    (s) => {
      slowly(s)
      s.post(Opcode.Send, { length: 4 * mtu })
      expect(psns(s)).toEqual([0])
      s.answer(ours, rnr(20))
      s.wait(10.24 * ms - 1)
      s.expectSilence()
      s.wait(1)
      expect(psns(s)).toEqual([0])
      s.wait(ms)
      expect(psns(s)).toEqual([1, 2, 3])
      s.answer(ours + 3)
      s.expectCompletion({ status: 'Success' })
      s.wait(1e9)
      expect(s.device.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY)
    },
    on,
  )
})

describe('when the thread that drove the device was killed', () => {
  scripted('the wait for a receive ends when it would have ended', (s) => {
    s.post(Opcode.Send, { length: 8 })
    s.answer(ours, rnr(20))
    expect(psns(s)).toEqual([0])
    s.wait(5 * ms)
    s.device.orphan()
    s.wait(5.24 * ms - 1)
    s.expectSilence()
    s.wait(1)
    expect(psns(s)).toEqual([0])
    s.answer(ours)
    s.expectCompletion({ status: 'Success' })
    s.wait(1e9)
    s.expectSilence()
    expect(s.device.nextDeadlineNs).toBe(Number.POSITIVE_INFINITY)
  })

  scripted(
    'packets are sent again, no faster than congestion control lets them go, and the ACK timeout begins anew',
    (s) => {
      slowly(s)
      s.post(Opcode.Send, { length: 3 * mtu })
      expect(psns(s)).toEqual([0])
      s.device.orphan()
      s.drive()
      s.expectSilence()
      s.wait(ms)
      expect(psns(s)).toEqual([0, 1, 2])
      s.wait(4096 * 2 ** 14 - ms)
      expect(psns(s)).toEqual([0])
      s.wait(ms)
      expect(psns(s)).toEqual([1, 2])
      expect(s.counted()).toMatchObject({ takeovers: 1, timeouts: 1 })
    },
    on,
  )
})
