import { expect, it } from 'vitest'
import { histogramLimit } from '../../../src/tools/bench-latency/show.ts'

it.each([
  ['10 µs, as in the reports', 400, 900, 10_000],
  ['the p90, rounded up', 12_000, 34_000, 50_000],
  ['not so far that the median is lost', 400, 8_000_000, 10_000],
  ['not so far that the median is lost, at any scale', 30_000, 8_000_000, 1_000_000],
])('the picture at the terminal reaches to %s', (_, median, p90, limit) => {
  expect(histogramLimit({ median, p90 })).toBe(limit)
})
