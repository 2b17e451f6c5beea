/**
 * Configuration of a generator as data: everything that a configuration file can contain, read, checked and complete. The readers of files
 * make it (`verbena/traffic`), a program may as well.
 */
import type { Cdf } from './cdf.ts'

export const verbs = ['send', 'send_with_imm', 'write', 'write_with_imm', 'read', 'fetch_add', 'compare_swap'] as const
export type Verb = (typeof verbs)[number]

export const qpTypes = ['RC', 'UC', 'UD'] as const
export type TrafficQpType = (typeof qpTypes)[number]

/** Verbs that a type of queue pair can perform: those of RC and before (IBA 9.2.1, table 38). */
export const verbsOfType: Readonly<Record<TrafficQpType, readonly Verb[]>> = {
  UD: ['send', 'send_with_imm'],
  UC: ['send', 'send_with_imm', 'write', 'write_with_imm'],
  RC: verbs,
}

/** Size of an atomic: eight bytes, whatever the sizes of other requests. */
export const atomicBytes = 8

export interface ServerAddress {
  host: string
  port: number
  rack: string
  /** Weight relative to other servers where the choice is uniform. */
  weight: number
}

/** Value with its frequency, relative to the other values. */
export interface Weighted<T> {
  value: T
  weight: number
}

export interface VerbShare {
  verb: Verb
  weight: number
  /** Sizes and rates of this verb; those of the phase if they are not given. */
  sizes?: readonly Weighted<SizeSource>[]
  rates?: readonly Weighted<number>[]
}

/** Number of bytes, or a distribution of them. */
export type SizeSource = number | Cdf

export type Arrival =
  | { type: 'poisson' }
  | { type: 'fixed' }
  /** Gaps between 0 and twice the mean. */
  | { type: 'uniform' }
  /** Log-normal gaps. `sigma`: the standard deviation of their logarithm. */
  | { type: 'lognormal'; sigma: number }
  /** Poisson process while it is on, no requests while it is off; both durations are exponential with these means, nanoseconds. */
  | { type: 'onoff'; onNs: number; offNs: number }
  /** Closed loop with `depth` requests outstanding, each followed by the next after `thinkNs`. */
  | { type: 'closed'; depth: number; thinkNs: number }

export type Destinations =
  | { type: 'uniform' }
  | { type: 'permutation' }
  /** Destinations of fan-outs: each request goes to `degree` servers at once. */
  | { type: 'incast'; degree: number }
  /** Destinations with a fraction `share` of the requests to one server. */
  | { type: 'hotspot'; server: number; share: number }
  /** Destinations with a fraction `share` of the requests to servers of this rack. */
  | { type: 'rack'; rack: string; share: number }

export const collectives = [
  'ring-all-reduce',
  'ring-all-gather',
  'ring-reduce-scatter',
  'halving-doubling',
  'all-to-all',
  'moe',
] as const
export type CollectiveName = (typeof collectives)[number]

export interface Collective {
  name: CollectiveName
  /** Number of bytes of the whole buffer. */
  bytes: number
  /** Rank of this client; the servers in their order are the ranks. */
  rank: number
  /** Number of messages that each step is cut into: queue pairs that carry it at the same time. */
  channels: number
  iterations: number
  /** Nanoseconds of computation between two iterations. */
  computeNs: number
  /** Exponent of the Zipf law by which experts are chosen, for moe; 0 is even. */
  skew: number
}

export interface Phase {
  name: string
  /** Nanoseconds; Infinity for the last one. */
  durationNs: number
  sizes: readonly Weighted<SizeSource>[]
  verbs: readonly VerbShare[]
  types: readonly Weighted<TrafficQpType>[]
  /** Bits per second of one flow; 0 is as fast as possible. */
  rates: readonly Weighted<number>[]
  dscps: readonly Weighted<number>[]
  serviceLevels: readonly Weighted<number>[]
  fanouts: readonly Weighted<number>[]
  /** Sizes of the flows of one fan-out: they share one size, or have it each. */
  fanoutSize: 'split' | 'each'
  arrival: Arrival
  destinations: Destinations
  /** Fraction of the bandwidth; null if `requestsPerSecond` determines the rate. */
  load: number | null
  requestsPerSecond: number | null
  collective: Collective | null
}

/** Faults of packets: probabilities from 0 to 1, times in milliseconds. */
export interface TrafficFaults {
  loss: number
  duplication: number
  corruption: number
  reordering: number
  /** Probability of congestion marks (ECN CE); in captures only. */
  marking: number
  delayMs: number
  jitterMs: number
}

export interface TrafficConfig {
  seed: number
  servers: readonly ServerAddress[]
  /** Number of this client among `clients`, from 0 on. */
  client: number
  clients: number
  /** Maximum number of requests, and nanoseconds; null without limit. */
  count: number | null
  durationNs: number | null
  /** Bits per second of a load of 1. */
  bandwidthBps: number
  /** Direction of flows. `reply`: the server sends the flow; `push`: the client does. */
  flow: 'reply' | 'push'
  phases: readonly Phase[]
  /** Number of queue pairs of each type to each server. */
  qps: number
  /** Path MTU in bytes; 0 is the maximum of both ports. */
  mtu: number
  /** Maximum number of outstanding requests of a queue pair. */
  depth: number
  /** ACK timeout 4.096 µs · 2^timeout, retries of packets, and retries after an RNR NAK (7: without end). */
  timeout: number
  retries: number
  rnrRetries: number
  faults: TrafficFaults
}

export const noFaults: TrafficFaults = {
  loss: 0,
  duplication: 0,
  corruption: 0,
  reordering: 0,
  marking: 0,
  delayMs: 0,
  jitterMs: 0,
}

export function isAtomic(verb: Verb): boolean {
  return verb === 'fetch_add' || verb === 'compare_swap'
}

/** Returns the mean of sizes in bytes. */
export function meanSize(sizes: readonly Weighted<SizeSource>[]): number {
  return weightedMean(sizes, (source) => (typeof source === 'number' ? source : source.mean))
}

/** Returns the mean bytes of a request over all verbs; a fan-out whose flows have the size each multiplies it. */
export function meanRequestBytes(phase: Phase): number {
  const weight = phase.verbs.reduce((sum, share) => sum + share.weight, 0)
  const one = phase.verbs.reduce((sum, share) => {
    const bytes = isAtomic(share.verb) ? atomicBytes : meanSize(share.sizes ?? phase.sizes)
    return sum + bytes * (share.weight / weight)
  }, 0)
  return phase.fanoutSize === 'each' ? one * weightedMean(fanoutsOf(phase), (fanout) => fanout) : one
}

export function fanoutsOf({ destinations, fanouts }: Phase): readonly Weighted<number>[] {
  return destinations.type === 'incast' ? [{ value: destinations.degree, weight: 1 }] : fanouts
}

/** Returns the requests per second of an open loop: load · bandwidth / mean size. Payload counts, headers do not. */
export function requestRate(phase: Phase, bandwidthBps: number): number {
  if (phase.requestsPerSecond !== null) return phase.requestsPerSecond
  const mean = meanRequestBytes(phase)
  return mean > 0 ? ((phase.load ?? 0) * bandwidthBps) / (8 * mean) : 0
}

function weightedMean<T>(values: readonly Weighted<T>[], of: (value: T) => number): number {
  const weight = values.reduce((sum, entry) => sum + entry.weight, 0)
  return values.reduce((sum, entry) => sum + of(entry.value) * (entry.weight / weight), 0)
}
