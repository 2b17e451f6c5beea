import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { medianOf, percentile, rankOf, summarize } from '../../src/stats/index.ts'
import { holds } from '../property.ts'

describe('summarize', () => {
  it('is all zero for no values', () => {
    expect(summarize([])).toEqual({ count: 0, min: 0, p10: 0, median: 0, p90: 0, p99: 0, p999: 0, max: 0 })
  })

  it('takes the nearest rank', () => {
    const values = Array.from({ length: 1000 }, (_, i) => 1000 - i)
    expect(summarize(values)).toEqual({
      count: 1000,
      min: 1,
      p10: 100,
      median: 500,
      p90: 900,
      p99: 990,
      p999: 999,
      max: 1000,
    })
    expect(summarize([5, 1]).median).toBe(1)
    expect(summarize([7])).toEqual({ count: 1, min: 7, p10: 7, median: 7, p90: 7, p99: 7, p999: 7, max: 7 })
  })

  it('leaves out missing values and does not change its argument', () => {
    const values = Float64Array.of(3, Number.NaN, 1, 2)
    expect(summarize(values)).toMatchObject({ count: 3, min: 1, median: 2, max: 3 })
    expect([...values]).toEqual([3, Number.NaN, 1, 2])
  })

  it('agrees with the definition: the smallest value that the share does not exceed', () => {
    const sample = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 300 })
    holds(
      fc.property(sample, (values) => {
        const sorted = values.toSorted((a, b) => a - b)
        const naive = (permille: number) =>
          sorted.find((value) => 1000 * values.filter((other) => other <= value).length >= permille * values.length)
        const summary = summarize(values)
        expect(summary.p10).toBe(naive(100))
        expect(summary.median).toBe(naive(500))
        expect(summary.p90).toBe(naive(900))
        expect(summary.p99).toBe(naive(990))
        expect(summary.p999).toBe(naive(999))
        expect([summary.min, summary.max]).toEqual([sorted[0], sorted.at(-1)])
        expect(percentile(sorted, 100)).toBe(sorted.at(-1))
        expect(medianOf(values)).toBe(summary.median)
      }),
    )
  })
})

describe('a rank', () => {
  it('is not rounded up by the way 99.9 is written in binary', () => {
    expect(rankOf(1000, 99.9)).toBe(999)
    expect(rankOf(100_000, 99.999)).toBe(99_999)
    expect(rankOf(10, 28)).toBe(3)
    expect([rankOf(0, 50), rankOf(1, 0), rankOf(7, 100)]).toEqual([1, 1, 7])
  })
})

describe('the median', () => {
  it('is a value that was measured: of two the lower one', () => {
    expect(medianOf([4, 2])).toBe(2)
    expect(medianOf([3, 1, 2])).toBe(2)
    expect(medianOf([])).toBeNaN()
  })

  it('sorts numbers, and leaves its argument as it is', () => {
    const values = [10, 9, 100]
    expect(medianOf(values)).toBe(10)
    expect(values).toEqual([10, 9, 100])
  })
})
