/**
 * Metrics of a monitor for Prometheus: counters that only grow, summed over all windows since it started, and gauges of the last window.
 * Labels are bounded: events, kinds and priorities are few, and keys are limited to the largest of each list that the monitor shows.
 *
 * Counters of the monitor become `verbena_monitor_…_total`, those that are also counted by key (events) one family with the label `event`.
 */
import { MetricsText } from '../counters/index.ts'
import type { Estimate } from '../sketch/index.ts'
import type { AgentState } from './agents.ts'
import { type AnomalyKind, anomalyTexts } from './anomalies.ts'
import type { LatencyAnswer, PauseAnswer, WindowAnswer } from './answer.ts'
import { type CounterName, counterNames, counterTexts, eventNames, eventTexts, type PlainCounter } from './events.ts'

/** Names of counters, without `verbena_monitor_` and `_total`. */
const counterMetrics: Readonly<Record<PlainCounter, string>> = {
  packets: 'packets',
  wireBytes: 'wire_bytes',
  roce: 'rdma_packets',
  roceBytes: 'rdma_bytes',
  payloadBytes: 'payload_bytes',
  messages: 'messages',
  connections: 'connection_requests',
  ecnCapable: 'ecn_capable_packets',
  copies: 'copied_packets',
  cut: 'cut_packets',
  pauseFrames: 'pause_frames',
  resumeFrames: 'resume_frames',
  oversized: 'oversized_packets',
  unplaced: 'unplaced_packets',
  dropped: 'dropped_packets',
  fastPath: 'only_counted_packets',
  forgotten: 'forgotten_flows',
  unmeasured: 'unmeasured_latencies',
  unsent: 'unsent_windows',
  clockBack: 'clock_backs',
}

const priorities: readonly PauseAnswer['priority'][] = [0, 1, 2, 3, 4, 5, 6, 7, 'link']
const states: readonly AgentState['state'][] = ['here', 'lags', 'vanished']
const quantiles = { p50: '0.5', p90: '0.9', p99: '0.99', p999: '0.999', max: '1' } as const

/** Sums the answers of windows, and formats them as metrics of Prometheus. */
export class MonitorMetrics {
  readonly #totals = new Map<CounterName, number>(counterNames.map((name) => [name, 0]))
  readonly #anomalies = new Map<AnomalyKind, number>()
  readonly #pauses = new Map<PauseAnswer['priority'], { frames: number; quanta: number }>()
  readonly #measured = { ack: 0, read: 0 }
  #windows = 0
  #late = 0
  #last: WindowAnswer | undefined

  /**
   * Adds a window, as it is shown. Gauges are those of the last one that was not late; if the clock went back, that is of an earlier time.
   */
  add(window: WindowAnswer): void {
    this.#windows++
    if (window.late) this.#late++
    else this.#last = window
    for (const name of counterNames) this.#totals.set(name, this.#totals.get(name)! + window.totals[name])
    // Each kind once, however many anomalies of it a window has.
    for (const kind of new Set(window.anomalies.map((one) => one.kind)))
      this.#anomalies.set(kind, (this.#anomalies.get(kind) ?? 0) + 1)
    for (const { priority, frames, quanta } of window.pauses) {
      const before = this.#pauses.get(priority) ?? { frames: 0, quanta: 0 }
      this.#pauses.set(priority, { frames: before.frames + frames, quanta: before.quanta + quanta })
    }
    this.#measured.ack += window.latency.ack?.count ?? 0
    this.#measured.read += window.latency.read?.count ?? 0
  }

