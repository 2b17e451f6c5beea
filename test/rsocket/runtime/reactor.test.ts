import { expect, it } from 'vitest'
import { activate, forget, type Member } from '../../../src/rsocket/runtime/reactor.ts'

it('what a turn has resolved is served before those that it made active have theirs', async () => {
  const order: string[] = []
  let ended = (): void => {}
  const end = new Promise<void>((resolve) => {
    ended = resolve
  })
  const second: Member = {
    turn() {
      order.push('turn of the second')
      forget(second)
      ended()
      return true
    },
    arm: () => false,
  }
  const first: Member = {
    turn() {
      order.push('turn of the first')
      process.nextTick(() => order.push('tick'))
      void Promise.resolve().then(() => order.push('promise'))
      activate(second)
      forget(first)
      return true
    },
    arm: () => false,
  }
  activate(first)
  await end
  expect(order).toEqual(['turn of the first', 'tick', 'promise', 'turn of the second'])
})
