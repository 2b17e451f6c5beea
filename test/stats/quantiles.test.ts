import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { histogram, latencies, NSEC_PER_SEC, nearestRank, summarize } from '../../src/report/index.ts'

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
    fc.assert(
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
        expect(nearestRank(sorted, 1000)).toBe(sorted.at(-1))
      }),
    )
  })
})

describe('latencies', () => {
  it('adds a second where tv_nsec has wrapped', () => {
    expect([...latencies([999_999_900, 5, 7], [100, 5, 9])]).toEqual([200, 0, 2])
  })

  it('skips messages with a missing timestamp', () => {
    expect([...latencies([1, Number.NaN, 3], [Number.NaN, 5, 8])]).toEqual([5])
  })

  it('finds every latency below a second again, wherever the second ends', () => {
    const nsec = fc.integer({ min: 0, max: NSEC_PER_SEC - 1 })
    fc.assert(
      fc.property(nsec, nsec, (start, latency) => {
        expect([...latencies([start], [(start + latency) % NSEC_PER_SEC])]).toEqual([latency])
      }),
    )
  })
})

describe('histogram', () => {
  it('puts both limits inside and counts what lies beyond', () => {
    const counted = histogram([0, 9, 10, 99.9, 100, 101, -1, Number.NaN], [0, 100], 10)
    expect([...counted.counts]).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 2])
    expect(counted).toMatchObject({ above: 1, below: 1, total: 7, max: 101 })
  })

  it('loses no value', () => {
    const sample = fc.array(fc.integer({ min: 0, max: 20_000 }))
    fc.assert(
      fc.property(sample, fc.integer({ min: 1, max: 300 }), (values, bins) => {
        const { counts, above, below, total } = histogram(values, [100, 10_000], bins)
        expect(counts.reduce((sum, count) => sum + count, above + below)).toBe(values.length)
        expect(total).toBe(values.length)
      }),
    )
  })
})
