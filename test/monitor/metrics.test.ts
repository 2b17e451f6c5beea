import { describe, expect, it } from 'vitest'
import {
  type AgentState,
  type AnomalyKind,
  anomalyTexts,
  answerOf,
  counterNames,
  eventNames,
  MonitorMetrics,
  type WindowAnswer,
} from '../../src/monitor/index.ts'
import { type Family, parsePrometheus } from '../gateway/api/prometheus.ts'
import { dashboardMetrics, panelQueries } from './dashboard.ts'
import { Traffic } from './traffic.ts'

/** Windows of a tenth of a second, each with another QP, a loss, and acknowledgements. */
function windows(count: number): WindowAnswer[] {
  const traffic = new Traffic({ windowSeconds: 0.1 })
  for (let w = 0; w < count; w++) {
    for (let i = 0; i < 4; i++) traffic.send(i === 3 ? 5 : i, { destQp: 0x100 + w })
    traffic.send(w, {}, w === 0 ? 1000 : 1e8 - 5000)
    traffic.ack(w)
  }
  traffic.observer.finish()
  return traffic.windows.map((window) => answerOf(window, { top: 2 }))
}

const family = (families: Map<string, Family>, name: string): Family => families.get(`verbena_monitor_${name}`)!
const valueIn = (families: Map<string, Family>, name: string, labels: Record<string, string> = {}): number =>
  family(families, name).samples.find((one) => Object.entries(labels).every(([key, text]) => one.labels[key] === text))!
    .value

describe('metrics for Prometheus', () => {
  it('has counters that only grow, and are the sums of all windows', () => {
    const metrics = new MonitorMetrics()
    const all = windows(6)
    expect(all.length).toBeGreaterThan(3)
    let before = new Map<string, number>()
    for (const window of all) {
      metrics.add(window)
      const counters = [...parsePrometheus(metrics.text())].filter(([, { type }]) => type === 'counter')
      const now = new Map(
        counters.flatMap(([, { samples }]) =>
          samples.map(({ name, labels, value }) => [`${name} ${JSON.stringify(labels)}`, value]),
        ),
      )
      for (const [name, value] of before) expect(now.get(name)).toBeGreaterThanOrEqual(value)
      before = now
    }
    const families = parsePrometheus(metrics.text())
    const sum = (of: (window: WindowAnswer) => number): number => all.reduce((total, window) => total + of(window), 0)
    expect(valueIn(families, 'windows_total')).toBe(all.length)
    expect(valueIn(families, 'packets_total')).toBe(sum(({ totals }) => totals.packets))
    expect(valueIn(families, 'rdma_bytes_total')).toBe(sum(({ totals }) => totals.roceBytes))
    expect(valueIn(families, 'events_total', { event: 'missing' })).toBe(sum(({ totals }) => totals.missing))
    expect(sum(({ totals }) => totals.missing)).toBeGreaterThan(0)
    const measured = family(families, 'latency_seconds').samples.find(
      ({ name, labels }) => name.endsWith('_count') && labels.of === 'ack',
    )
    expect(measured!.value).toBe(sum(({ latency }) => latency.ack?.count ?? 0))
  })

  it('has every counter and every event, also before the first window', () => {
    const families = parsePrometheus(new MonitorMetrics().text())
    expect(family(families, 'events_total').samples.map(({ labels }) => labels.event)).toEqual(eventNames)
    const kinds = family(families, 'anomalous_windows_total').samples.map(({ labels }) => labels.kind as AnomalyKind)
    expect(kinds).toEqual(Object.keys(anomalyTexts))
    // One for each counter that is no event, the two of windows, and three with labels.
    const counters = [...families.values()].filter(({ type }) => type === 'counter')
    expect(counters.length).toBe(counterNames.length - eventNames.length + 2 + 4)
    for (const { help } of families.values()) expect(help).not.toBe('')
  })

  it('has the last window, and never more than its largest keys', () => {
    const metrics = new MonitorMetrics()
    const all = windows(8)
    for (const window of all) metrics.add(window)
    const last = all.at(-1)!
    metrics.add({ ...all[0]!, late: true })
    const families = parsePrometheus(metrics.text())
    expect(valueIn(families, 'late_windows_total')).toBe(1)
    expect(valueIn(families, 'window_start_seconds')).toBe(last.startMs / 1000)
    for (const [name, bound] of [
      ['top', 'value'],
      ['top_lower', 'lower'],
      ['top_upper', 'upper'],
    ] as const) {
      const rows = family(families, name).samples.map(({ labels, value }) => [labels.by, labels.key, value])
      const expected = Object.entries(last.top).flatMap(([by, list]) => list.map((row) => [by, row.name, row[bound]]))
      expect(rows).toEqual(expected)
      expect(rows.length).toBeLessThanOrEqual(2 * Object.keys(last.top).length)
    }
    const median = valueIn(families, 'latency_seconds', { of: 'ack', quantile: '0.5' })
    expect(median).toBeCloseTo(last.latency.ack!.p50.value / 1e9, 12)
  })

  it('lists a name once, though two keys have it', () => {
    const metrics = new MonitorMetrics()
    const [window] = windows(2)
    const [row] = window!.top.qp!
    metrics.add({
      ...window!,
      top: {
        qp: [
          { ...row!, value: 2 },
          { ...row!, value: 1 },
        ],
      },
    })
    expect(family(parsePrometheus(metrics.text()), 'top').samples.map(({ value }) => value)).toEqual([2])
  })
})

it('the Grafana dashboard asks for what is there', () => {
  const metrics = new MonitorMetrics()
  for (const window of windows(2)) metrics.add(window)
  const agent: AgentState = {
    ...{ name: 'a', run: 'r', state: 'lags', lastMs: 0, heardMs: 0 },
    ...{ windows: 0, repeated: 0, missing: 0, aheadSeconds: 0 },
  }
  const families = parsePrometheus(metrics.text([agent]))
  expect(valueIn(families, 'agents', { state: 'lags' })).toBe(1)
  const names = dashboardMetrics()
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !families.has(name))).toEqual([])
  // Each query has a name that was found.
  for (const { query } of panelQueries('qp', '1m')) expect(names.some((name) => query.includes(name))).toBe(true)
})
