import { expect, test } from 'vitest'
import { SpinTime, sleepCostNs } from '../../../src/rsocket/runtime/spin-time.ts'

/** How many of the next waits do not poll. */
function skipped(spin: SpinTime): number {
  let n = 0
  while (spin.begin() === 0) n++
  return n
}

test('a wait polls for as long as a sleep costs, while polling pays', () => {
  const spin = new SpinTime()
  for (let i = 0; i < 10; i++) {
    expect(spin.begin()).toBe(sleepCostNs)
    spin.paid()
  }
})

test('waits after one that polled in vain do not poll: twice as many each time, at most 64', () => {
  const spin = new SpinTime()
  spin.begin()
  const seen: number[] = []
  for (let i = 0; i < 9; i++) {
    spin.wasted()
    seen.push(skipped(spin))
  }
  expect(seen).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64])
  spin.paid()
  spin.wasted()
  expect(skipped(spin)).toBe(1)
})
