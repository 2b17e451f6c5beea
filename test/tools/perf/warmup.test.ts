import { expect, it } from 'vitest'
import { allSizes, type PerfSettings, warmupOf } from '../../../src/tools/perf/settings.ts'

const settings = (given: Partial<PerfSettings>): PerfSettings =>
  ({ test: 'write_bw', sizes: allSizes, warmup: -1, qps: 1, rate: 0, ...given }) as PerfSettings

it('compiles what runs before the first size of a bandwidth test, unless that is held back', () => {
  const of = (given: Partial<PerfSettings>, ...sizes: number[]): number[] =>
    sizes.map((size) => warmupOf(settings(given), size))
  expect(of({}, 2, 4, 65_536, 2 ** 23)).toEqual([50_000, 5000, 1024, 10])
  expect(of({ qps: 4 }, 2, 4)).toEqual([12_500, 5000])
  expect(of({ qps: 64 }, 2, 4)).toEqual([5000, 5000])
  // A first size that is large, a rate that would take minutes, and what the user says.
  expect(of({ sizes: [65_536] }, 65_536)).toEqual([1024])
  expect(of({ rate: 1000 }, 2, 4)).toEqual([5000, 5000])
  expect(of({ warmup: 7 }, 2, 4)).toEqual([7, 7])
  expect(of({ test: 'write_lat' }, 2, 4)).toEqual([10_000, 10_000])
})
