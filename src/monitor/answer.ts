/** Window as plain data: printed, sent to pages and saved as JSON. */
import type { DDSketch, Estimate } from '../sketch/index.ts'
import { type Anomaly, anomaliesOf } from './anomalies.ts'
import type { Burst } from './burst.ts'
import { burstsOf } from './bursts.ts'
import { type Change, changesOf } from './changes.ts'
import { type EventName, eventNames, type Totals } from './events.ts'
import { type Key, type KeyFields, nameOfKey } from './key.ts'
import type { Message } from './messages.ts'
import { flowFields, type Measure, query, type Row } from './query.ts'
import { pauseClasses, type Window } from './window.ts'

/** Nanoseconds. */
export interface LatencyAnswer {
  count: number
  p50: Estimate
  p90: Estimate
  p99: Estimate
  p999: Estimate
  max: Estimate
}

/** Message among the largest or slowest, and its flow. */
export interface MessageAnswer extends Omit<Message, 'key'> {
  flow: string
  fields: Partial<KeyFields>
}

/** Number of times that an event happened, and the connections where it happened most. */
export interface EventAnswer {
  event: EventName
  /** Exact number. */
  count: number
  /** Connections with the largest numbers. */
  connections: Row[]
}

/** Pause frames of a class of PFC, or of the link. */
export interface PauseAnswer {
  /** Priority from 0 to 7, or the whole link. */
  priority: number | 'link'
  frames: number
  /** Requested pause times, in units of 512 bit times. */
  quanta: number
}

/** Latencies of a flow. */
export interface FlowLatencyAnswer {
  flow: string
  fields: Partial<KeyFields>
  latency: LatencyAnswer
}

/** Window as plain data. */
export interface WindowAnswer {
  kind: 'verbena monitor window'
  /** Time of its beginning, in ISO 8601. */
  start: string
  startMs: number
  seconds: number
  /** Names of the agents that observed it. */
  agents: string[]
  /** Flag: it belongs to an earlier window, and came too late to be merged into that. */
  late: boolean
  /** Exact counters, each described in `counterTexts`. */
  totals: Totals
  /** Rates per second. */
  rates: { bits: number; packets: number; messages: number }
  /** Numbers of flows and hosts. */
  flows: Estimate
  hosts: Estimate
  /** Latencies; null without any. */
  latency: { ack: LatencyAnswer | null; read: LatencyAnswer | null }
  measure: Measure
  /** Largest keys by the measure, under the names of the keys. */
  top: Record<string, Row[]>
  events: EventAnswer[]
  messages: { largest: MessageAnswer[]; slowest: MessageAnswer[] }
  slowestFlows: FlowLatencyAnswer[]
  pauses: PauseAnswer[]
  /** Microbursts, the highest first; the curve of one is `curveOf`. */
  bursts: Burst[]
  /** Changes of the measure by the first of the keys, if the window before is known. */
  changes: Change[]
  anomalies: Anomaly[]
}

/** Options that select the lists of an answer. */
export interface AnswerOptions {
  /** Keys that are listed (default connection, qp, hosts, operation). */
  keys?: readonly Key[]
  measure?: Measure
  /** Number of rows of each list (default 10). */
  top?: number
  /** Window before this one, for the changes. */
  before?: Window | undefined
}

export const usualKeys: readonly Key[] = ['connection', 'qp', 'hosts', 'operation']

/** Returns the window as plain data. Throws ERR_MONITOR_VALUE for keys and measures that do not exist. */
export function answerOf(window: Window, options: AnswerOptions = {}): WindowAnswer {
  const { keys = usualKeys, measure = 'bytes', top = 10, before } = options
  const { seconds, sketches } = window
  const totals = window.totals()
  const messageOf = ({ key, ...rest }: Message): MessageAnswer => {
    const { name, fields } = flowFields(key, window)
    return { flow: name, fields, ...rest }
  }
  return {
    kind: 'verbena monitor window',
    start: new Date(window.startMs).toISOString(),
    startMs: window.startMs,
    seconds,
    agents: [...new Set(window.parts.map(({ agent }) => agent))],
    late: window.late,
    totals,
    rates: {
      bits: (totals.wireBytes * 8) / seconds,
      packets: totals.packets / seconds,
      messages: totals.messages / seconds,
    },
    flows: sketches.flows.cardinality(),
    hosts: sketches.hosts.cardinality(),
    latency: { ack: latencyOf(sketches.ack), read: latencyOf(sketches.read) },
    measure,
    top: Object.fromEntries(keys.map((by) => [nameOfKey(by), query(window, { by, of: measure, top }).rows])),
    events: eventNames
      .filter((event) => totals[event] > 0)
      .map((event) => ({
        ...{ event, count: totals[event] },
        connections: query(window, { by: 'connection', of: event, top: 3 }).rows,
      })),
    messages: {
      largest: window.largest.list.slice(0, top).map(messageOf),
      slowest: window.slowest.list.slice(0, top).map(messageOf),
    },
    slowestFlows: flowLatenciesOf(window).slice(0, top),
    pauses: pausesOf(window),
    bursts: burstsOf(window).slice(0, top),
    changes: before === undefined ? [] : changesOf(window, before, keys[0] ?? 'connection', measure).slice(0, top),
    anomalies: anomaliesOf(window),
  }
}

/** Returns the answer with at most `top` rows of each list. */
export function cutAnswer(answer: WindowAnswer, top: number): WindowAnswer {
  const { messages, slowestFlows, bursts, changes } = answer
  return {
    ...answer,
    top: Object.fromEntries(Object.entries(answer.top).map(([name, rows]) => [name, rows.slice(0, top)])),
    messages: { largest: messages.largest.slice(0, top), slowest: messages.slowest.slice(0, top) },
    ...{ slowestFlows: slowestFlows.slice(0, top), bursts: bursts.slice(0, top), changes: changes.slice(0, top) },
  }
}

/** Returns the latencies of the flows for which the window has them, the slowest first. */
export function flowLatenciesOf(window: Window): FlowLatencyAnswer[] {
  return [...window.flowLatencies.values()]
    .map(({ key, sketch }) => {
      const { name, fields } = flowFields([...key], window)
      return { flow: name, fields, latency: latencyOf(sketch)! }
    })
    .sort((a, b) => b.latency.p99.value - a.latency.p99.value)
}

function latencyOf(sketch: DDSketch): LatencyAnswer | null {
  if (sketch.total === 0) return null
  const [p50, p90, p99, p999, max] = [0.5, 0.9, 0.99, 0.999, 1].map((q) => sketch.quantile(q)!)
  return { count: sketch.total, p50: p50!, p90: p90!, p99: p99!, p999: p999!, max: max! }
}

function pausesOf({ pauses }: Window): PauseAnswer[] {
  const answers: PauseAnswer[] = []
  for (let n = 0; n < pauseClasses; n++)
    if (pauses[2 * n]! > 0)
      answers.push({
        priority: n === pauseClasses - 1 ? 'link' : n,
        frames: pauses[2 * n]!,
        quanta: pauses[2 * n + 1]!,
      })
  return answers
}
