import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { binned, Cumulative, distributionOf, histogram } from '../../src/stats/index.ts'
import { holds } from '../property.ts'

const times = fc.array(fc.oneof(fc.nat(3000), fc.nat(50_000), fc.nat(1e9)), { minLength: 1, maxLength: 600 })

describe('a distribution', () => {
  it('counts as the values do where no bucket is cut, and is off by what is in one bucket elsewhere', () => {
    holds(
      fc.property(times, fc.nat(60_000), (values, limit) => {
        const distribution = distributionOf(values)
        const { total, min, max, precision } = distribution
        expect([total, min, max]).toEqual([values.length, Math.min(...values), Math.max(...values)])
        const below = new Cumulative(distribution).below(limit)
        const slack = limit / 2 ** precision
        expect(below).toBeGreaterThanOrEqual(values.filter((value) => value < limit - slack - 1).length - 1e-9)
        expect(below).toBeLessThanOrEqual(values.filter((value) => value < limit + slack + 1).length + 1e-9)
      }),
    )
  })

  it('is as fine as the number of buckets allows', () => {
    const values = Array.from({ length: 5000 }, (_, i) => i * 7)
    for (const most of [50, 400, 100_000])
      expect(distributionOf(values, most).buckets.length / 2).toBeLessThanOrEqual(Math.max(most, 400))
    expect(distributionOf(values, 100_000).precision).toBe(12)
    expect(distributionOf(values, 400).precision).toBeLessThan(8)
    expect(distributionOf([], 10)).toEqual({ total: 0, min: 0, max: 0, precision: 12, buckets: [] })
  })

  it('gives the histogram of the values again', () => {
    const values = Array.from({ length: 3000 }, (_, i) => (i * 7919) % 4000)
    const edges = Array.from({ length: 31 }, (_, i) => i * 100)
    const exact = histogram(values, [0, 3000], 30)
    const again = binned(distributionOf(values, 4000), edges)
    expect([...again.counts].map(Math.round)).toEqual(
      [...exact.counts].map((count, i) => (i === 29 ? count - 1 : count)),
    )
    expect(again.total).toBe(exact.total)
    expect(again.above + again.counts.reduce((a, b) => a + b, again.below)).toBeCloseTo(3000, 6)
  })
})
