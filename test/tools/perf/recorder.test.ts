/** What the recorder makes of latencies: nothing is dropped, and percentiles are those of the samples. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maxExact, Recorder } from '../../../src/tools/perf/recorder.ts'
import { holds } from '../../property.ts'

function recorded(values: readonly number[], expected: number): Recorder {
  const recorder = new Recorder(expected)
  for (const value of values) recorder.add(value)
  return recorder
}

describe('the recorder', () => {
  it('gives exact statistics of a known number of samples', () => {
    const { count, min, max, mean, stdev, percentiles, exact } = recorded(
      Array.from({ length: 1000 }, (_, i) => 1000 - i),
      1000,
    ).statistics(1)
    expect({ count, min, max, mean, exact }).toEqual({ count: 1000, min: 1, max: 1000, mean: 500.5, exact: true })
    expect(stdev).toBeCloseTo(Math.sqrt((1000 * 1001) / 12), 9)
    expect(percentiles).toEqual({
      p10: 100,
      p25: 250,
      p50: 500,
      p75: 750,
      p90: 900,
      p95: 950,
      p99: 990,
      'p99.9': 999,
      'p99.99': 1000,
      'p99.999': 1000,
    })
  })

  it('drops no sample: the largest is the maximum, wherever it stands', () => {
    for (const at of [0, 1, 98, 99]) {
      const values = Array.from({ length: 100 }, (_, i) => (i === at ? 1e9 : 10))
      expect(recorded(values, 100).statistics(1).max).toBe(1e9)
      expect(recorded(values, Number.POSITIVE_INFINITY).statistics(1).max).toBe(1e9)
    }
  })

  it('sees a spread below a microsecond', () => {
    expect(recorded([100, 300], 2).statistics(0.5).stdev).toBeCloseTo(Math.sqrt(2) * 50, 9)
  })

  it('says the same with a histogram, up to 0.1 %', () => {
    const values = fc.array(fc.integer({ min: 1, max: 1e9 }), { minLength: 1, maxLength: 200 })
    holds(
      fc.property(values, (sample) => {
        const exact = recorded(sample, sample.length).statistics(0.5)
        const bounded = recorded(sample, maxExact + 1).statistics(0.5)
        expect([exact.exact, bounded.exact]).toEqual([true, false])
        expect([bounded.count, bounded.min, bounded.max]).toEqual([exact.count, exact.min, exact.max])
        for (const [name, value] of Object.entries(exact.percentiles)) {
          expect(bounded.percentiles[name]).toBeGreaterThanOrEqual(value)
          expect(bounded.percentiles[name]).toBeLessThanOrEqual(value * 1.001 + 1)
        }
      }),
    )
  })

  it('of nothing is nothing', () => {
    const { count, min, max, mean, percentiles } = recorded([], 10).statistics(1)
    expect([count, min, max, mean, percentiles.p99]).toEqual([0, 0, 0, 0, 0])
  })
})
