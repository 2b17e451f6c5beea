import { describe, expect, it } from 'vitest'
import {
  type AlertEvent,
  answerOf,
  decodeWindow,
  encodeWindow,
  MonitorError,
  query,
  type Window,
} from '../../src/monitor/index.ts'
import {
  answerQuestion,
  curveView,
  type DetailView,
  detailView,
  heatView,
  LiveView,
  mostBins,
  mostBurstsShown,
  mostHosts,
  mostRows,
  parseQuestion,
  sumNumber,
} from '../../src/monitor/view/index.ts'
import { A, B, Traffic } from './traffic.ts'

const view = (mostBytes = 2 ** 26): LiveView => new LiveView({ keys: ['qp'], measure: 'bytes', mostBytes })

const exact = (value: number) => ({ value, lower: value, upper: value, confidence: 1 })

function add(live: LiveView, windows: readonly Window[], alerts: readonly AlertEvent[] = []): void {
  for (const window of windows) live.add(window, answerOf(window, { keys: ['qp'] }), alerts)
}

/** Windows of a second, each with so many SENDs and their ACKs. */
function windowsOf(counts: readonly number[], memoryBytes = 2 ** 20): Window[] {
  const traffic = new Traffic({ memoryBytes })
  let psn = 0
  for (const [at, count] of counts.entries()) {
    traffic.nowNs = at * 1e9
    for (let i = 0; i < count; i++, psn++) {
      traffic.send(psn)
      traffic.ack(psn)
    }
  }
  traffic.observer.finish()
  return traffic.windows
}

describe('a live view', () => {
  it('has a point for each window, and gives those that a page does not have', () => {
    const live = view()
    add(live, windowsOf([3, 1, 2]))
    const { points, window } = live.update(0, 0)
    expect(points.map(({ number, packets, messages }) => [number, packets, messages])).toEqual([
      [1, 6, 3],
      [2, 2, 1],
      [3, 4, 2],
    ])
    expect(window).toMatchObject({ number: 3, answer: { totals: { messages: 2 } } })
    expect(live.update(2, 5)).toMatchObject({ skipped: 5, points: [{ number: 3 }] })
    expect(live.update(3, 0).points).toEqual([])
  })

  it('keeps as many windows as its memory has room for', () => {
    const windows = windowsOf([1, 1, 1, 1, 1])
    // With half a MiB beside the sketches of each.
    const live = view(3 * (windows[0]!.plan.sketchBytes + 2 ** 19))
    add(live, windows)
    expect(live.update(0, 0)).toMatchObject({ oldest: 3, points: { length: 5 } })
    expect(answerQuestion(live, { ask: 'window', window: 3 })).toMatchObject({ number: 3 })
    expect(() => answerQuestion(live, { ask: 'window', window: 2 })).toThrow('window 2 is not kept any more')
  })

  it('counts late windows, and shows none', () => {
    const live = view()
    const [one, two] = windowsOf([1, 2])
    two!.late = true
    add(live, [one!, two!])
    expect(live.update(0, 0)).toMatchObject({ late: 1, points: { length: 1 }, window: { number: 1 } })
  })

  it('sums up all windows of what ends, once all was read', () => {
    const live = new LiveView({ keys: ['qp'], measure: 'packets', sums: true })
    const windows = windowsOf([3, 1, 2], 2 ** 24)
    const before = windows.map((one) => answerOf(one))
    add(live, windows)
    expect(live.update(0, 0).sum).toBe(null)
    expect(() => answerQuestion(live, { ask: 'window', window: sumNumber })).toThrow('there is no sum of all windows')
    live.isOver = true
    const { sum, window } = live.update(0, 0)
    expect(window).toMatchObject({ number: 3, windows: 1, answer: { totals: { messages: 2 } } })
    expect(sum).toMatchObject({
      ...{ number: sumNumber, windows: 3, heat: { measure: 'packets', cells: [{ value: 6 }, { value: 6 }] } },
      answer: { startMs: windows[0]!.startMs, seconds: 3, totals: { messages: 6 }, top: { qp: [{ value: 6 }, {}] } },
    })
    expect(answerQuestion(live, { ask: 'rows', window: sumNumber, by: 'hosts', of: 'messages' })).toMatchObject({
      rows: [{ value: 6 }],
    })
    expect(answerQuestion(live, { ask: 'detail', window: sumNumber, host: B, qp: 0xb })).toMatchObject({ host: B })
    // There are no bins of microseconds for all of it.
    const curve = { ask: 'curve', window: sumNumber, host: B, qp: null, fromNs: 0, toNs: 1e9 } as const
    expect(answerQuestion(live, curve)).toBe(null)
    // The windows themselves are what they were.
    expect(windows.map((one) => answerOf(one))).toEqual(before)
  })

  it('has no sum of one window, of what goes on, or of windows that cannot be merged', () => {
    const windows = windowsOf([1, 1])
    const other = new Traffic({ memoryBytes: 2 ** 20, seed: 2 })
    other.nowNs = 5e9
    other.send(1)
    const sumOf = (sums: boolean, all: readonly Window[]): unknown => {
      const live = new LiveView({ keys: ['qp'], measure: 'bytes', sums })
      add(
        live,
        all.map((window) => decodeWindow(encodeWindow(window))),
      )
      live.isOver = true
      return live.update(0, 0).sum
    }
    expect([sumOf(true, windows.slice(1)), sumOf(false, windows)]).toEqual([null, null])
    expect(sumOf(true, windows)).toMatchObject({ windows: 2 })
    expect(sumOf(true, [...windows, other.end()])).toBe(null)
  })

  it('knows which alerts fire', () => {
    const live = view()
    const [one, two] = windowsOf([1, 1])
    const event = (state: AlertEvent['state']): AlertEvent => ({
      ...{ state, rule: 'messages > 0', metric: 'messages', value: 1, threshold: 0 },
      ...{ since: '', at: '', text: state, reasons: [] },
    })
    add(live, [one!], [event('firing')])
    expect(live.update(0, 0).alerts).toMatchObject({ firing: [{ text: 'firing' }], recent: [] })
    add(live, [two!], [event('resolved')])
    expect(live.update(0, 0).alerts).toMatchObject({ firing: [], recent: [{ text: 'resolved' }, { text: 'firing' }] })
  })

  it('gives microbursts also of windows that share an update, the newest first', () => {
    const live = view()
    const windows = windowsOf([1, 1, 1])
    const burst = {
      name: B,
      fields: { destination: B },
      startMs: 0,
      microseconds: 1,
      bytes: exact(1),
      peak: 1,
      mean: 1,
    }
    for (const window of windows) live.add(window, { ...answerOf(window), bursts: [burst] }, [])
    const startMs = windows.map((one) => one.startMs)
    expect(live.update(1, 0).bursts).toEqual([
      { window: 3, startMs: startMs[2], burst },
      { window: 2, startMs: startMs[1], burst },
    ])
    for (let i = 0; i < 10; i++)
      for (const window of windows) live.add(window, { ...answerOf(window), bursts: [burst] }, [])
    expect(live.update(0, 0).bursts).toHaveLength(mostBurstsShown)
  })

  it('has a name of its own for each run', () => {
    const [one, two] = [view(), view()]
    expect(one.hello().run).toBe(one.hello().run)
    expect(two.hello().run).not.toBe(one.hello().run)
  })

  it('lists its own keys first, and all others', () => {
    const { keys, measures } = new LiveView({ keys: [['source', 'dscp'], 'rkey'], measure: 'bytes' }).hello()
    expect(keys.map(([name]) => name).slice(0, 3)).toEqual(['source,dscp', 'rkey', 'connection'])
    expect(new Set(keys.map(([name]) => name)).size).toBe(keys.length)
    expect(measures.map(([name]) => name)).toContain('retransmission')
  })
})

