/** Threads that block for events: one of them waits in the kernel for the packets of its device, and goes on itself. */
import { once } from 'node:events'
import { afterAll, describe, expect, it, vi } from 'vitest'
import type { RoceDevice } from '../../../src/devices/roce/device.ts'
import { RoceDev } from '../../../src/devices/roce/layout.ts'
import {
  type Context,
  connectQp,
  endpointOf,
  nativeAvailable,
  Opcode,
  openDevice,
  type QpEndpoint,
  SendFlag,
  sendWr,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { access, makeEnd, patienceMs } from '../shm/rig.ts'
import type { SleeperData } from './sleeper.worker.ts'

/** A thread that blocks on `device` for what this thread sends it from `context`. */
async function sleeper(context: Context, device: string) {
  const words = new Int32Array(new SharedArrayBuffer(12))
  const data: SleeperData = { device, words }
  const thread = startThread(new URL('./sleeper.worker.ts', import.meta.url), { workerData: data })
  const [endpoint] = (await once(thread, 'message')) as [QpEndpoint]
  const end = makeEnd(context)
  const local = endpointOf(end.qp)
  connectQp(end.qp, local, endpoint, { accessFlags: access, timeout: 16, retryCnt: 7 })
  thread.postMessage(local)
  await once(thread, 'message')
  return {
    end,
    thread,
    send(): void {
      end.qp.postSend(sendWr({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList: [end.sge(0, 8)], wrId: 1 }))
    },
    /** Blocks until so many messages have come. */
    arrived(count: number): boolean {
      const until = performance.now() + patienceMs
      for (let n = Atomics.load(words, 0); n < count; n = Atomics.load(words, 0))
        if (performance.now() > until || Atomics.wait(words, 0, n, 1000) === undefined) return false
      return true
    },
    async stop(): Promise<void> {
      Atomics.store(words, 2, 1)
      const done = once(thread, 'message')
      this.send()
      expect(await done).toEqual(['done'])
      end.close()
    },
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe.skipIf(!nativeAvailable)('threads that block for events', () => {
  const context = openDevice(loopbackDevice(1))
  const target = openDevice(loopbackDevice(2))
  afterAll(() => {
    context.close()
    target.close()
  })
  const { host, index } = target.device
  const word = (at: number): number => Atomics.load(host.i32, host.deviceWord(index) + at)
  const asleep = async (): Promise<void> => {
    for (let i = 0; i < 1000 && word(RoceDev.sleeper) === 0; i++) await pause(5)
    expect(word(RoceDev.sleeper)).not.toBe(0)
  }

  it('wait on the sockets themselves', async () => {
    const one = await sleeper(context, loopbackDevice(2))
    for (let n = 1; n <= 20; n++) {
      await asleep()
      const sleeps = word(RoceDev.sleeps)
      one.send()
      expect(one.arrived(n)).toBe(true)
      expect(word(RoceDev.sleeps)).toBeGreaterThan(sleeps)
    }
    await one.stop()
    expect(word(RoceDev.sleeper)).toBe(0)
  })

  it('of several on one device each gets its own', async () => {
    const all = [
      await sleeper(context, loopbackDevice(2)),
      await sleeper(context, loopbackDevice(2)),
      await sleeper(context, loopbackDevice(2)),
    ]
    for (let n = 1; n <= 10; n++) {
      await asleep()
      for (const one of all) one.send()
      for (const one of all) expect(one.arrived(n)).toBe(true)
    }
    // The others go on when the one that waited for all has gone.
    await all[0]!.stop()
    for (const one of all.slice(1)) one.send()
    for (const one of all.slice(1)) expect(one.arrived(11)).toBe(true)
    for (const one of all.slice(1)) await one.stop()
  })

  it('one that is ended meanwhile leaves its device to others', async () => {
    const one = await sleeper(context, loopbackDevice(2))
    await asleep()
    await one.thread.terminate()
    one.end.close()
    const [left, right] = [makeEnd(context), makeEnd(target)]
    const [near, far] = [endpointOf(left.qp), endpointOf(right.qp)]
    connectQp(left.qp, near, far, { accessFlags: access, timeout: 16, retryCnt: 7 })
    connectQp(right.qp, far, near, { accessFlags: access, timeout: 16, retryCnt: 7 })
    left.buffer[0] = 77
    left.qp.postSend(
      sendWr({
        opcode: Opcode.Write,
        sgList: [left.sge(0, 8)],
        remoteAddr: right.mr.addr,
        rkey: right.mr.rkey,
        wrId: 1,
      }),
    )
    // Nobody here looks at the device that is written to.
    for (let i = 0; i < 1000 && right.buffer[0] !== 77; i++) await pause(5)
    expect(right.buffer[0]).toBe(77)
    left.close()
    right.close()
  })

  /** Two ends, of which the second is on `target`, and its thread waits in its event loop. */
  function loopEnds() {
    const channel = target.createCompChannel()
    const recvCq = target.createCq(64, { channel })
    const [left, right] = [makeEnd(context), makeEnd(target, { recvCq })]
    const [near, far] = [endpointOf(left.qp), endpointOf(right.qp)]
    connectQp(left.qp, near, far, { accessFlags: access, timeout: 16, retryCnt: 7 })
    connectQp(right.qp, far, near, { accessFlags: access, timeout: 16, retryCnt: 7 })
    const wc = workCompletions(4)
    let wrId = 0
    return {
      /** Waits in the event loop for a message, which is sent after `waits`; afterwards nothing waits there. */
      async message(waits: () => void): Promise<void> {
        right.qp.postRecv({ wrId: ++wrId, sgList: [right.sge(0, 8)] })
        recvCq.reqNotify()
        const event = channel.nextEvent(patienceMs)
        await pause(1)
        waits()
        left.qp.postSend(sendWr({ opcode: Opcode.Send, sgList: [left.sge(0, 8)], wrId }))
        expect(await event).toBe(recvCq)
        recvCq.ackEvents(1)
        expect(recvCq.poll(wc)).toBe(1)
        expect(wc[0]).toMatchObject({ wrId, status: WcStatus.Success })
      },
      close(): void {
        for (const each of [left, right, recvCq, channel]) each.close()
      },
    }
  }
  const isLooper = (): boolean => word(RoceDev.looper) === host.segment.lockValue

  it('of several event loops two are signalled by the kernel; when they take nothing, the next that waits is', async () => {
    const ends = loopEnds()
    const signals = vi.spyOn(host.segment.parking, 'watchInLoop')
    // A thread that lives, and is too busy to take anything, stands for two.
    const busy = Atomics.load(host.i32, host.at.meta + layout.Meta.serviceOwner)
    expect(busy).not.toBe(0)
    for (const at of [RoceDev.looper, RoceDev.deputy]) Atomics.store(host.i32, host.deviceWord(index) + at, busy)
    signals.mockClear()
    await ends.message(() => expect(signals).not.toHaveBeenCalled())
    for (let n = 0; n < 400 && !(isLooper() && signals.mock.calls.length > 0); n++) await ends.message(() => {})
    expect(isLooper()).toBe(true)
    expect(signals).toHaveBeenCalled()
    signals.mockRestore()
    ends.close()
  })

  it('an event loop that is signalled stays so while its program waits for something else, if a third one waits', async () => {
    const ends = loopEnds()
    const signals = vi.spyOn(host.segment.parking, 'watchInLoop')
    const third = host.deviceWord(index) + RoceDev.unsignalled
    Atomics.store(host.i32, third, 1)
    let found = 0
    // The service thread may take some.
    for (let n = 0; n < 400 && found === 0; n++) {
      await ends.message(() => signals.mockClear())
      await pause(1)
      found = signals.mock.calls.length
    }
    expect(found).toBeGreaterThan(0)
    Atomics.store(host.i32, third, 0)
    signals.mockRestore()
    ends.close()
  })

  it('an event loop is woken by the kernel, and takes its packets itself', async () => {
    const ends = loopEnds()
    const drive = vi.spyOn(target.device as RoceDevice, 'drive')
    const rounds = 20
    let watched = 0
    // The service thread looks now and then, and may take some, and the device with that until it is waited for once more; on a busy machine
    // it takes most.
    const taken = (): number => drive.mock.results.reduce((sum, { value }) => sum + (value as number), 0)
    const enough = (): boolean => taken() > rounds / 4 && watched > rounds / 2
    for (let n = 1; n <= rounds || (n <= 20 * rounds && !enough()); n++)
      await ends.message(() => {
        if (isLooper()) watched++
      })
    expect(watched).toBeGreaterThan(rounds / 2)
    expect(taken()).toBeGreaterThan(rounds / 4)
    drive.mockRestore()
    ends.close()
  })
})
