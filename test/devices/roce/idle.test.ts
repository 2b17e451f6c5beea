/** The thread that drives devices while all programs wait in their event loops and nothing comes. */
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { nativeAvailable, Opcode, openDevice, SendFlag, WcStatus, workCompletions } from '../../../src/index.ts'
import { processHost } from '../../../src/verbs/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { connect, makeEnd } from '../shm/rig.ts'

/** How often it has gone to wait, or come back. */
const turns = (): number => Atomics.load(processHost().i32, processHost().at.meta + layout.Meta.serviceTurns)

describe.skipIf(!nativeAvailable)('the thread that drives devices, when nothing comes', () => {
  it('looks a few times a second, and sees at once when an event loop that is asked does not answer', async () => {
    const contexts = [openDevice(loopbackDevice(1)), openDevice(loopbackDevice(2))] as const
    const channels = contexts.map((context) => context.createCompChannel())
    const waits = channels.map((channel) => channel.nextEvent())
    const [a, b] = [makeEnd(contexts[0]), makeEnd(contexts[1])]
    // Seconds: the thread that drives devices may get no processor for some of them.
    connect(a, b, { timeout: 18, retryCnt: 7 })
    // Until a second has passed in which it was left alone. Looking every 64 ms would be more than thirty.
    for (let before = turns(); ; before = turns()) {
      await pause(1000)
      if (turns() - before <= 16) break
    }
    // From here on this thread does not return to its event loop, and drives the device of the one that asks only.
    b.buffer.fill(7, 0, 64)
    a.qp.postSend({
      wrId: 1,
      opcode: Opcode.Read,
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: a.mr.addr, length: 64, lkey: a.mr.lkey }],
      remoteAddr: b.mr.addr,
      rkey: b.mr.rkey,
    })
    const wc = workCompletions(1)
    while (a.cq.poll(wc) === 0);
    expect(wc[0]!.status).toBe(WcStatus.Success)
    expect([...a.buffer.subarray(0, 64)]).toEqual(new Array(64).fill(7))
    for (const end of [a, b]) end.close()
    for (const channel of channels) channel.close()
    await Promise.all(waits)
    for (const context of contexts) context.close()
  })
})
