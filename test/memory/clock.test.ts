import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { nowNs, sleepUntilNs, spinUntilNs } from '../../src/memory/clock.ts'

describe('nowNs', () => {
  it('is whole nanoseconds and never goes back', () => {
    let last = nowNs()
    for (let i = 0; i < 100_000; i++) {
      const now = nowNs()
      if (!Number.isSafeInteger(now) || now < last) expect.fail(`${now} after ${last}`)
      last = now
    }
  })
  it('is the clock of process.hrtime', () => {
    const before = process.hrtime.bigint()
    const now = BigInt(nowNs())
    expect(now).toBeGreaterThanOrEqual(before)
    expect(process.hrtime.bigint()).toBeGreaterThanOrEqual(now)
  })
  it('is the same clock in another process', () => {
    const before = nowNs()
    const there = Number(
      execFileSync(process.execPath, ['-p', 'process.hrtime.bigint().toString()'], { encoding: 'utf8' }),
    )
    expect(there).toBeGreaterThan(before)
    expect(there).toBeLessThan(nowNs())
  })
})

describe.each([
  ['sleepUntilNs', sleepUntilNs],
  ['spinUntilNs', spinUntilNs],
])('%s', (_, pause) => {
  it('does not return early', () => {
    for (const pauseNs of [0, 1000, 50_000, 400_000, 3_000_000]) {
      const until = nowNs() + pauseNs
      pause(until)
      expect(nowNs()).toBeGreaterThanOrEqual(until)
    }
  })
  it('returns at once when the time has passed', () => {
    pause(nowNs() - 1e9)
    pause(0)
  })
})
