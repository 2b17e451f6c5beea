import { expect, it } from 'vitest'
import { histogramLimit } from '../../../src/tools/bench-latency/show.ts'

it.each([
  ['the p99.9, rounded up', 400, 1100, 1500],
  ['the p99.9, rounded up, at any scale', 12_000, 34_000, 40_000],
  ['not so far that the median is lost', 400, 8_000_000, 3000],
  ['not so far that the median is lost, at any scale', 30_000, 8_000_000, 200_000],
])('the picture at the terminal reaches to %s', (_, median, p999, limit) => {
  expect(histogramLimit({ median, p999 })).toBe(limit)
})
