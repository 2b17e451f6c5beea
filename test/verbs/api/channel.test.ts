import { expect, it } from 'vitest'
import { openDevice } from '../../../src/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'
import { withSlot } from '../slots.ts'

/** A count below zero would hide the next one who waits: its events would come without waking it. */
it('a wait that ends after its channel was closed leaves the count of who waits on the next one alone', async () => {
  using context = openDevice('shm0')
  const { host } = context.device
  const waiters = (slot: number): number => host.i32[host.chanWord(slot) + layout.Chan.waiters]!
  const first = context.createCompChannel()
  const waits = [first.nextEvent(), first.whenEvent(), first[Symbol.asyncIterator]().next()]
  expect(waiters(first.slot)).toBe(3)
  first.close()
  const second = withSlot(first.slot, () => context.createCompChannel())
  const waiting = second.whenEvent()
  await Promise.all(waits)
  expect(waiters(second.slot)).toBe(1)
  second.wake()
  await waiting
  expect(waiters(second.slot)).toBe(0)
  second.close()
})
