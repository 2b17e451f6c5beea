/** The thread that drives devices: it never ends silently. */
import { afterAll, describe, expect, it, vi } from 'vitest'
import { wakeService } from '../../../src/devices/roce/service-handle.ts'
import { connectQp, nativeAvailable, openDevice, QpType } from '../../../src/index.ts'
import { signalEventFd } from '../../../src/memory/native/index.ts'
import { Attachment, attachmentWord, ownerMask } from '../../../src/memory/segment-layout.ts'
import { processHost } from '../../../src/verbs/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { until } from '../shm/rig.ts'

const { Meta } = layout
const word = (name: 'serviceOwner' | 'serviceTurns' | 'serviceWake'): number => processHost().at.meta + Meta[name]

/** Until the thread has waited in the kernel for everything that is open, and come back. It counts both. */
async function turns(): Promise<void> {
  const { i32 } = processHost()
  const before = Atomics.load(i32, word('serviceTurns'))
  await until('turns', () => {
    wakeService(processHost())
    return Atomics.load(i32, word('serviceTurns')) - before > 6
  })
}

describe.skipIf(!nativeAvailable)('the thread that drives devices', () => {
  const context = openDevice(loopbackDevice(1))
  afterAll(() => context.close())

  it('waits for more than 512 sockets', async () => {
    const contexts = Array.from({ length: 5 }, (_, i) => openDevice(loopbackDevice(2 + i)))
    const qps = contexts.map((each) => {
      const pd = each.allocPd()
      const cq = each.createCq(4)
      const qp = pd.createQp({ type: QpType.UD, sendCq: cq, recvCq: cq })
      connectQp(qp, { psn: 1 }, null)
      return qp
    })
    const groups = Array.from({ length: 103 }, (_, i) =>
      Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 10, process.pid & 0xff, i),
    )
    for (const qp of qps) for (const group of groups) qp.attachMcast(group)
    await until('an owner', () => Atomics.load(processHost().i32, word('serviceOwner')) !== 0)
    const owner = Atomics.load(processHost().i32, word('serviceOwner'))
    await turns()
    expect(Atomics.load(processHost().i32, word('serviceOwner'))).toBe(owner)
    expect(context.counters().service_failures).toBe(0)
    // They stay open: closing so many sockets takes seconds.
  })

  it('is followed by another one if it ends by an error, which is counted and told', async () => {
    const { i32 } = processHost()
    const owner = Atomics.load(i32, word('serviceOwner'))
    // Seen here, it is not printed.
    const warning = vi.spyOn(process, 'emitWarning').mockReturnValue()
    // What it is woken by turns out to be no descriptor at all.
    const eventFd = attachmentWord(owner & ownerMask) + Attachment.eventFd
    const fd = Atomics.exchange(i32, eventFd, 1 << 20)
    // It waits for the one that it had, and then for that one.
    signalEventFd(fd - 1)
    await until('a warning', () => warning.mock.calls.length > 0)
    Atomics.store(i32, eventFd, fd)
    const told = /the thread that drives roce devices has ended: .*EBADF.*Another one takes over/s
    expect(warning.mock.calls).toEqual([[expect.stringMatching(told), { code: 'VERBENA_ROCE_SERVICE' }]])
    warning.mockRestore()
    await until('another owner', () => ![0, owner].includes(Atomics.load(i32, word('serviceOwner'))))
    await turns()
    expect(context.counters().service_failures).toBeGreaterThanOrEqual(1)
  })
})
