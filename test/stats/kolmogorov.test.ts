import { describe, expect, it } from 'vitest'
import { ksLimit, ksOfSample, ksOfSamples } from '../../src/stats/index.ts'

describe('the distance of two samples', () => {
  it.each([
    [[1, 2, 3], [3, 2, 1], 0],
    [[1, 2, 3], [4, 5], 1],
    [[1, 2, 3, 4], [3, 4, 5, 6], 0.5],
    [[1, 1, 1, 2], [1, 2, 2, 2], 0.5],
  ])('%j and %j: %d', (a, b, distance) => expect(ksOfSamples(a, b)).toBeCloseTo(distance, 12))

  it('is not a number without values', () => expect(ksOfSamples([], [1])).toBeNaN())
})

it('the distance of a sample and a distribution', () => {
  expect(ksOfSample([0.25, 0.75], (x) => x)).toBeCloseTo(0.25, 12)
  // All mass in one value, as a fixed size has it.
  const fixed = [7, 7, 7]
  expect(
    ksOfSample(
      fixed,
      (x) => (x >= 7 ? 1 : 0),
      (x) => (x > 7 ? 1 : 0),
    ),
  ).toBe(0)
  expect(ksLimit(100)).toBeCloseTo(0.136, 12)
})
