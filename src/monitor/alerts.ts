/**
 * Alerts: a rule compares a number of each window with a threshold, and fires when it was past it for some windows in a row; it is
 * over when one window is not.
 *
 *     missing > 100
 *     ackP99 > 500 for 3          microseconds, three windows in a row
 *     anomaly.incast > 0
 */
import { type AnomalyKind, anomalyTexts } from './anomalies.ts'
import type { WindowAnswer } from './answer.ts'
import { MonitorError } from './error.ts'
import { counterNames, followedOf, followedOnly } from './events.ts'

/** What must not be: a metric, a limit, and for how many windows. */
export interface AlertRule {
  /** As it was written. */
  text: string
  metric: string
  above: boolean
  threshold: number
  /** Windows in a row. */
  windows: number
}

/** An alert that has begun or ended. */
export interface AlertEvent {
  state: 'firing' | 'resolved'
  rule: string
  metric: string
  value: number
  threshold: number
  /** ISO 8601: the window with which it began, and the one that this is about. */
  since: string
  at: string
  /** A sentence. */
  text: string
  /** Anomalies of that window that explain it. */
  reasons: string[]
}

type Metric = (answer: WindowAnswer) => number

const microseconds = (ns: number | undefined): number => (ns === undefined ? 0 : ns / 1000)
const percent = (part: number, whole: number): number => (whole === 0 ? 0 : (100 * part) / whole)

const derived: Readonly<Record<string, readonly [text: string, of: Metric]>> = {
  bitsPerSecond: ['bits on the wire a second', ({ rates }) => rates.bits],
  packetsPerSecond: ['packets a second', ({ rates }) => rates.packets],
  messagesPerSecond: [
    'messages a second; in overload, as many of each packet as of those that were followed',
    ({ rates, totals }) => (rates.messages === 0 ? 0 : rates.messages * (totals.roce / followedOf(totals))),
  ],
  flows: ['flows, as estimated', ({ flows }) => flows.value],
  hosts: ['hosts, as estimated', ({ hosts }) => hosts.value],
  ackP50: ['median latency of acknowledgements in µs', ({ latency }) => microseconds(latency.ack?.p50.value)],
  ackP99: ['99th percentile of that', ({ latency }) => microseconds(latency.ack?.p99.value)],
  readP50: ['median latency of READs in µs', ({ latency }) => microseconds(latency.read?.p50.value)],
  readP99: ['99th percentile of that', ({ latency }) => microseconds(latency.read?.p99.value)],
  lossPercent: [
    'missing packets, those that came late left out, in per cent',
    ({ totals }) => percent(Math.max(0, totals.missing - totals.late), followedOf(totals) + totals.missing),
  ],
  markedPercent: ['packets marked by ECN in per cent', ({ totals }) => percent(totals.marked, totals.roce)],
}

/** Every number that a rule may look at, and what it is. */
export const alertMetrics: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(derived).map(([name, [text]]) => [name, text])),
  ...Object.fromEntries(Object.entries(anomalyTexts).map(([kind, text]) => [`anomaly.${kind}`, `how often: ${text}`])),
}

const form = /^\s*([\w.-]+)\s*([<>])\s*(\d+(?:\.\d+)?)([kMG]?)(?:\s+for\s+(\d+))?\s*$/
const factors: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6, G: 1e9 }

/** Throws ERR_MONITOR_VALUE with what is expected. */
export function parseAlert(text: string): AlertRule {
  const [, metric = '', sign, number, unit = '', windows = '1'] = form.exec(text) ?? []
  if (number === undefined)
    throw new MonitorError(
      'ERR_MONITOR_VALUE',
      `'${text}' is no alert: expected a number of the window, < or >, a threshold, for example: 'missing > 100 for 3'`,
    )
  if (!Object.hasOwn(alertMetrics, metric) && !counterNames.some((name) => name === metric))
    throw new MonitorError(
      'ERR_MONITOR_VALUE',
      `'${metric}' is no number of a window: expected ${Object.keys(alertMetrics).join(', ')}, or a counter: ${counterNames.join(', ')}`,
    )
  const most = Number(windows)
  if (most < 1 || most > 100_000)
    throw new MonitorError('ERR_MONITOR_VALUE', `'${text}': for ${windows} windows is not from 1 to 100000`)
  const threshold = Number(number) * factors[unit]!
  return { text: text.trim(), metric, above: sign === '>', threshold, windows: most }
}

/** The number of a window that a rule looks at. */
export function metricOf(answer: WindowAnswer, metric: string): number {
  if (Object.hasOwn(derived, metric)) return derived[metric]![1](answer)
  if (metric.startsWith('anomaly.')) {
    const kind = metric.slice('anomaly.'.length)
    return answer.anomalies.filter((one) => one.kind === kind).length
  }
  return answer.totals[metric as keyof WindowAnswer['totals']]
}

/** Numbers that say nothing of packets that were only counted. */
const ofFollowed: ReadonlySet<string> = new Set([
  ...followedOnly,
  ...['messagesPerSecond', 'ackP50', 'ackP99', 'readP50', 'readP99', 'lossPercent'],
  ...(['slow-receiver', 'unmarked-loss', 'timeouts', 'access-errors', 'bad-icrc'] as const satisfies AnomalyKind[]).map(
    (kind) => `anomaly.${kind}`,
  ),
])

/** Whether a window does not have the number that a rule looks at: there were packets, and none was followed. */
function isUnknown({ totals }: WindowAnswer, metric: string): boolean {
  return totals.fastPath > 0 && followedOf(totals) === 0 && ofFollowed.has(metric)
}

interface State {
  past: number
  since: string
  firing: boolean
}

/**
 * Applies rules to windows as they come: an alert begins when a rule has been broken for as many windows as it says, and ends when it is
 * kept again.
 */
export class Alerts {
  readonly #rules: readonly AlertRule[]
  readonly #states: State[]

  constructor(rules: readonly AlertRule[]) {
    this.#rules = rules
    this.#states = rules.map(() => ({ past: 0, since: '', firing: false }))
  }

  /** What begins and what ends with this window. Late windows say nothing, nor does one of what was only counted in it: nothing changes then. */
  update(answer: WindowAnswer): AlertEvent[] {
    if (answer.late) return []
    return this.#rules.flatMap((rule, i) => {
      if (isUnknown(answer, rule.metric)) return []
      const state = this.#states[i]!
      const value = metricOf(answer, rule.metric)
      const isPast = rule.above ? value > rule.threshold : value < rule.threshold
      if (!isPast) {
        const was = state.firing
        state.past = 0
        state.firing = false
        return was ? [eventOf(rule, 'resolved', value, state.since, answer)] : []
      }
      if (state.past++ === 0) state.since = answer.start
      if (state.firing || state.past < rule.windows) return []
      state.firing = true
      return [eventOf(rule, 'firing', value, state.since, answer)]
    })
  }
}

function eventOf(
  rule: AlertRule,
  state: AlertEvent['state'],
  value: number,
  since: string,
  answer: WindowAnswer,
): AlertEvent {
  const { metric, threshold } = rule
  const shown = Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)))
  const text =
    state === 'firing'
      ? `${metric} is ${shown}: ${rule.text}`
      : `${metric} is ${shown} again, since ${since}: ${rule.text}`
  const reasons = answer.anomalies.filter(({ severity }) => severity !== 'info').map((one) => one.text)
  return { state, rule: rule.text, metric, value, threshold, since, at: answer.start, text, reasons }
}
