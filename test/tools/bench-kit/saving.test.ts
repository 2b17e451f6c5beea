import { expect, it } from 'vitest'
import { pacedSaver } from '../../../src/tools/bench-kit/index.ts'

it('saving takes a tenth of the time at most, and what is cheap is done each time', () => {
  let nowMs = 1000
  let saved = 0
  let costMs = 5
  const save = pacedSaver(
    () => {
      saved++
      nowMs += costMs
    },
    () => nowMs,
  )
  const sets = (count: number, ms: number): number => {
    const before = saved
    for (let i = 0; i < count; i++) {
      save()
      nowMs += ms
    }
    return saved - before
  }
  expect(sets(20, 50)).toBe(20)
  const began = nowMs
  const times = sets(2000, 1)
  expect(times).toBeGreaterThan(30)
  expect(times * costMs).toBeLessThanOrEqual((nowMs - began) / 10 + costMs)
  costMs = 0
  nowMs += 100
  expect(sets(100, 0)).toBe(100)
})