  /** Returns the metrics in the text format of Prometheus; `agents`: those of a collector. */
  text(agents?: readonly AgentState[]): string {
    const text = new Families()
    text.family('windows_total', 'counter', 'Windows that were shown, late ones included')
    text.value({}, this.#windows)
    text.family('late_windows_total', 'counter', 'Windows that came after the merged window of their time')
    text.value({}, this.#late)
    for (const [name, metric] of Object.entries(counterMetrics)) {
      text.family(`${metric}_total`, 'counter', counterTexts[name as CounterName])
      text.value({}, this.#totals.get(name as CounterName)!)
    }
    const kinds = eventNames.map((event) => `${event} (${eventTexts[event]})`).join('; ')
    text.family('events_total', 'counter', `What happened to packets and connections: ${kinds}`)
    for (const event of eventNames) text.value({ event }, this.#totals.get(event)!)
    text.family('anomalous_windows_total', 'counter', 'Windows in which something of this kind was wrong')
    for (const kind of Object.keys(anomalyTexts) as AnomalyKind[]) text.value({ kind }, this.#anomalies.get(kind) ?? 0)
    text.family('pause_frames_by_priority_total', 'counter', 'PFC and PAUSE frames that ask to pause a priority')
    for (const priority of priorities)
      text.value({ priority: String(priority) }, this.#pauses.get(priority)?.frames ?? 0)
    text.family('pause_quanta_total', 'counter', 'Times of 512 bits for which these frames asked')
    for (const priority of priorities)
      text.value({ priority: String(priority) }, this.#pauses.get(priority)?.quanta ?? 0)
    this.#latencies(text)
    if (this.#last !== undefined) showLast(text, this.#last)
    if (agents !== undefined) showAgents(text, agents)
    return text.toString()
  }

  #latencies(text: Families): void {
    text.family(
      'latency_seconds',
      'summary',
      'From a request to its acknowledgement (ack), or to the last response of a READ (read): quantiles of the last window, within 1 %',
    )
    for (const of of ['ack', 'read'] as const) {
      const last = this.#last?.latency[of] ?? null
      if (last !== null)
        for (const [name, quantile] of Object.entries(quantiles))
          text.value({ of, quantile }, seconds(last[name as keyof typeof quantiles]))
      text.value({ of }, this.#measured[of], '_count')
    }
  }
}

function seconds({ value }: LatencyAnswer['p50']): number {
  return value / 1e9
}

/** Writes the gauges of the last window. */
function showLast(text: Families, window: WindowAnswer): void {
  text.family('window_start_seconds', 'gauge', 'When the last window began, since 1970')
  text.value({}, window.startMs / 1000)
  text.family('window_length_seconds', 'gauge', 'How long it lasted')
  text.value({}, window.seconds)
  text.family('window_agents', 'gauge', 'Whose windows it was made of')
  text.value({}, window.agents.length)
  for (const [name, help, estimate] of [
    ['flows', 'Flows in the last window', window.flows],
    ['hosts', 'Hosts in the last window', window.hosts],
  ] as const)
    bounded(text, name, help, [[{}, estimate]])
  text.family('anomalies', 'gauge', 'What was wrong in the last window, by severity')
  for (const severity of ['critical', 'warning', 'info'])
    text.value({ severity }, window.anomalies.filter((one) => one.severity === severity).length)
  // Addresses that found no slot share one name: a series must not occur twice.
  const rows = Object.entries(window.top).flatMap(([by, list]) =>
    [...new Map(list.toReversed().map((row) => [row.name, row])).values()]
      .toReversed()
      .map((row) => [{ by, key: row.name, measure: window.measure }, row] as const),
  )
  bounded(text, 'top', 'The largest keys of each list in the last window, in what the label measure says', rows)
}

type Labelled = readonly [labels: Readonly<Record<string, string>>, estimate: Estimate]

/** Writes an estimate and its bounds as families of their own. */
function bounded(text: Families, name: string, help: string, values: readonly Labelled[]): void {
  text.family(name, 'gauge', help)
  for (const [labels, { value }] of values) text.value(labels, value)
  text.family(`${name}_lower`, 'gauge', `${help}: at least`)
  for (const [labels, { lower }] of values) text.value(labels, lower)
  text.family(`${name}_upper`, 'gauge', `${help}: at most`)
  for (const [labels, { upper }] of values) text.value(labels, upper)
}

function showAgents(text: Families, agents: readonly AgentState[]): void {
  text.family('agents', 'gauge', 'Agents of the collector by their state')
  for (const state of states) text.value({ state }, agents.filter((agent) => agent.state === state).length)
}

class Families {
  readonly #text = new MetricsText()

  family(name: string, type: 'gauge' | 'counter' | 'summary', help: string): void {
    this.#text.family(`verbena_monitor_${name}`, type, help)
  }

  value(labels: Readonly<Record<string, string>>, value: number, suffix = ''): void {
    this.#text.value(labels, value, suffix)
  }

  toString(): string {
    return this.#text.toString()
  }
}
