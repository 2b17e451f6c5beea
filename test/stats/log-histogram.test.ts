import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LogHistogram } from '../../src/stats/index.ts'
import { holds } from '../property.ts'

const values = fc.array(fc.integer({ min: 0, max: 0xffffffff }), { minLength: 1, maxLength: 300 })

function filled(of: readonly number[]): LogHistogram {
  const histogram = new LogHistogram()
  for (const value of of) histogram.add(value)
  return histogram
}

describe('a histogram of bounded size', () => {
  it('is at most 1/1024 above the value of a rank, and never below', () => {
    holds(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (sample, share) => {
        const rank = Math.max(1, Math.ceil(share * sample.length))
        const exact = [...sample].sort((a, b) => a - b)[rank - 1]!
        const shown = filled(sample).atRank(rank)
        expect(shown).toBeGreaterThanOrEqual(exact)
        expect(shown).toBeLessThanOrEqual(exact * (1 + 1 / 1024))
      }),
    )
  })

  it('keeps count, minimum, maximum, mean and standard deviation exactly', () => {
    holds(
      fc.property(values, (sample) => {
        const histogram = filled(sample)
        const mean = sample.reduce((sum, value) => sum + value, 0) / sample.length
        const squares = sample.reduce((sum, value) => sum + (value - mean) ** 2, 0)
        expect(histogram.count).toBe(sample.length)
        expect(histogram.min).toBe(Math.min(...sample))
        expect(histogram.max).toBe(Math.max(...sample))
        expect(histogram.atRank(sample.length)).toBe(Math.max(...sample))
        expect(histogram.mean / Math.max(1, mean)).toBeCloseTo(mean > 0 ? mean / Math.max(1, mean) : 0, 9)
        const stdev = sample.length > 1 ? Math.sqrt(squares / (sample.length - 1)) : 0
        expect(histogram.stdev).toBeGreaterThanOrEqual(stdev * (1 - 1e-9))
        expect(histogram.stdev).toBeLessThanOrEqual(stdev * (1 + 1e-9) + 1e-6)
      }),
    )
  })

  it('keeps a maximum that is larger than its buckets', () => {
    const histogram = filled([1, 2, 3, 1e13])
    expect(histogram.max).toBe(1e13)
    expect(histogram.atRank(3)).toBe(3)
  })

  it('takes the range and the precision that it is given', () => {
    const wide = fc.array(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), { minLength: 1, maxLength: 100 })
    holds(
      fc.property(wide, fc.integer({ min: 1, max: 12 }), (sample, precision) => {
        const histogram = new LogHistogram({ precision, bits: 53 })
        for (const value of sample) histogram.add(value)
        const sorted = sample.toSorted((a, b) => a - b)
        for (const [index, exact] of sorted.entries()) {
          const shown = histogram.atRank(index + 1)
          expect(shown).toBeGreaterThanOrEqual(exact)
          expect(shown).toBeLessThanOrEqual(exact * (1 + 1 / 2 ** precision))
        }
      }),
    )
  })

  it('of nothing is nothing', () => {
    expect(new LogHistogram().percentile(50)).toBe(0)
  })

  it('is the same from plain data, also as JSON', () => {
    holds(
      fc.property(values, values, (some, others) => {
        const plain = JSON.parse(JSON.stringify(filled(some).toPlain()))
        const again = LogHistogram.fromPlain(plain)
        expect(again.toPlain()).toEqual(plain)
        expect([...again.filled()]).toEqual([...filled(some).filled()])
        again.merge(filled(others))
        const both = filled([...some, ...others])
        expect([...again.filled()]).toEqual([...both.filled()])
        expect([again.count, again.min, again.max]).toEqual([both.count, both.min, both.max])
      }),
    )
    expect(LogHistogram.fromPlain(new LogHistogram().toPlain()).min).toBe(Number.POSITIVE_INFINITY)
  })

  it('adds a value several times as it adds it once and again', () => {
    const one = filled([5, 700, 700, 700, 3])
    const other = new LogHistogram()
    other.add(5)
    other.addTimes(700, 3)
    other.add(3)
    expect(other.toPlain()).toEqual({ ...one.toPlain(), mean: expect.closeTo(one.mean, 9), squares: expect.anything() })
    expect(other.stdev).toBeCloseTo(one.stdev, 6)
  })

  it.each([
    ['a bucket that is not there', [1e9, 1], /bucket 0 /],
    ['a count of nothing', [3, 0], /bucket 0 /],
    ['a bucket that comes again', [3, 1, 0, 1], /bucket 1 /],
    ['half a bucket', [3, 1, 2], /bucket 1 /],
    ['other counts', [3, 1], /hold 1 values, not 2/],
  ])('refuses plain data with %s', (_, buckets, message) => {
    const plain = { ...filled([3, 4]).toPlain(), buckets }
    expect(() => LogHistogram.fromPlain(plain)).toThrow(message)
  })
})
