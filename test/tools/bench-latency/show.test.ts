import { expect, it } from 'vitest'
import { fittingTable, histogramLimit } from '../../../src/tools/bench-latency/show.ts'

it.each([
  ['the p99.9, rounded up', 400, 1100, 1500],
  ['the p99.9, rounded up, at any scale', 12_000, 34_000, 40_000],
  ['not so far that the median is lost', 400, 8_000_000, 3000],
  ['not so far that the median is lost, at any scale', 30_000, 8_000_000, 200_000],
])('the picture at the terminal reaches to %s', (_, median, p999, limit) => {
  expect(histogramLimit({ median, p999 })).toBe(limit)
})

it('the table leaves out the less telling columns where the terminal is narrow', () => {
  const tableOf = (names: readonly string[]): string => ['size', ...names].join('  ')
  const all = 'size  n  min  p10  median  p90  p99  p99.9  max  lost  t_comp'
  expect(fittingTable(tableOf, Number.POSITIVE_INFINITY)).toBe(all)
  expect(fittingTable(tableOf, all.length)).toBe(all)
  expect(fittingTable(tableOf, all.length - 1)).toBe('size  n  min  median  p90  p99  p99.9  max  lost  t_comp')
  expect(fittingTable(tableOf, 34)).toBe('size  median  p90  p99  p99.9')
  // What a reader looks for is there in any case.
  expect(fittingTable(tableOf, 5)).toBe('size  median  p99')
})
