import { expect, it } from 'vitest'
import { openDevice } from '../../../src/index.ts'
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
