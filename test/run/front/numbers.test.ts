/** Under which numbers programs get descriptors. */
import { describe, expect, it } from 'vitest'
import { numberRanges, preferredRanges } from '../../../src/run/front/numbers.ts'

describe('ranges of numbers', () => {
  it.each([
    [256, 256],
    [1024, 1024],
    [1024, 1_048_576],
    [1_048_576, 1_048_576],
    [20_000, 20_000],
    [500, 500],
    [64, 64],
    [300, 300],
  ])('with limits %i and %i they are apart, ascending, and one is below both', (soft, hard) => {
    const ranges = numberRanges(soft, hard)
    expect(ranges.some(({ to }) => to <= soft)).toBe(true)
    for (const [i, { from, queues, to }] of ranges.entries()) {
      expect(from).toBeGreaterThan(2)
      expect(queues).toBeGreaterThan(from)
      expect(to).toBeGreaterThan(queues)
      expect(to).toBeLessThanOrEqual(hard)
      if (i > 0) expect(from).toBeGreaterThanOrEqual(ranges[i - 1]!.to)
    }
  })

  it('are tried downwards from the highest whose table is short', () => {
    const tops = preferredRanges(numberRanges(1024, 1_048_576)).map(({ to }) => to)
    expect(tops).toEqual([4096, 1024, 256, 65_536])
  })
})
