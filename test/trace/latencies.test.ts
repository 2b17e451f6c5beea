import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Latencies } from '../../src/trace/index.ts'
import { holds } from '../property.ts'

it('percentiles are exact for few, and within one percent for many', () => {
  const times = fc.array(fc.oneof(fc.nat(200), fc.nat(1_000_000), fc.nat(2 ** 40)), { minLength: 1, maxLength: 3000 })
  holds(
    fc.property(times, fc.constantFrom(0, 50, 90, 99, 99.9, 100), (values, q) => {
      const latencies = new Latencies()
      for (const value of values) latencies.add(value)
      const sorted = values.toSorted((a, b) => a - b)
      const exact = sorted[Math.max(1, Math.ceil((q * 10 * values.length) / 1000)) - 1]!
      const found = latencies.percentile(q)!
      if (values.length <= 1024) expect(found).toBe(exact)
      else expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.01)
      expect(latencies.summary()).toMatchObject({ count: values.length, minNs: sorted[0], maxNs: sorted.at(-1) })
    }),
  )
  expect(new Latencies().summary()).toBeUndefined()
})

it('of a million take no more memory than of thousands', () => {
  const latencies = new Latencies()
  for (let i = 1; i <= 1_000_000; i++) latencies.add(i)
  for (const q of [50, 90, 99, 99.9]) expect(latencies.percentile(q)! / (q * 1e4)).toBeCloseTo(1, 2)
})
