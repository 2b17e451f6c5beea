import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { latencies, NSEC_PER_SEC } from '../../src/report/index.ts'
import { holds } from '../property.ts'

describe('latencies', () => {
  it('adds a second where tv_nsec has wrapped', () => {
    expect([...latencies([999_999_900, 5, 7], [100, 5, 9])]).toEqual([200, 0, 2])
  })

  it('knows those of a second and more, which count on', () => {
    expect([...latencies([5, 999_999_999], [1_200_000_005, 1_000_000_000])]).toEqual([1_200_000_000, 1])
  })

  it('skips messages with a missing timestamp', () => {
    expect([...latencies([1, Number.NaN, 3], [Number.NaN, 5, 8])]).toEqual([5])
  })

  it('finds every latency below a second again, wherever the second ends', () => {
    const nsec = fc.integer({ min: 0, max: NSEC_PER_SEC - 1 })
    holds(
      fc.property(nsec, nsec, (start, latency) => {
        expect([...latencies([start], [(start + latency) % NSEC_PER_SEC])]).toEqual([latency])
      }),
    )
  })
})
