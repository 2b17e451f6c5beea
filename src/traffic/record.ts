/**
 * Outcomes of the requests of one client, or of several together, as plain data: histograms where there may be millions of values, so that
 * the size does not depend on the duration, and records of many clients merge without loss.
 */
import type { PlainHistogram } from '../stats/index.ts'
import type { TrafficConfig, TrafficQpType, Verb } from './config.ts'
import type { CurvePoint } from './curve.ts'
import type { SizeClass } from './size-classes.ts'
import { toPlain } from './transfer.ts'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** Requests to one server of one verb, type and size class. */
export interface RecordedCell {
  /** Address, `host:port`. */
  server: string
  type: TrafficQpType
  verb: Verb
  sizeClass: SizeClass
  /** Number of flows that are complete, and their bytes. */
  done: number
  bytes: number
  /** Number of flows of which data did not come, for UC and UD. */
  lost: number
  /** Number of flows whose server was not there, or died, or that were not complete at the end. */
  failed: number
  /** Time from when a flow was due until it was complete, nanoseconds. */
  fct: PlainHistogram
  /** Ratio of that time to the minimum for its size, in thousandths. */
  slowdown: PlainHistogram
}

/** Values that were drawn in a phase, and the configured distribution: null if there is none. */
export interface RecordedValues {
  /** Index in the phases of the configuration. */
  phase: number
  /** Verb of sizes; null for gaps between requests. */
  verb: Verb | null
  asked: CurvePoint[] | null
  /** Maximum deviation of values by rounding. */
  slack: number
  /** Number of independent draws: flows that share a size are one. */
  draws: number
  /** Bytes of flows, or nanoseconds. */
  generated: PlainHistogram
}

/** Events in each interval, from the start of a client on. */
export interface RecordedSeries {
  binSeconds: number
  /** Number of requests that were due, and their bytes. */
  due: number[]
  dueBytes: number[]
  /** Number of requests that were complete, and their bytes. */
  done: number[]
  doneBytes: number[]
}

export interface TrafficRecord {
  /** Configuration without the parts that differ between clients; distributions are their points. */
  configuration: { [key: string]: Json }
  /** Numbers of these clients. */
  clients: number[]
  /** Number of requests that were due, and their bytes. */
  requests: number
  bytes: number
  /** Nanoseconds from the start to the last request that was due, and to the last that was complete: the maximum of all clients. */
  askedNs: number
  doneNs: number
  /** Maximum time that a request waited before it was sent, nanoseconds. */
  latestNs: number
  cells: RecordedCell[]
  /** Sizes by phase and verb. */
  sizes: RecordedValues[]
  /** Gaps by phase between the first requests of fan-outs, as the schedule had them; at most the first 2^20 of each client. */
  gaps: RecordedValues[]
  series: RecordedSeries
  /** Reasons why a server was lost, and why one could not be used from the start, by its address. */
  failures: Record<string, string>
  unreachable: Record<string, string>
}

/** Returns the part of the configuration that all clients of one traffic share. */
export function sharedConfiguration(config: TrafficConfig): TrafficRecord['configuration'] {
  const { client: _client, clients: _clients, phases, ...rest } = toPlain(config)
  const shared = { ...rest, phases: phases.map(withoutRank) }
  // A phase without an end has Infinity, which JSON represents as null.
  return JSON.parse(JSON.stringify(shared)) as TrafficRecord['configuration']
}

/** Removes the rank of a collective, which also differs between clients. */
function withoutRank<P extends { collective?: unknown }>(phase: P): P {
  if (typeof phase.collective !== 'object' || phase.collective === null) return phase
  const { rank: _rank, ...collective } = phase.collective as Record<string, unknown>
  return { ...phase, collective }
}
