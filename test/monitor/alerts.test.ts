import { expect, it } from 'vitest'
import { alertmanagerAlert } from '../../src/monitor/host/index.ts'
import {
  Alerts,
  alertMetrics,
  answerOf,
  counterNames,
  MonitorError,
  metricOf,
  parseAlert,
} from '../../src/monitor/index.ts'
import { Traffic } from './traffic.ts'

function windows(losses: readonly number[]) {
  const traffic = new Traffic()
  let psn = 0
  for (const [second, missing] of losses.entries()) {
    traffic.nowNs = second * 1e9
    traffic.send(psn)
    psn += 1 + missing
    traffic.send(psn++)
  }
  traffic.observer.finish()
  return traffic.windows.map((window) => answerOf(window))
}

it('fires after so many windows in a row, once, and is over when one is not past the threshold', () => {
  const alerts = new Alerts([parseAlert('missing > 2 for 2')])
  const answers = windows([3, 1, 3, 3, 4, 0])
  const said = answers.map((answer) => alerts.update(answer).map(({ state, value, since }) => [state, value, since]))
  expect(said).toEqual([[], [], [], [['firing', 3, answers[2]!.start]], [], [['resolved', 0, answers[2]!.start]]])
})

it('reads rules, and says what is wrong with them', () => {
  expect(parseAlert(' bitsPerSecond < 1.5G for 3 ')).toEqual({
    ...{ text: 'bitsPerSecond < 1.5G for 3', metric: 'bitsPerSecond', above: false, threshold: 1.5e9, windows: 3 },
  })
  for (const text of ['missing', 'missing >', 'missing = 3', 'what > 3', 'missing > 3 for 0', 'missing > x']) {
    expect(() => parseAlert(text), text).toThrow(MonitorError)
  }
})

it('finds every number that a rule may name', () => {
  const [answer] = windows([1])
  for (const metric of [...Object.keys(alertMetrics), ...counterNames])
    expect([metric, Number.isFinite(metricOf(answer!, metric))]).toEqual([metric, true])
})

it('is an alert of Alertmanager: the same labels while it fires and when it ends', () => {
  const alerts = new Alerts([parseAlert('lossPercent > 1')])
  const [firing, , resolved] = windows([9, 9, 0]).map((answer) => alerts.update(answer)[0])
  const [begin, end] = [firing!, resolved!].map((event) => alertmanagerAlert(event, 'host'))
  expect(begin!.labels).toEqual({ alertname: 'verbena_lossPercent', rule: 'lossPercent > 1', instance: 'host' })
  expect(end!.labels).toEqual(begin!.labels)
  expect([begin!.endsAt, end!.endsAt]).toEqual([undefined, resolved!.at])
  expect(begin!.startsAt).toBe(end!.startsAt)
})
