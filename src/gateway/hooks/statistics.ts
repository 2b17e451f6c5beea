/**
 * Statistics of a node or path: for each metric the moments that VILLASnode has, its histogram (equal buckets over three standard
 * deviations around the mean of the first values), and percentiles, which it has not: at most 0.4 % too high, in bounded memory.
 */
import { LogHistogram, rankOf } from '../../stats/index.ts'
import { type StatsMetric, type StatsType, statsMetrics } from '../config/mapping.ts'

export interface StatisticsOptions {
  /** Buckets of the histogram; 0: none. */
  buckets: number
  /** Values that its limits are estimated from. */
  warmup: number
}

/** Summary of a metric. Values are in its unit. Without values all figures are null. */
export interface MetricSummary {
  total: number
  last: number | null
  lowest: number | null
  highest: number | null
  mean: number | null
  variance: number | null
  stddev: number | null
  percentiles: Record<string, number | null>
  /** Limits of the histogram, how many values lie below and above, and in each bucket; null during the warm-up. */
  histogram: { low: number; high: number; lower: number; higher: number; buckets: number[] } | null
}

const percents = [1, 10, 50, 90, 99, 99.9]
const precision = 8

class Metric {
  total = 0
  last = Number.NaN
  lowest: number = Number.POSITIVE_INFINITY
  highest: number = Number.NEGATIVE_INFINITY
  readonly #scale: number
  readonly #options: StatisticsOptions
  readonly #buckets: Float64Array
  #mean = 0
  #squares = 0
  #low = 0
  #high = 0
  #lower = 0
  #higher = 0
  #above = new LogHistogram({ precision, bits: 53 })
  /** Histogram of the magnitudes of negative values. */
  #below: LogHistogram | undefined

  /** Makes a metric. `scale`: factor of a value by which its whole part becomes fine enough to distinguish values. */
  constructor(scale: number, options: StatisticsOptions) {
    this.#scale = scale
    this.#options = options
    this.#buckets = new Float64Array(options.buckets)
  }

  add(value: number): void {
    if (!Number.isFinite(value)) return
    this.#count(value)
    this.last = value
    if (value < this.lowest) this.lowest = value
    if (value > this.highest) this.highest = value
    const distance = value - this.#mean
    this.total++
    this.#mean += distance / this.total
    this.#squares += distance * (value - this.#mean)
    if (value >= 0) this.#above.add(value * this.#scale)
    else {
      this.#below ??= new LogHistogram({ precision, bits: 53 })
      this.#below.add(-value * this.#scale)
    }
  }

  get(type: StatsType): number {
    if (type === 'total') return this.total
    if (this.total === 0) return Number.NaN
    if (type === 'mean') return this.#mean
    if (type === 'var') return this.#variance
    if (type === 'stddev') return Math.sqrt(this.#variance)
    return this[type]
  }

  /** Returns a percentile by nearest rank; NaN without values. */
  percentile(percent: number): number {
    if (this.total === 0) return Number.NaN
    const rank = rankOf(this.total, percent)
    const negative = this.#below?.count ?? 0
    const value = rank > negative ? this.#above.atRank(rank - negative) : -this.#below!.atRank(negative - rank + 1)
    return Math.min(Math.max(value / this.#scale, this.lowest), this.highest)
  }

  summary(): MetricSummary {
    const known = (value: number): number | null => (Number.isFinite(value) ? value : null)
    const histogram = {
      low: this.#low,
      high: this.#high,
      lower: this.#lower,
      higher: this.#higher,
      buckets: [...this.#buckets],
    }
    return {
      total: this.total,
      last: known(this.get('last')),
      lowest: known(this.get('lowest')),
      highest: known(this.get('highest')),
      mean: known(this.get('mean')),
      variance: known(this.get('var')),
      stddev: known(this.get('stddev')),
      percentiles: Object.fromEntries(percents.map((percent) => [String(percent), known(this.percentile(percent))])),
      histogram: this.#buckets.length > 0 && this.total > this.#options.warmup ? histogram : null,
    }
  }

  reset(): void {
    this.total = 0
    this.last = Number.NaN
    this.lowest = Number.POSITIVE_INFINITY
    this.highest = Number.NEGATIVE_INFINITY
    this.#mean = this.#squares = 0
    this.#low = this.#high = this.#lower = this.#higher = 0
    this.#buckets.fill(0)
    this.#above = new LogHistogram({ precision, bits: 53 })
    this.#below = undefined
  }

  get #variance(): number {
    return this.total > 1 ? this.#squares / (this.total - 1) : Number.NaN
  }

  /** Counts a value in the histogram, as VILLASnode's `Hist::put` does. */
  #count(value: number): void {
    const buckets = this.#buckets
    const { warmup } = this.#options
    if (this.total < warmup || buckets.length === 0) return
    if (this.total === warmup) {
      const spread = warmup === 0 ? 10 : 3 * Math.sqrt(this.#variance)
      const middle = warmup === 0 ? 0 : this.#mean
      this.#low = middle - spread
      this.#high = middle + spread
      return
    }
    const index = Math.round((value - this.#low) / ((this.#high - this.#low) / buckets.length))
    if (index >= buckets.length) this.#higher++
    else if (index < 0) this.#lower++
    // All values of the warm-up were the same, and this one is, too.
    else if (Number.isNaN(index)) buckets[0]!++
    else buckets[index]!++
  }
}

/** Returns the factor of a unit: nanoseconds for values in seconds. */
function scaleOf(unit: string): number {
  return unit === 'seconds' ? 1e9 : 1
}

export class Statistics {
  readonly #metrics: Readonly<Record<StatsMetric, Metric>>

  constructor(options: StatisticsOptions) {
    const entries = Object.entries(statsMetrics).map(([name, unit]) => [name, new Metric(scaleOf(unit), options)])
    this.#metrics = Object.fromEntries(entries) as Record<StatsMetric, Metric>
  }

  update(metric: StatsMetric, value: number): void {
    this.#metrics[metric].add(value)
  }

  /** Returns a figure of a metric; NaN without values. */
  get(metric: StatsMetric, type: StatsType): number {
    return this.#metrics[metric].get(type)
  }

  /** Returns a percentile by nearest rank; NaN without values. */
  percentile(metric: StatsMetric, percent: number): number {
    return this.#metrics[metric].percentile(percent)
  }

  /** Returns the summaries of all metrics; plain data. */
  summary(): Record<StatsMetric, MetricSummary> {
    const entries = Object.entries(this.#metrics).map(([name, metric]) => [name, metric.summary()])
    return Object.fromEntries(entries) as Record<StatsMetric, MetricSummary>
  }

  reset(): void {
    for (const metric of Object.values(this.#metrics)) metric.reset()
  }
}