describe('the map of hosts', () => {
  it('has who sends how much to whom, with bounds, by address', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 100; psn++) traffic.send(psn, { payload: 1024 })
    for (let psn = 0; psn < 10; psn++) traffic.packet({ source: '10.0.0.3', destination: B, destQp: 0xcc, psn })
    traffic.packet({ source: '10.0.0.10', destination: A, destQp: 0xcc, psn: 0 })
    const { hosts, cells, others } = heatView(traffic.end(), 'packets')
    expect(hosts).toEqual([A, B, '10.0.0.3', '10.0.0.10'])
    expect(cells.map(({ from, to, value }) => [hosts[from], hosts[to], value])).toEqual([
      [A, B, 100],
      ['10.0.0.3', B, 10],
      ['10.0.0.10', A, 1],
    ])
    for (const { value, lower, upper } of cells) expect([lower <= value, upper >= value]).toEqual([true, true])
    expect(others).toEqual({ pairs: 0, value: 0 })
  })

  it('sums up what has no room', () => {
    const traffic = new Traffic()
    for (let host = 0; host < 2 * mostHosts; host++)
      traffic.packet({ source: `10.1.0.${host + 1}`, destination: B, destQp: 0xcc, psn: host })
    const { hosts, cells, others } = heatView(traffic.end(), 'packets')
    expect([hosts.length, cells.length]).toEqual([mostHosts, mostHosts - 1])
    expect(others).toEqual({ pairs: mostHosts + 1, value: mostHosts + 1 })
  })
})

