import { expect, test, vi } from 'vitest'
import { every } from '../../src/memory/index.ts'

test('what comes every second comes together, whenever it was begun', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    const times: number[][] = [[], [], [], []]
    const stops = times.map((at) => {
      const stop = every(1000, () => at.push(Math.round(performance.now())))
      vi.advanceTimersByTime(230)
      return stop
    })
    vi.advanceTimersByTime(3000)
    stops[0]!()
    vi.advanceTimersByTime(1000)
    // The fourth had less than half a second left to the first time.
    expect(times).toEqual([
      [1000, 2000, 3000],
      [1000, 2000, 3000, 4000],
      [1000, 2000, 3000, 4000],
      [2000, 3000, 4000],
    ])
    for (const stop of stops) stop()
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
