/**
 * What became of the requests of one client, or of several together, as plain data: histograms where there may be millions of values, so
 * that the size does not depend on how long it took, and records of many clients merge without loss.
 */
import type { PlainHistogram } from '../stats/index.ts'
import type { TrafficConfig, TrafficQpType, Verb } from './config.ts'
import type { CurvePoint } from './curve.ts'
import type { SizeClass } from './size-classes.ts'
import { toPlain } from './transfer.ts'

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** Requests to one server of one verb, type and size class. */
export interface RecordedCell {
  /** `host:port`. */
  server: string
  type: TrafficQpType
  verb: Verb
  sizeClass: SizeClass
  /** Flows that are complete, and their bytes. */
  done: number
  bytes: number
  /** UC and UD: flows of which something did not come. */
  lost: number
  /** Flows whose server was not there, or died, or that were not complete at the end. */
  failed: number
  /** From when a flow was due until it was complete, nanoseconds. */
  fct: PlainHistogram
  /** That over the least time that its size takes, in thousandths. */
  slowdown: PlainHistogram
}

/** What was drawn in a phase, and the distribution that was asked for: null where there is none. */
export interface RecordedValues {
  /** Index in the phases of the configuration. */
  phase: number
  /** Of sizes; of gaps between requests null. */
  verb: Verb | null
  asked: CurvePoint[] | null
  /** So far values may be off by being rounded. */
  slack: number
  /** Independent draws: flows that share a size are one. */
  draws: number
  /** Bytes of flows, or nanoseconds. */
  generated: PlainHistogram
}

/** What happened in each interval, from the start of a client on. */
export interface RecordedSeries {
  binSeconds: number
  /** Requests that were due, and their bytes. */
  due: number[]
  dueBytes: number[]
  /** Requests that were complete, and their bytes. */
  done: number[]
  doneBytes: number[]
}

export interface TrafficRecord {
  /** The configuration without what tells clients apart; distributions are their points. */
  configuration: { [key: string]: Json }
  /** Which clients these are. */
  clients: number[]
  /** Requests that were due, and their bytes. */
  requests: number
  bytes: number
  /** Nanoseconds from the start to the last request that was due, and to the last that was complete: the most of all clients. */
  askedNs: number
  doneNs: number
  /** The most that a request waited before it was sent, nanoseconds. */
  latestNs: number
  cells: RecordedCell[]
  /** By phase and verb. */
  sizes: RecordedValues[]
  /** By phase: between the first requests of fan-outs, as the schedule had them; at most the first 2^20 of each client. */
  gaps: RecordedValues[]
  series: RecordedSeries
  /** Why a server was lost, and why one could not be used from the start, by its address. */
  failures: Record<string, string>
  unreachable: Record<string, string>
}

/** What all clients of one traffic share of their configuration. */
export function sharedConfiguration(config: TrafficConfig): TrafficRecord['configuration'] {
  const { client: _client, clients: _clients, phases, ...rest } = toPlain(config)
  const shared = { ...rest, phases: phases.map(withoutRank) }
  // Without an end is Infinity, which JSON has as null.
  return JSON.parse(JSON.stringify(shared)) as TrafficRecord['configuration']
}

/** Which rank of a collective a client is tells it apart, too. */
function withoutRank<P extends { collective?: unknown }>(phase: P): P {
  if (typeof phase.collective !== 'object' || phase.collective === null) return phase
  const { rank: _rank, ...collective } = phase.collective as Record<string, unknown>
  return { ...phase, collective }
}
