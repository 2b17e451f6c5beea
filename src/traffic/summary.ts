/** Figures of a record: configured and achieved rates, and flow completion times and slowdown by size, verb, type and server. */
import { type Distribution, distributionIn, ksLimit, LogHistogram, type PlainHistogram } from '../stats/index.ts'
import { type CurvePoint, type Drawn, distanceOf, mixtureOf } from './curve.ts'
import type { RecordedCell, RecordedSeries, RecordedValues, TrafficRecord } from './record.ts'
import { sizeClasses } from './size-classes.ts'

export interface Times {
  mean: number
  min: number
  p50: number
  p90: number
  p99: number
  p999: number
  max: number
}

export interface Figures {
  done: number
  bytes: number
  lost: number
  failed: number
  /** Flow completion times in nanoseconds; null if no flow is complete. */
  fct: Times | null
  /** Slowdown: 1 is as fast as the size allows; null likewise. */
  slowdown: Times | null
}

/** Configured distribution, and the generated values. */
export interface Generated {
  /** Points of the distribution; null if none was configured. */
  asked: CurvePoint[] | null
  /** Generated values of a configured distribution; all values, if there is none. */
  generated: Distribution
  /** Kolmogorov–Smirnov distance, and the one that draws of the distribution exceed with a probability of 5 %; null without `asked`. */
  ks: number | null
  limit: number | null
}

export interface TrafficSummary {
  /** Numbers of these clients. */
  clients: number[]
  /** Time from the start to the last request that was complete. */
  seconds: number
  asked: { requests: number; bytes: number; perSecond: number; bitsPerSecond: number }
  reached: { perSecond: number; bitsPerSecond: number }
  /** Maximum time that a request waited before it was sent, nanoseconds. */
  latestNs: number
  all: Figures
  sizes: Record<string, Figures>
  verbs: Record<string, Figures>
  types: Record<string, Figures>
  servers: Record<string, Figures>
  /** Flow completion times by size class, nanoseconds. */
  fct: Record<string, Distribution>
  /** Sizes of flows, bytes, and gaps between requests, nanoseconds; null if there were none. */
  generated: { sizes: Generated | null; gaps: Generated | null }
  series: RecordedSeries
  /** Reasons why a server was lost, and why one could not be used from the start, by its address. */
  failures: Record<string, string>
  unreachable: Record<string, string>
}

/** Maximum number of buckets of a distribution in a summary. */
const mostBuckets = 200

export function summaryOf(record: TrafficRecord): TrafficSummary {
  const { cells, requests, bytes } = record
  const seconds = record.doneNs / 1e9
  const askedSeconds = record.askedNs / 1e9
  const rate = (amount: number, over: number): number => (over > 0 ? amount / over : 0)
  const by = (keyOf: (cell: RecordedCell) => string): Record<string, Figures> =>
    Object.fromEntries([...grouped(cells, keyOf)].map(([key, some]) => [key, figuresOf(some)]))
  const all = figuresOf(cells)
  const classes = cells.toSorted((a, b) => sizeClasses.indexOf(a.sizeClass) - sizeClasses.indexOf(b.sizeClass))
  const bySize = [...grouped(classes, ({ sizeClass }) => sizeClass)]
  return {
    clients: record.clients,
    seconds,
    asked: {
      ...{ requests, bytes },
      ...{ perSecond: rate(requests, askedSeconds), bitsPerSecond: rate(8 * bytes, askedSeconds) },
    },
    reached: { perSecond: rate(all.done, seconds), bitsPerSecond: rate(8 * all.bytes, seconds) },
    latestNs: record.latestNs,
    all,
    sizes: Object.fromEntries(bySize.map(([key, some]) => [key, figuresOf(some)])),
    verbs: by(({ verb }) => verb),
    types: by(({ type }) => type),
    servers: by(({ server }) => server),
    fct: Object.fromEntries(
      bySize
        .map(([key, some]) => [key, sumOf(some.map(({ fct }) => fct))] as const)
        .filter(([, histogram]) => histogram.count > 0)
        .map(([key, histogram]) => [key, distributionIn(histogram, mostBuckets)]),
    ),
    generated: { sizes: generatedOf(record.sizes), gaps: generatedOf(record.gaps) },
    series: record.series,
    failures: record.failures,
    unreachable: record.unreachable,
  }
}

function figuresOf(cells: readonly RecordedCell[]): Figures {
  const sum = (key: 'done' | 'bytes' | 'lost' | 'failed'): number => cells.reduce((all, cell) => all + cell[key], 0)
  return {
    ...{ done: sum('done'), bytes: sum('bytes'), lost: sum('lost'), failed: sum('failed') },
    fct: timesOf(sumOf(cells.map(({ fct }) => fct)), 1),
    slowdown: timesOf(sumOf(cells.map(({ slowdown }) => slowdown)), 1000),
  }
}

function timesOf(histogram: LogHistogram, unit: number): Times | null {
  if (histogram.count === 0) return null
  const at = (percent: number): number => histogram.percentile(percent) / unit
  return {
    ...{ mean: histogram.mean / unit, min: histogram.min / unit },
    ...{ p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: histogram.max / unit },
  }
}

function generatedOf(values: readonly RecordedValues[]): Generated | null {
  const drawn = values.filter(({ generated }) => generated.count > 0)
  const asked = drawn.filter(({ asked }) => asked !== null)
  const shown = asked.length > 0 ? asked : drawn
  if (shown.length === 0) return null
  const generated = distributionIn(sumOf(shown.map((one) => one.generated)), mostBuckets)
  if (asked.length === 0) return { asked: null, generated, ks: null, limit: null }
  const parts = asked.map((one): Drawn => ({ asked: one.asked!, generated: LogHistogram.fromPlain(one.generated) }))
  const slack = Math.max(...asked.map((one) => one.slack))
  const draws = asked.reduce((sum, one) => sum + one.draws, 0)
  return { asked: mixtureOf(parts), generated, ks: distanceOf(parts, slack), limit: ksLimit(draws) }
}

function sumOf(histograms: readonly PlainHistogram[]): LogHistogram {
  const [first, ...others] = histograms
  if (first === undefined) return new LogHistogram()
  const sum = LogHistogram.fromPlain(first)
  for (const other of others) sum.merge(LogHistogram.fromPlain(other))
  return sum
}

/** Returns groups in the order of their first items. */
function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}