describe('details', () => {
  const traffic = new Traffic()
  traffic.send(0, { payload: 100 })
  traffic.ack(0)
  traffic.read(1, 64)
  traffic.response(1, 64)
  traffic.ack(1, 0x60)
  const live = view()
  add(live, [traffic.end()])
  const detail = (host: string, qp: number | null): DetailView =>
    answerQuestion(live, { ask: 'detail', window: 1, host, qp }) as DetailView
  const namesOf = ({ tables }: DetailView, name: string): string[] =>
    tables.find(({ title }) => title === name)?.rows.map((row) => row.name) ?? []

  it('go from a host to its queue pairs', () => {
    expect(namesOf(detail(B, null), 'to its queue pairs')).toEqual([`${B} QP 0xb`])
    expect(namesOf(detail(B, null), 'to hosts')).toEqual([A])
    expect(namesOf(detail(B, null), 'operations to it').sort()).toEqual(['RC READ_REQUEST', 'RC SEND'])
  })

  it('go from a queue pair to its flows, events and messages', () => {
    const { largest, ...found } = detail(B, 0xb)
    expect(namesOf(found as DetailView, 'flows to it')).toEqual([`${A} QP 0xa → ${B} QP 0xb RC`])
    expect(namesOf(found as DetailView, 'events on the way from it')).toEqual(['NAKs: PSN sequence error'])
    expect(largest.map(({ operation, bytes }) => [operation, bytes])).toEqual([
      ['SEND', 100],
      ['READ_RESPONSE', 64],
    ])
  })

  it('have nothing of what was not seen', () => {
    expect(detail('10.9.9.9', 7)).toEqual({
      ...{ host: '10.9.9.9', qp: 7, tables: [], largest: [], slowest: [], latencies: [], hasAllLatencies: true },
    })
  })

  it('say what they may lack, of events and of latencies', () => {
    const crowd = new Traffic({ memoryBytes: 2 ** 20 })
    for (let n = 0; n < 150; n++) {
      crowd.send(1000 * n, { destQp: 0x100 + n, tos: 3 })
      crowd.ack(1000 * n, 0x1f, { destQp: 0x200 + n }, n < 64 ? 100_000 : 1000)
    }
    const window = crowd.end()
    const answer = answerOf(window, { top: mostRows })
    const view = detailView(window, answer, B, null)
    const { rest } = view.tables.find(({ title }) => title === 'events on the way to it')!
    expect(rest).toBe(query(window, { by: ['event'], of: 'marked' }).rest)
    expect(rest).toBeGreaterThan(0)
    // All that the window has, and not those of the slowest flows of the whole window only.
    const few = [detailView(window, answer, B, 0x100 + 63), detailView(window, answer, B, 0x100 + 149), view]
    expect(few.map(({ latencies, hasAllLatencies }) => [latencies.length, hasAllLatencies])).toEqual([
      [1, false],
      [0, false],
      [64, false],
    ])
    expect(answer.slowestFlows).toHaveLength(mostRows)
  })
})

describe('a curve', () => {
  const traffic = new Traffic({ memoryBytes: 2 ** 25 })
  for (let psn = 0; psn < 500; psn++) traffic.send(psn, { payload: 1024 }, psn === 250 ? 400e6 : 1000)
  const window = traffic.end()

  it('has no more bins than a page can show, whose highest rates are those of the sketch', () => {
    const whole = curveView(window, { destination: B })!
    const close = curveView(window, { destination: B }, 0, 100 * (1e9 / 8192))!
    expect(whole.values.length).toBeLessThanOrEqual(mostBins)
    expect(close.binNs).toBeLessThan(whole.binNs)
    expect(close.startNs).toBe(0)
    expect(Math.max(...whole.values)).toBeGreaterThanOrEqual(Math.max(...close.values))
    for (const [t, value] of whole.values.entries())
      expect([whole.lower[t]! <= value, whole.upper[t]! >= value]).toEqual([true, true])
  })

  it('begins where it is asked to, within the window', () => {
    expect(curveView(window, { destination: B }, 5e8, 6e8)!.startNs).toBeGreaterThan(4.99e8)
    expect(curveView(window, { destination: B }, 5e9, 6e9)!.values).toHaveLength(1)
    expect(curveView(window, { destination: '10.9.9.9' })).toBeUndefined()
  })
})

it('reads questions, and nothing else', () => {
  const question = { id: 1, ask: 'curve', window: 2, host: B, qp: null, fromNs: 0, toNs: 1e9 }
  expect(parseQuestion(JSON.stringify(question))).toEqual({
    id: 1,
    question: { ask: 'curve', window: 2, host: B, qp: null, fromNs: 0, toNs: 1e9 },
  })
  const reasonOf = (text: string) => parseQuestion(text) as { id: number; reason: string }
  for (const wrong of ['', '{', 'null', '7', '[]', '{}', '{"id":-1}', '{"id":"1"}'])
    expect(reasonOf(wrong), wrong).toEqual({ id: -1, reason: expect.stringMatching(/^no question: /) })
  // Else the page would wait for ever.
  for (const wrong of [
    ...[{ window: '2' }, { host: 7 }, { host: 'x'.repeat(200) }, { qp: 2 ** 24 }, { qp: undefined }],
    ...[{ ask: '__proto__' }, { ask: undefined }, { fromNs: null }, { ask: 'rows' }],
  ])
    expect(reasonOf(JSON.stringify({ ...question, ...wrong })), JSON.stringify(wrong)).toEqual({
      ...{ id: 1, reason: expect.stringMatching(/^no question: /) },
    })
  const live = view()
  add(live, windowsOf([1]))
  const rows = (by: string, of: string) => () => answerQuestion(live, { ask: 'rows', window: 1, by, of })
  expect(rows('qp', 'bytes')()).toMatchObject({ rows: { length: 2 } })
  expect(rows('constructor', 'bytes')).toThrow(MonitorError)
  expect(rows('qp', 'constructor')).toThrow(MonitorError)
})
