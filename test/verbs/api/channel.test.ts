import { expect, it, vi } from 'vitest'
import { type CompletionQueue, openDevice, QpType } from '../../../src/index.ts'
import { reapAttachment } from '../../../src/verbs/provider/reap.ts'
import { sweepNow } from '../../../src/verbs/provider/reclaim.ts'
import { withSlot } from '../slots.ts'

it('waits end when their channel closes, and the next channel in its place wakes its own', async () => {
  using context = openDevice('shm0')
  const first = context.createCompChannel()
  const waits = [first.nextEvent(), first.whenEvent(), first[Symbol.asyncIterator]().next()]
  first.close()
  const second = withSlot(first.slot, () => context.createCompChannel())
  let woken = false
  const waiting = second.whenEvent().then(() => {
    woken = true
  })
  expect(await Promise.all(waits)).toEqual([null, undefined, { done: true, value: undefined }])
  expect(woken).toBe(false)
  second.wake()
  await waiting
  second.close()
})

it('a wake that a process owed when it was killed is made up for when it is cleaned up after', async () => {
  // Without looking again by itself, as it would after a second.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    using context = openDevice('shm0')
    const { host } = context.device
    const channel = context.createCompChannel()
    const cq = context.createCq(4, { channel })
    const waiting = channel.nextEvent()
    const wake = vi.spyOn(host.segment, 'wake').mockImplementation(() => {})
    host.wakeChannel(host.cqWord(cq.slot))
    wake.mockRestore()
    // The event is there, and the thread waits.
    reapAttachment(host, host.segment.me + 1000)
    expect(await waiting).toBe(cq)
    cq.ackEvents(1)
    cq.close()
    channel.close()
  } finally {
    vi.useRealTimers()
  }
})

it('the end of an agent on QP 1 is an event for the others of the segment', async () => {
  using context = openDevice('shm0')
  const pd = context.allocPd()
  const agents = Array.from({ length: 3 }, () => {
    const channel = context.createCompChannel()
    const cq = context.createCq(4, { channel })
    return { channel, cq, qp: pd.createQp({ type: QpType.GSI, sendCq: cq, recvCq: cq }) }
  })
  expect(agents.map(({ channel }) => channel.hasEvent)).toEqual([false, false, false])
  agents[1]!.qp.close()
  expect(agents.map(({ channel }) => channel.hasEvent)).toEqual([true, false, true])
  for (const { channel, cq, qp } of agents) {
    if (!qp.closed) qp.close()
    for (let event = channel.tryGetEvent(); event !== null; event = channel.tryGetEvent()) event.ackEvents(1)
    cq.close()
    channel.close()
  }
  pd.close()
})

it('a CQ with an event that nobody acknowledges is not closed, and says what to do', () => {
  using context = openDevice('shm0')
  const { host } = context.device
  const channel = context.createCompChannel()
  const cq = context.createCq(4, { channel })
  host.wakeChannel(host.cqWord(cq.slot))
  expect(channel.tryGetEvent()).toBe(cq)
  // Its patience is over at once.
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (late += 2000))
  let late = 0
  try {
    expect(() => cq.close()).toThrow(/cq\.ackEvents\(1\).*EBUSY/)
  } finally {
    clock.mockRestore()
  }
  cq.ackEvents(1)
  cq.close()
  channel.close()
})

it('a CQ whose place another one has as soon as it may leaves its channel, and not the channel of that one', () => {
  using context = openDevice('shm0')
  const { host } = context.device
  const [mine, other] = [context.createCompChannel(), context.createCompChannel()]
  const cq = context.createCq(4, { channel: mine })
  const { slot } = cq
  const control = host.control.bind(host)
  let next: CompletionQueue | undefined
  vi.spyOn(host, 'control').mockImplementationOnce((work) => {
    const result = control(work)
    // What other threads may do once the lock is free.
    sweepNow(host)
    next = withSlot(slot, () => context.createCq(4, { channel: other }))
    return result
  })
  try {
    cq.close()
  } finally {
    vi.restoreAllMocks()
  }
  expect(next).toBeDefined()
  mine.close()
  expect(() => other.close()).toThrow('EBUSY')
  next!.close()
  other.close()
})
