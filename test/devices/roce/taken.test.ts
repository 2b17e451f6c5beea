/** A thread that finds the adapter taken by another one, and goes to wait. */
import { afterEach, expect, test, vi } from 'vitest'
import { nativeAvailable, openDevice } from '../../../src/index.ts'
import { TransportDevice } from '../../../src/transport/layout.ts'
import { processHost } from '../../../src/verbs/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { loopbackDevice } from '../../loopback.ts'

afterEach(() => vi.restoreAllMocks())

async function taken() {
  const context = openDevice(loopbackDevice(1))
  const { host, index } = context.device
  const { i32, segment } = host
  const record = i32[host.deviceWord(index) + layout.Dev.transport]!
  const lock = record + TransportDevice.lock
  const looker = record + TransportDevice.looker
  const channel = context.createCompChannel()
  const asked = vi.spyOn(segment.parking, 'watchInLoop')
  // Else it may be the one that finds the adapter taken: it waits in the kernel.
  const own = processHost()
  await vi.waitFor(() => expect(Atomics.load(own.i32, own.at.meta + layout.Meta.serviceTurns) & 1).toBe(1))
  // The thread that plays the adapter has it, and does not come to an end.
  while (Atomics.compareExchange(i32, lock, 0, i32[host.at.meta + layout.Meta.serviceOwner]!) !== 0);
  return {
    asked,
    waitFor: () => channel.whenEvent(),
    owed: () => Atomics.load(i32, looker) !== 0,
    /** As another thread does that has found it taken. */
    lookFirst: () => Atomics.store(i32, looker, i32[host.at.meta + layout.Meta.serviceOwner]!),
    /** As the holder does: it wakes whoever has said that it waits. */
    giveBack(wakes: boolean): void {
      Atomics.store(i32, lock, 0)
      const who = Atomics.exchange(i32, looker, 0)
      if (wakes) segment.wakeThread(who)
    },
    async end(waiting: Promise<void>): Promise<void> {
      channel.wake()
      await waiting
      channel.close()
      context.close()
    },
  }
}

test.skipIf(!nativeAvailable)(
  'does not ask the kernel for packets while it is taken, and is woken afterwards',
  async () => {
    const { asked, waitFor, owed, giveBack, end } = await taken()
    const waiting = waitFor()
    await new Promise((resolve) => setImmediate(resolve))
    expect(owed()).toBe(true)
    expect(asked).not.toHaveBeenCalled()
    giveBack(true)
    await vi.waitFor(() => expect(asked).toHaveBeenCalled())
    await end(waiting)
  },
)

test.skipIf(!nativeAvailable)('asks the kernel also where it was given back before it could be woken', async () => {
  const { asked, waitFor, owed, giveBack, end } = await taken()
  const waiting = waitFor()
  expect(owed()).toBe(true)
  giveBack(false)
  for (let i = 0; i < 3; i++) await Promise.resolve()
  expect(asked).toHaveBeenCalled()
  await end(waiting)
})

test.skipIf(!nativeAvailable)('asks the kernel where another thread is the one that will be woken', async () => {
  const { asked, waitFor, lookFirst, giveBack, end } = await taken()
  lookFirst()
  const waiting = waitFor()
  await vi.waitFor(() => expect(asked).toHaveBeenCalled())
  giveBack(true)
  await end(waiting)
})
