/** What comes for memory of a process that has ended: nobody answers, as where its queue pair is gone already. What is unmapped alone is forbidden. */
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { ProcessBytes } from '../../../src/devices/process-memory/index.ts'
import { Access, EventType, Opcode, openDevice, QpState, SendFlag, WcStatus } from '../../../src/index.ts'
import { nativeAvailable } from '../../../src/memory/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { endMemoryProcesses, MemoryProcess } from '../../memory/memory-process.ts'
import { connectSides, patientTiming, Side, sge } from '../shm/process-rig.ts'
import { until } from '../shm/rig.ts'

const length = 20_000

describe.skipIf(!nativeAvailable)('memory of a process', () => {
  const contexts = [openDevice(loopbackDevice(3)), openDevice(loopbackDevice(4))] as const
  const sides: Side[] = []
  afterEach(async () => {
    for (const side of sides.splice(0)) side.close()
    await endMemoryProcesses()
  })
  afterAll(() => {
    for (const context of contexts) context.close()
  })

  it('that ends in the middle of a burst is not there for the rest of it', async () => {
    const context = openDevice('shm0')
    const process = await MemoryProcess.start(length)
    const { host } = context.device
    const side = new Side(context)
    const { rkey, addr } = side.inProcess(process).mr
    const bytes = new ProcessBytes(host)
    // The number of the process that the device has given to it, too.
    expect(bytes.reach('test', process.pid, addr, length)).toBe(1)
    const pd = host.i32[host.findQp(side.qp.qpNum) + layout.Qp.pd]!
    // As it lies in the segment.
    const at = (): number => bytes.resolve(rkey | 0, pd, addr, 8, Access.RemoteWrite, -1)
    bytes.beginBurst()
    expect(at()).toBeLessThan(-1)
    await process.end()
    expect([at() < -1, bytes.isGone]).toEqual([true, false])
    expect(bytes.isThere(process.pid)).toBe(false)
    expect([at(), bytes.isGone]).toEqual([-1, true])
    side.close()
    context.close()
  })

  const requests = [
    { opcode: Opcode.Send, forbidden: WcStatus.RemOpErr },
    { opcode: Opcode.Write, forbidden: WcStatus.RemAccessErr },
    { opcode: Opcode.Read, forbidden: WcStatus.RemAccessErr },
    { opcode: Opcode.AtomicFetchAndAdd, forbidden: WcStatus.RemAccessErr },
  ]
  const ways = [
    { how: 'ends: nobody answers', ends: true },
    { how: 'is unmapped: it is forbidden', ends: false },
  ]
  it.each(ways)('that $how', async ({ ends }) => {
    const process = await MemoryProcess.start(length)
    const pairs = requests.map(({ opcode, forbidden }) => {
      const [a, b] = contexts.map((context) => new Side(context, { hosted: true })) as [Side, Side]
      sides.push(a, b)
      // Only where nobody answers does the requester give up soon: an answer may wait for a processor.
      connectSides(a, b, ends ? { timeout: 8, retryCnt: 2 } : patientTiming)
      return { opcode, forbidden, a, b, own: a.inSegment(length), other: b.inProcess(process) }
    })
    if (ends) await process.end()
    else await process.unmap(0, length)
    const before = contexts[1].counters()
    for (const { opcode, a, b, own, other } of pairs) {
      b.postRecv({ sgList: [sge(other, 0, length)] })
      a.qp.postSend({
        ...{ opcode, sendFlags: SendFlag.Signaled, remoteAddr: other.mr.addr, rkey: other.mr.rkey, compareAdd: 1n },
        sgList: [sge(own, 0, opcode === Opcode.AtomicFetchAndAdd ? 8 : length)],
      } as never)
    }
    const statuses = new Map<Side, number>()
    // The requester may have given up before the responder came to look.
    await until('completions, and errors', () => {
      for (const { device } of contexts) device.progress()
      for (const { a } of pairs) for (const { status } of a.completions(a.sendCq)) statuses.set(a, status)
      return statuses.size === pairs.length && pairs.every(({ b }) => b.qp.state === QpState.Err)
    })
    for (const { a, forbidden } of pairs) {
      expect(statuses.get(a)).toBe(ends ? WcStatus.RetryExcErr : forbidden)
      expect(a.qp.state).toBe(QpState.Err)
    }
    const accessErrors = requests.filter(({ forbidden }) => !ends && forbidden === WcStatus.RemAccessErr)
    for (const _ of accessErrors) expect(contexts[1].pollAsyncEvent()).toMatchObject({ type: EventType.QpAccessErr })
    expect(contexts[1].pollAsyncEvent()).toBe(null)
    const now = contexts[1].counters()
    expect(now.naks_sent! - before.naks_sent!).toBe(ends ? 0 : pairs.length)
    if (ends) expect(now.drops_qp_state! - before.drops_qp_state!).toBeGreaterThanOrEqual(pairs.length)
  })
})
