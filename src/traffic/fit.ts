/**
 * Configuration of the generator from messages that were seen: senders and receivers, verbs, types, sizes, and arrival times; with the
 * quality of the fit, as the Kolmogorov–Smirnov distance.
 */
import { ksLimit, ksOfSample } from '../stats/index.ts'
import { Cdf, type CdfPoint } from './cdf.ts'
import { isAtomic, type TrafficQpType, type Verb } from './config.ts'
import { type ArrivalFit, fitArrivals } from './fit-arrivals.ts'

export interface SeenMessage {
  /** Nanoseconds. */
  timeNs: number
  source: string
  destination: string
  bytes: number
  verb: Verb
  type: TrafficQpType
}

/** Fitted sizes: one size, sizes by frequency, or points of a cumulative distribution that is linear between them. */
export type SizeFit = { ks: number; limit: number; count: number; mean: number } & (
  | { kind: 'fixed'; bytes: number }
  | { kind: 'weights'; weights: Record<string, number> }
  | { kind: 'points'; points: CdfPoint[] }
)

export interface Share<T> {
  value: T
  count: number
}

export interface TrafficFit {
  /** Host whose requests these are; all other hosts are servers. */
  client: string
  count: number
  spanNs: number
  requestsPerSecond: number
  servers: Share<string>[]
  verbs: (Share<Verb> & { size: SizeFit | null })[]
  types: Share<TrafficQpType>[]
  /** Sizes of all verbs but atomics; null if there are only these. */
  size: SizeFit | null
  arrival: ArrivalFit
  /** Messages that were seen between all hosts. */
  matrix: { source: string; destination: string; messages: number; bytes: number }[]
}

/** Maximum number of sizes that have a weight each; more sizes become points of a distribution. */
const mostWeights = 32
/** Number of points of a distribution. */
const knots = 200

/** Fits the requests of `client`; if none is named, of the host that sends the largest number of messages. Undefined if it sends none. */
export function fitTraffic(messages: readonly SeenMessage[], client?: string): TrafficFit | undefined {
  const chosen = client ?? byCount(messages.map(({ source }) => source))[0]?.value
  const own = messages.filter(({ source }) => source === chosen)
  return chosen === undefined || own.length === 0 ? undefined : fitOf(chosen, own, matrixOf(messages))
}

/** Fits the requests of each host, in the order of the numbers of their messages, the largest first. */
export function fitAllTraffic(messages: readonly SeenMessage[]): TrafficFit[] {
  const matrix = matrixOf(messages)
  const byHost = new Map<string, SeenMessage[]>()
  for (const message of messages) {
    const own = byHost.get(message.source)
    if (own === undefined) byHost.set(message.source, [message])
    else own.push(message)
  }
  const hosts = [...byHost].sort(([, a], [, b]) => b.length - a.length)
  return hosts.map(([host, own]) => fitOf(host, own, matrix))
}

function fitOf(client: string, messages: readonly SeenMessage[], matrix: TrafficFit['matrix']): TrafficFit {
  const own = messages.toSorted((a, b) => a.timeNs - b.timeNs)
  const spanNs = own.at(-1)!.timeNs - own[0]!.timeNs
  const gaps = own.slice(1).map(({ timeNs }, i) => timeNs - own[i]!.timeNs)
  const sized = own.filter(({ verb }) => !isAtomic(verb))
  const size = sized.length === 0 ? null : fitSizes(sized.map(({ bytes }) => bytes))
  const verbs = byCount(own.map(({ verb }) => verb)).map(({ value, count }) => {
    const sizes = own.filter(({ verb }) => verb === value).map(({ bytes }) => bytes)
    return { value, count, size: isAtomic(value) ? null : fitSizes(sizes) }
  })
  return {
    client,
    count: own.length,
    spanNs,
    requestsPerSecond: spanNs > 0 ? (gaps.length * 1e9) / spanNs : 0,
    servers: byCount(own.map(({ destination }) => destination)),
    verbs,
    types: byCount(own.map(({ type }) => type)),
    size,
    arrival: fitArrivals(gaps),
    matrix,
  }
}

function fitSizes(sizes: readonly number[]): SizeFit {
  const count = sizes.length
  const mean = sizes.reduce((sum, bytes) => sum + bytes, 0) / count
  const exact = { ks: 0, limit: ksLimit(count), count, mean }
  const distinct = byCount(sizes).toSorted((a, b) => a.value - b.value)
  if (distinct.length === 1) return { ...exact, kind: 'fixed', bytes: distinct[0]!.value }
  if (distinct.length <= mostWeights) {
    const weights = Object.fromEntries(distinct.map(({ value, count: n }) => [String(value), n]))
    return { ...exact, kind: 'weights', weights }
  }
  const points = pointsOf(Float64Array.from(sizes).sort())
  const cdf = new Cdf('fit', points)
  // Generated sizes are whole bytes: a request of at most x is one that was drawn below x + 1/2.
  return {
    ...exact,
    ks: ksOfSample(
      sizes,
      (x) => cdf.below(x + 0.5),
      (x) => cdf.below(x - 0.5),
    ),
    kind: 'points',
    points,
  }
}

/** Returns quantiles of sorted values; a value with many of them is a jump. */
function pointsOf(sorted: Float64Array): CdfPoint[] {
  const n = sorted.length
  const points: CdfPoint[] = [[Math.max(0, sorted[0]! - 0.5), 0]]
  const step = Math.max(1, n / knots)
  let next = step
  for (let i = 0; i < n; ) {
    const value = sorted[i]!
    const from = i
    while (i < n && sorted[i] === value) i++
    if (i < next && i < n) continue
    // A mass at one value begins with the share below it.
    if (i - from > step && from > 0) points.push([value, from / n])
    points.push([value, i / n])
    while (next <= i) next += step
  }
  return points.map(([bytes, share]) => [bytes, Number(share.toFixed(6))])
}

/** Returns values by frequency, the most frequent first. */
function byCount<T>(values: readonly T[]): Share<T>[] {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count)
}

function matrixOf(messages: readonly SeenMessage[]): TrafficFit['matrix'] {
  const cells = new Map<string, TrafficFit['matrix'][number]>()
  for (const { source, destination, bytes } of messages) {
    const key = `${source} ${destination}`
    let cell = cells.get(key)
    if (cell === undefined) {
      cell = { source, destination, messages: 0, bytes: 0 }
      cells.set(key, cell)
    }
    cell.messages++
    cell.bytes += bytes
  }
  return [...cells.values()].sort((a, b) => b.messages - a.messages)
}
