/**
 * Alerts: a rule compares a number of each window with a threshold, and fires when the number was past it for some windows in a row; the
 * alert is over with the first window that is not past it.
 *
 *     missing > 100
 *     ackP99 > 500 for 3          microseconds, three windows in a row
 *     anomaly.incast > 0
 */
import { type AnomalyKind, anomalyTexts } from './anomalies.ts'
import type { WindowAnswer } from './answer.ts'
import { MonitorError } from './error.ts'
import { counterNames, followedOf, followedOnly } from './events.ts'

/** Condition for an alert: a metric, a limit, and a number of windows. */
export interface AlertRule {
  /** Text of the rule as it was written. */
  text: string
  metric: string
  above: boolean
  threshold: number
  /** Number of successive windows. */
  windows: number
}

/** Beginning or end of an alert. */
export interface AlertEvent {
  state: 'firing' | 'resolved'
  rule: string
  metric: string
  value: number
  threshold: number
  /** Time in ISO 8601 of the window with which the alert began, and of the one of this event. */
  since: string
  at: string
  /** Description, one sentence. */
  text: string
  /** Anomalies of that window that explain the alert. */
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

/** Metrics that a rule may use, with their descriptions. */
export const alertMetrics: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(derived).map(([name, [text]]) => [name, text])),
  ...Object.fromEntries(Object.entries(anomalyTexts).map(([kind, text]) => [`anomaly.${kind}`, `how often: ${text}`])),
}

const form = /^\s*([\w.-]+)\s*([<>])\s*(\d+(?:\.\d+)?)([kMG]?)(?:\s+for\s+(\d+))?\s*$/
const factors: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6, G: 1e9 }

/** Parses a rule. Throws ERR_MONITOR_VALUE with the expected syntax. */
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

/** Returns the number of a window that a rule uses. */
export function metricOf(answer: WindowAnswer, metric: string): number {
  if (Object.hasOwn(derived, metric)) return derived[metric]![1](answer)
  if (metric.startsWith('anomaly.')) {
    const kind = metric.slice('anomaly.'.length)
    return answer.anomalies.filter((one) => one.kind === kind).length
  }
  return answer.totals[metric as keyof WindowAnswer['totals']]
}

/** Metrics that do not include packets that were only counted. */
const ofFollowed: ReadonlySet<string> = new Set([
  ...followedOnly,
  ...['messagesPerSecond', 'ackP50', 'ackP99', 'readP50', 'readP99', 'lossPercent'],
  ...(['slow-receiver', 'unmarked-loss', 'timeouts', 'access-errors', 'bad-icrc'] as const satisfies AnomalyKind[]).map(
    (kind) => `anomaly.${kind}`,
  ),
])

/** True if a window does not have the number that a rule uses: there were packets, and none was followed. */
function isUnknown({ totals }: WindowAnswer, metric: string): boolean {
  return totals.fastPath > 0 && followedOf(totals) === 0 && ofFollowed.has(metric)
}

interface State {
  past: number
  since: string
  firing: boolean
}

/**
 * Applies rules to windows as they come: an alert begins when a rule has been broken for its number of windows, and ends when it is kept
 * again.
 */
export class Alerts {
  readonly #rules: readonly AlertRule[]
  readonly #states: State[]

  constructor(rules: readonly AlertRule[]) {
    this.#rules = rules
    this.#states = rules.map(() => ({ past: 0, since: '', firing: false }))
  }

  /**
   * Returns alerts that begin or end with this window. Late windows change nothing; neither does a window whose packets were only counted,
   * for metrics that need followed ones.
   */
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
