import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { histogram } from '../../src/stats/index.ts'
import { holds } from '../property.ts'

describe('histogram', () => {
  it('puts both limits inside and counts what lies beyond', () => {
    const counted = histogram([0, 9, 10, 99.9, 100, 101, -1, Number.NaN], [0, 100], 10)
    expect([...counted.counts]).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 2])
    expect(counted).toMatchObject({ above: 1, below: 1, total: 7, max: 101 })
  })

  it('loses no value', () => {
    const sample = fc.array(fc.integer({ min: 0, max: 20_000 }))
    holds(
      fc.property(sample, fc.integer({ min: 1, max: 300 }), (values, bins) => {
        const { counts, above, below, total } = histogram(values, [100, 10_000], bins)
        expect(counts.reduce((sum, count) => sum + count, above + below)).toBe(values.length)
        expect(total).toBe(values.length)
      }),
    )
  })
})
