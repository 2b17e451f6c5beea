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

  it('of several event loops two are signalled by the kernel; when they take nothing, the next that waits is', async () => {
    const channel = target.createCompChannel()
    const recvCq = target.createCq(64, { channel })
    const [left, right] = [makeEnd(context), makeEnd(target, { recvCq })]
    const [near, far] = [endpointOf(left.qp), endpointOf(right.qp)]
    connectQp(left.qp, near, far, { accessFlags: access, timeout: 16, retryCnt: 7 })
    connectQp(right.qp, far, near, { accessFlags: access, timeout: 16, retryCnt: 7 })
    const signalled = [RoceDev.looper, RoceDev.deputy].map((at) => host.deviceWord(index) + at)
    const signals = vi.spyOn(host.segment.parking, 'watchInLoop')
    const wc = workCompletions(4)
    const message = async (wrId: number, waits: () => void): Promise<void> => {
      right.qp.postRecv({ wrId, sgList: [right.sge(0, 8)] })
      recvCq.reqNotify()
      const event = channel.nextEvent(patienceMs)
      await pause(1)
      waits()
      left.qp.postSend(sendWr({ opcode: Opcode.Send, sgList: [left.sge(0, 8)], wrId }))
      expect(await event).toBe(recvCq)
      recvCq.ackEvents(1)
      expect(recvCq.poll(wc)).toBe(1)
      expect(wc[0]).toMatchObject({ wrId, status: WcStatus.Success })
    }
    // A thread that lives, and is too busy to take anything, stands for two.
    const busy = Atomics.load(host.i32, host.at.meta + layout.Meta.serviceOwner)
    expect(busy).not.toBe(0)
    for (const word of signalled) Atomics.store(host.i32, word, busy)
    signals.mockClear()
    await message(1, () => expect(signals).not.toHaveBeenCalled())
    const isSignalled = (): boolean => word(RoceDev.looper) === host.segment.lockValue && signals.mock.calls.length > 0
    for (let wrId = 2; wrId < 400 && !isSignalled(); wrId++) await message(wrId, () => {})
    expect(word(RoceDev.looper)).toBe(host.segment.lockValue)
    expect(signals).toHaveBeenCalled()
    signals.mockRestore()
    left.close()
    right.close()
    recvCq.close()
    channel.close()
  })

  it('an event loop that is signalled stays so while its program waits for something else, if a third one waits', async () => {
    const channel = target.createCompChannel()
    const recvCq = target.createCq(64, { channel })
    const [left, right] = [makeEnd(context), makeEnd(target, { recvCq })]
    const [near, far] = [endpointOf(left.qp), endpointOf(right.qp)]
    connectQp(left.qp, near, far, { accessFlags: access, timeout: 16, retryCnt: 7 })
    connectQp(right.qp, far, near, { accessFlags: access, timeout: 16, retryCnt: 7 })
    const signals = vi.spyOn(host.segment.parking, 'watchInLoop')
    const wc = workCompletions(4)
    const third = host.deviceWord(index) + RoceDev.unsignalled
    let wrId = 0
    /** Requests for signals from the arrival of a message on, after which nothing waits in the event loop. */
    const requests = async (): Promise<number> => {
      right.qp.postRecv({ wrId: ++wrId, sgList: [right.sge(0, 8)] })
      recvCq.reqNotify()
      const event = channel.nextEvent(patienceMs)
      await pause(1)
      signals.mockClear()
      left.qp.postSend(sendWr({ opcode: Opcode.Send, sgList: [left.sge(0, 8)], wrId }))
      expect(await event).toBe(recvCq)
      recvCq.ackEvents(1)
      expect(recvCq.poll(wc)).toBe(1)
      await pause(1)
      return signals.mock.calls.length
    }
    Atomics.store(host.i32, third, 1)
    let found = 0
    // The service thread may take some.
    for (let round = 0; round < 400 && found === 0; round++) found = await requests()
    expect(found).toBeGreaterThan(0)
    Atomics.store(host.i32, third, 0)
    signals.mockRestore()
    left.close()
    right.close()
    recvCq.close()
    channel.close()
  })

  it('an event loop is woken by the kernel, and takes its packets itself', async () => {
    const channel = target.createCompChannel()
    const recvCq = target.createCq(64, { channel })
    const [left, right] = [makeEnd(context), makeEnd(target, { recvCq })]
    const [near, far] = [endpointOf(left.qp), endpointOf(right.qp)]
    connectQp(left.qp, near, far, { accessFlags: access, timeout: 16, retryCnt: 7 })
    connectQp(right.qp, far, near, { accessFlags: access, timeout: 16, retryCnt: 7 })
    const drive = vi.spyOn(target.device as RoceDevice, 'drive')
    const wc = workCompletions(4)
    const rounds = 20
    let watched = 0
    // The service thread looks now and then, and may take some, and the device with that until it is waited for once more; on a busy machine
    // it takes most.
    const taken = (): number => drive.mock.results.reduce((sum, { value }) => sum + (value as number), 0)
    const enough = (): boolean => taken() > rounds / 4 && watched > rounds / 4
    for (let wrId = 1; wrId <= rounds || (wrId <= 20 * rounds && !enough()); wrId++) {
      right.qp.postRecv({ wrId, sgList: [right.sge(0, 8)] })
      recvCq.reqNotify()
      const event = channel.nextEvent(patienceMs)
      await pause(1)
      if (word(RoceDev.looper) === host.segment.lockValue) watched++
      left.qp.postSend(sendWr({ opcode: Opcode.Send, sgList: [left.sge(0, 8)], wrId }))
      expect(await event).toBe(recvCq)
      recvCq.ackEvents(1)
      expect(recvCq.poll(wc)).toBe(1)
      expect(wc[0]).toMatchObject({ wrId, status: WcStatus.Success })
    }
    expect(watched).toBeGreaterThan(rounds / 4)
    expect(taken()).toBeGreaterThan(rounds / 4)
    drive.mockRestore()
    left.close()
    right.close()
    recvCq.close()
    channel.close()
  })
})
