/**
 * Collects times and computes percentiles of them. A small number of them is kept exactly; a larger one goes into a histogram whose buckets
 * are less than half a per cent wide, so that memory does not grow with the capture.
 */
import { LogHistogram, percentile } from '../stats/index.ts'

const exactLimit = 1024
/** Resolution of the histogram: a capture may span days. */
const buckets = { precision: 8, bits: 53 }

/** Latencies in nanoseconds. */
export interface LatencySummary {
  count: number
  minNs: number
  p50Ns: number
  p90Ns: number
  p99Ns: number
  p999Ns: number
  maxNs: number
  meanNs: number
}

/** Store of latencies of flows. */
export interface LatencyStore {
  readonly count: number
  /** Number of invalid latencies: of responses whose time stamp is before that of the request. */
  readonly unmeasured: number
  /** Adds a latency; one below 0 is only counted. */
  add(ns: number): void
  /** Returns a summary; undefined without latencies. */
  summary(): LatencySummary | undefined
}

export class Latencies implements LatencyStore {
  count = 0
  unmeasured = 0
  min: number = Number.POSITIVE_INFINITY
  max = 0
  #sum = 0
  #exact: number[] | undefined = []
  #histogram: LogHistogram | undefined

  add(ns: number): void {
    if (ns < 0) {
      this.unmeasured++
      return
    }
    this.count++
    this.#sum += ns
    if (ns < this.min) this.min = ns
    if (ns > this.max) this.max = ns
    if (this.#exact !== undefined) {
      this.#exact.push(ns)
      if (this.#exact.length > exactLimit) this.#spread()
    } else this.#histogram!.add(ns)
  }

  /** Returns a percentile by nearest rank (see stats/quantiles.ts); undefined without latencies. */
  percentile(percent: number): number | undefined {
    if (this.count === 0) return undefined
    if (this.#exact !== undefined) return percentile(Float64Array.from(this.#exact).sort(), percent)
    return this.#histogram!.percentile(percent)
  }

  summary(): LatencySummary | undefined {
    if (this.count === 0) return undefined
    const [p50Ns, p90Ns, p99Ns, p999Ns] = [50, 90, 99, 99.9].map((percent) => Math.round(this.percentile(percent)!))
    return {
      count: this.count,
      minNs: Math.round(this.min),
      p50Ns: p50Ns!,
      p90Ns: p90Ns!,
      p99Ns: p99Ns!,
      p999Ns: p999Ns!,
      maxNs: Math.round(this.max),
      meanNs: Math.round(this.#sum / this.count),
    }
  }

  #spread(): void {
    this.#histogram = new LogHistogram(buckets)
    for (const ns of this.#exact!) this.#histogram.add(ns)
    this.#exact = undefined
  }
}
