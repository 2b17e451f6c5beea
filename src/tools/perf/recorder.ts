/**
 * Keeps latencies while they are measured. With a known and moderate number of iterations, every one is kept and the
 * percentiles are exact; otherwise they go into a histogram of bounded size. No sample is dropped either way.
 */
import { LogHistogram, percentile } from '../../stats/index.ts'
import type { LatencyStatistics } from './protocol.ts'

/** Number of samples that take 128 MiB. */
export const maxExact: number = 2 ** 24

export const percentileNames = ['p10', 'p25', 'p50', 'p75', 'p90', 'p95', 'p99', 'p99.9', 'p99.99', 'p99.999'] as const
export type PercentileName = (typeof percentileNames)[number]

export type Kept = Pick<LatencyStatistics, 'count' | 'min' | 'max' | 'mean' | 'stdev' | 'percentiles' | 'exact'>

export class Recorder {
  /** Samples in the order of arrival; null when a histogram keeps them. */
  readonly #samples: Float64Array | null
  readonly #histogram: LogHistogram | null
  count = 0

  /** `expected`: maximum number of samples; Infinity if it is unknown. */
  constructor(expected: number) {
    const exact = expected <= maxExact
    this.#samples = exact ? new Float64Array(expected) : null
    this.#histogram = exact ? null : new LogHistogram()
  }

  /** Adds a latency in nanoseconds. */
  add(value: number): void {
    if (this.#samples !== null) this.#samples[this.count] = value
    else this.#histogram!.add(value)
    this.count++
  }

  /** Returns every sample in nanoseconds, in the order of arrival; undefined when a histogram keeps them. */
  samples(scale: number): Float64Array | undefined {
    return this.#samples?.slice(0, this.count).map((value) => value * scale)
  }

  /** Returns the statistics. `scale`: 0.5 converts round trips to one way. */
  statistics(scale: number): Kept {
    return this.#samples !== null
      ? exactStatistics(this.#samples.subarray(0, this.count), scale)
      : histogramStatistics(this.#histogram!, scale)
  }
}

/** Returns the percentage of a name: "p99.9" is 99.9 per cent. */
function percentOf(name: PercentileName): number {
  return Number(name.slice(1))
}

function exactStatistics(samples: Float64Array, scale: number): Kept {
  const sorted = samples.slice().sort()
  const count = sorted.length
  let sum = 0
  for (const value of sorted) sum += value
  const mean = count > 0 ? sum / count : 0
  let squares = 0
  for (const value of sorted) squares += (value - mean) ** 2
  return {
    count,
    min: (sorted[0] ?? 0) * scale,
    max: (sorted[count - 1] ?? 0) * scale,
    mean: mean * scale,
    stdev: count > 1 ? Math.sqrt(squares / (count - 1)) * scale : 0,
    percentiles: Object.fromEntries(percentileNames.map((name) => [name, percentile(sorted, percentOf(name)) * scale])),
    exact: true,
  }
}

function histogramStatistics(histogram: LogHistogram, scale: number): Kept {
  const { count, mean, stdev, max } = histogram
  return {
    count,
    min: count > 0 ? histogram.min * scale : 0,
    max: max * scale,
    mean: mean * scale,
    stdev: stdev * scale,
    percentiles: Object.fromEntries(
      percentileNames.map((name) => [name, histogram.percentile(percentOf(name)) * scale]),
    ),
    exact: false,
  }
}
