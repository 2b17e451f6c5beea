/** Senders that wait for a receive, at the moments at which a receive could be missed. */
import { afterAll, describe, expect, it, vi } from 'vitest'
import { receiveCame, Waiting, waits } from '../../../src/devices/shm/waiting.ts'
import { Opcode, openDevice, QpState, SendFlag, WcStatus } from '../../../src/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { connect, drain, type End, makeEnd } from './rig.ts'

const { Qp, Srq } = layout

describe('a receive that is posted while a sender puts itself to sleep', () => {
  const [left, right] = [openDevice('shm0'), openDevice('shm1')]
  const { host } = left.device
  const { i32 } = host
  afterAll(() => {
    left.close()
    right.close()
  })
  const tries = (): number => left.counters().rcvd_rnr_err!
  const word = (end: End): number => host.qpWord(end.qp.slot)

  it('is seen: the mark is taken back, no retry is used up', () => {
    const [a, b] = [makeEnd(left), makeEnd(right)]
    connect(a, b)
    const before = tries()
    const waiting = new Waiting(host)
    // The sender has found no receive, and has not marked that it waits: the poster wakes nobody.
    b.qp.postRecv({ wrId: 1, sgList: [b.sge()] })
    expect(waiting.receiverNotReady(word(a), word(b))).toBe(receiveCame)
    expect(i32[word(b) + Qp.rqWaiting]).toBe(0)
    expect(i32[word(a) + Qp.pending]).toBe(0)
    expect(tries() - before).toBe(0)
    a.close()
    b.close()
  })

  it('of an SRQ is seen, too', () => {
    const pd = right.allocPd()
    const srq = pd.createSrq({ maxWr: 4 })
    const [a, b] = [makeEnd(left), makeEnd(right, { srq })]
    connect(a, b)
    const waiting = new Waiting(host)
    srq.postRecv({ wrId: 1, sgList: [b.sge()] })
    expect(waiting.receiverNotReady(word(a), word(b))).toBe(receiveCame)
    expect(i32[host.srqWord(srq.slot) + Srq.waiting]).toBe(0)
    expect(i32[word(a) + Qp.waitingOn]).toBe(0)
    a.close()
    b.close()
    srq.close()
    pd.close()
  })

  it('comes to a sender that sleeps: the mark stays until somebody posts', () => {
    const [a, b] = [makeEnd(left), makeEnd(right)]
    connect(a, b)
    expect(new Waiting(host).receiverNotReady(word(a), word(b))).toBe(waits)
    expect(i32[word(b) + Qp.rqWaiting]).toBe(a.qp.slot + 1)
    a.qp.modify({ state: QpState.Err })
    a.close()
    b.close()
  })
})

describe('senders that wait for one SRQ', () => {
  it('are all woken, also when one of them is reset while the first goes on', () => {
    const [left, right] = [openDevice('shm0'), openDevice('shm1')]
    const pd = right.allocPd()
    const srq = pd.createSrq({ maxWr: 8 })
    const pairs = [0, 1, 2].map(() => [makeEnd(left), makeEnd(right, { srq })] as const)
    for (const [i, [a, b]] of pairs.entries()) {
      // Timer 0: a sender that is forgotten waits for 655 ms.
      connect(a, b, { minRnrTimer: 0 })
      a.qp.postSend({ wrId: i, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [a.sge()] })
    }
    const { device } = right
    const { resume } = device
    const woken: number[] = []
    const spy = vi.spyOn(device, 'resume').mockImplementation((slot) => {
      if (woken.push(slot) === 1) pairs[1]![0].qp.modify({ state: QpState.Reset })
      resume.call(device, slot)
    })
    const recv = (): void => srq.postRecv({ wrId: 9, sgList: [pairs[0]![1].sge()] })
    recv()
    spy.mockRestore()
    expect(woken).toEqual(pairs.map(([a]) => a.qp.slot))
    // The third took no receive, since the first had taken it: it waits again, and is woken again.
    recv()
    const done = pairs.map(([a]) => drain(a.cq))
    expect(done).toEqual([[{ wrId: 0, status: WcStatus.Success }], [], [{ wrId: 2, status: WcStatus.Success }]])
    for (const [a, b] of pairs) {
      a.close()
      b.close()
    }
    srq.close()
    pd.close()
    left.close()
    right.close()
  })
})
