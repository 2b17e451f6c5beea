import { expect, it } from 'vitest'
import { allSizes, type PerfSettings, primingOf } from '../../../src/tools/perf/settings.ts'

const settings = (given: Partial<PerfSettings>): PerfSettings =>
  ({
    ...{ test: 'write_bw', sizes: allSizes, iters: 300, warmup: -1, qps: 1, rate: 0, duration: 0, txDepth: 128 },
    ...given,
  }) as PerfSettings

it('compiles what runs before the first size of a bandwidth test, unless that is held back', () => {
  const of = (given: Partial<PerfSettings>): (readonly [sizes: number[], iters: number, warmup: number])[] =>
    primingOf(settings(given)).map(({ sizes, iters, warmup }) => [sizes, iters, warmup])
  expect(of({})).toEqual(Array(4).fill([[2], 20_000, 0]))
  expect(of({ sizes: [65_536], qps: 4 })[0]).toEqual([[8], 5000, 0])
  expect(of({ txDepth: 1 })[0]).toEqual([[2], 200, 0])
  // What would take long, what is measured after a margin, and what the user says.
  for (const given of [{ rate: 1000 }, { duration: 2 }, { warmup: 0 }, { test: 'write_lat' as const }])
    expect(of(given)).toEqual([])
})
