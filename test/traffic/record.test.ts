/** What is recorded of a run: sizes and gaps beside what was asked for, figures, and records that merge as if they were one. */
import { describe, expect, it } from 'vitest'
import { LogHistogram } from '../../src/stats/index.ts'
import {
  Cdf,
  curveAt,
  gapsAsked,
  mergeRecords,
  mostBins,
  Schedule,
  sizesAsked,
  summaryOf,
  type TrafficConfig,
  type TrafficRecord,
} from '../../src/traffic/index.ts'
import { readTraffic } from '../../src/traffic/load/index.ts'
import { DrawnValues } from '../../src/traffic/run/drawn.ts'
import { Series } from '../../src/traffic/run/series.ts'
import { Parts, recordOf } from './records.ts'

const config = (yaml: string, overrides = {}): TrafficConfig =>
  readTraffic(`servers: [a, b]\n${yaml}`, 'test.yaml', { count: 20_000, seed: 11, ...overrides })

function drawnBy(of: TrafficConfig): DrawnValues {
  const drawn = new DrawnValues(of)
  const schedule = new Schedule(of)
  while (schedule.next()) drawn.add(schedule.phase, schedule.group, schedule.verbIndex, schedule.size, schedule.timeNs)
  return drawn
}

const nothing = { cells: [], series: new Series().toPlain(), failures: {}, unreachable: {} }
const counts = { clients: [0], requests: 0, bytes: 0, askedNs: 0, doneNs: 0, latestNs: 0 }

describe('what was generated has the distribution that was asked for', () => {
  it.each([
    ['a preset', 'size: WebSearch\nrequests: 1k/s'],
    ['one that goes on in logarithms', 'size: FbHdp\nrequests: 1k/s'],
    ['weights, among them nothing', 'size: { 0: 10, 3: 10, 64: 50, 1MiB: 30 }\nrequests: 1k/s\narrival: fixed'],
    ['fixed sizes at any rate', 'size: 8\nrequests: 3333333\narrival: fixed'],
    ['fan-outs that share a size', 'size: WebSearch\nrequests: 1k/s\nfanout: { 1: 60, 3: 20, 8: 20 }'],
    ['fan-outs that do not', 'size: WebSearch\nrequests: 1k/s\nfanout: { 1: 60, 8: 40 }\nfanoutSize: each'],
    [
      'verbs with sizes of their own',
      'size: WebSearch\nrequests: 1k/s\nverbs: { send: 50, write: { weight: 30, size: 64 }, fetch_add: 20 }',
    ],
    [
      'more sizes than a curve has points, one of them often',
      `size: { ${Array.from({ length: 600 }, (_, i) => `${100 * (i + 1)}: ${i === 299 ? 400 : 1}`).join()} }\nrequests: 1k/s`,
    ],
    ['uniform gaps', 'size: 8\nrequests: 10k/s\narrival: uniform'],
    ['log-normal gaps', 'size: 8\nrequests: 1M/s\narrival: { type: lognormal, sigma: 1.5 }'],
    ['bursts', 'size: 8\nrequests: 100k/s\narrival: { type: onoff, on: 1ms, off: 4ms }'],
    ['phases', 'size: 8\nphases:\n- { duration: 100ms, requests: 50k/s }\n- { size: WebSearch, requests: 1k/s }'],
  ])('%s', (_, yaml) => {
    const { generated } = summaryOf({ ...nothing, ...counts, configuration: {}, ...drawnBy(config(yaml)).toPlain() })
    for (const values of [generated.sizes!, generated.gaps!]) {
      expect(values.ks).toBeLessThan(values.limit!)
      expect(values.asked!.at(-1)![1]).toBeCloseTo(1, 6)
    }
  })

  it('and is found to have another one if it has', () => {
    const other = drawnBy(config('size: DataMining\nrequests: 2k/s')).toPlain()
    const asked = config('size: WebSearch\nrequests: 1k/s')
    const [phase] = asked.phases
    const replaced = {
      sizes: other.sizes.map((values) => ({ ...values, asked: sizesAsked(phase!, 'send') })),
      gaps: other.gaps.map((values) => ({ ...values, asked: gapsAsked(phase!, asked.bandwidthBps) })),
    }
    const { generated } = summaryOf({ ...nothing, ...counts, configuration: {}, ...replaced })
    for (const values of [generated.sizes!, generated.gaps!]) expect(values.ks).toBeGreaterThan(10 * values.limit!)
  })

  it('is not compared where nothing is asked for', () => {
    const closed = drawnBy(config('size: 8\narrival: { type: closed, depth: 4 }')).toPlain()
    expect(closed.gaps).toEqual([])
    const ring = 'collective: { name: ring-all-reduce, size: 1MiB, iterations: 3 }'
    const collective = drawnBy(config(ring, { count: undefined })).toPlain()
    expect(collective.sizes).toHaveLength(1)
    const summary = summaryOf({ ...nothing, ...counts, configuration: {}, ...collective })
    expect(summary.generated.gaps).toBeNull()
    expect(summary.generated.sizes).toMatchObject({ asked: null, ks: null, limit: null, generated: { total: 6 } })
  })
})

describe('a curve', () => {
  it('is 0 before its points and 1 behind them, and straight between', () => {
    const points = [
      [10, 0.2],
      [20, 0.4],
      [30, 1],
    ] as const
    expect([9, 10, 15, 20, 25, 30, 31].map((x) => curveAt(points, x))).toEqual([
      0,
      0.2,
      expect.closeTo(0.3),
      0.4,
      expect.closeTo(0.7),
      1,
      1,
    ])
  })

  it('has as many points as it needs, however many rows the distribution has', () => {
    const rows = Array.from({ length: 50_000 }, (_, i): [number, number] => [i + 1, (i + 1) / 50_000])
    const sizes = [{ value: new Cdf('rows', rows), weight: 1 }]
    const asked = sizesAsked({ ...config('size: 8').phases[0]!, sizes }, 'send')!
    expect(asked.length).toBeLessThan(2000)
    for (const x of [1, 77, 4999, 31_000]) expect(curveAt(asked, x)).toBeCloseTo(x / 50_000, 4)
  })
})

describe('a series', () => {
  it('has longer intervals when there would be too many, and keeps what happened', () => {
    const series = new Series()
    const ends = [0, 1, 150, 3000, 10_000, 86_400]
    for (const second of ends) {
      series.isDue(second * 1e9, 10)
      series.isDone(second * 1e9, 5)
    }
    const { binSeconds, due, dueBytes, done, doneBytes } = series.toPlain()
    expect(due.length).toBeLessThanOrEqual(mostBins)
    expect(due).toHaveLength(Math.floor(86_400 / binSeconds) + 1)
    for (const second of ends) expect(due[Math.floor(second / binSeconds)]).toBeGreaterThan(0)
    const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
    expect([due, dueBytes, done, doneBytes].map(sum)).toEqual([6, 60, 6, 30])
  })
})

describe('merged records', () => {
  const yaml = 'size: WebSearch\nrequests: 5k/s\nverbs: { send: 50, write: 30, read: 20 }\ntypes: { RC: 80, UC: 20 }'
  const clients = [0, 1, 2].map((client) => config(yaml, { client, count: 3000 }))
  const together = new Parts(clients[0]!)
  const records = clients.map((of) => recordOf(of, together))
  const named = (some: readonly TrafficRecord[]) => some.map((record, i) => ({ name: `r${i}`, record }))
  const merged = mergeRecords(named(records))
  const one = together.record(clients[0]!)
  const byKind = (record: TrafficRecord) =>
    new Map(record.cells.map((cell) => [[cell.server, cell.type, cell.verb, cell.sizeClass].join(), cell]))

  it('hold what one has that saw all of it', () => {
    expect(merged.clients).toEqual([0, 1, 2])
    expect([merged.requests, merged.bytes]).toEqual([one.requests, one.bytes])
    const expected = byKind(one)
    expect(byKind(merged).size).toBe(expected.size)
    for (const [kind, cell] of byKind(merged)) {
      const close = (of: typeof cell.fct) => ({ ...of, mean: expect.closeTo(of.mean, 3), squares: expect.anything() })
      const { fct, slowdown, ...rest } = expected.get(kind)!
      expect(cell).toEqual({ ...rest, fct: close(fct), slowdown: close(slowdown) })
    }
    expect(merged.series).toEqual(one.series)
    for (const [i, { phase, verb, draws, generated }] of one.sizes.entries()) {
      const values = merged.sizes[i]!
      expect([values.phase, values.verb, values.draws]).toEqual([phase, verb, draws])
      expect(values.generated.buckets).toEqual(generated.buckets)
    }
    // Gaps are between the requests of one client.
    expect(merged.gaps[0]!.draws).toBe(records.reduce((sum, { gaps }) => sum + gaps[0]!.draws, 0))
  })

  it('have the percentiles of all requests, in whatever order they merge', () => {
    const percentiles = (record: TrafficRecord) => {
      const { all, sizes, verbs, types, servers } = summaryOf(record)
      return [all, sizes, verbs, types, servers].map((figures) => JSON.parse(JSON.stringify(figures, withoutMeans)))
    }
    const expected = percentiles(one)
    expect(percentiles(merged)).toEqual(expected)
    const other = mergeRecords(named([records[2]!, mergeRecords(named([records[1]!, records[0]!]))]))
    expect(percentiles(other)).toEqual(expected)
  })

  it('of series with other intervals have the longer ones', () => {
    const { series } = records[0]!
    const coarse = new Series()
    coarse.isDue(1000e9, 7)
    const record = { ...records[1]!, series: coarse.toPlain() }
    const { series: both } = mergeRecords(named([records[0]!, record]))
    expect(both.binSeconds).toBe(record.series.binSeconds)
    const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
    expect([sum(both.due), sum(both.dueBytes)]).toEqual([sum(series.due) + 1, sum(series.dueBytes) + 7])
    expect(both.due[0]).toBe(sum(series.due.slice(0, Math.round(both.binSeconds / series.binSeconds))))
  })

  it('say why each server was lost', () => {
    const lost = [{ 'a:1': 'gone' }, { 'a:1': 'no answer', 'b:1': 'gone' }, { 'a:1': 'gone' }]
    const { failures } = mergeRecords(
      named(records.slice(0, 2).map((record, i) => ({ ...record, failures: lost[i]! }))),
    )
    expect(failures).toEqual({ 'a:1': 'gone; no answer', 'b:1': 'gone' })
  })

  it.each([
    [[], /there are no results to merge/],
    [
      [records[0]!, records[0]!],
      /^r0 and r1 are both of client 0: each client needs a number of its own \(--client\)$/,
    ],
    [
      [records[0]!, recordOf(config(yaml, { client: 1, count: 3001 }))],
      /^r0 and r1 are of different configurations: count is 3000 and 3001$/,
    ],
    [
      [records[0]!, recordOf(config(yaml.replace('80', '70'), { client: 1, count: 3000 }))],
      /phases\[0\]\.types\[0\]\.weight is 80 and 70/,
    ],
    [
      [records[0]!, recordOf(config(`${yaml}\nload: 0.5`.replace('requests: 5k/s\n', ''), { client: 1, count: 3000 }))],
      /phases\[0\]\.load is null and 0\.5/,
    ],
  ])('are refused where they do not belong together (%#)', (some, message) => {
    expect(() => mergeRecords(named(some))).toThrow(message)
    expect(() => mergeRecords(named(some))).toThrow(expect.objectContaining({ code: 'ERR_TRAFFIC_MERGE' }))
  })

  it('of a collective are of one traffic, though each client has a rank of its own', () => {
    const ring = 'collective: { name: ring-all-reduce, size: 1MB }\nservers: [a, b]'
    const of = (client: number): TrafficRecord =>
      recordOf(readTraffic(ring, 'test.yaml', { count: 20, seed: 11, client }))
    expect(mergeRecords(named([of(0), of(1)])).clients).toEqual([0, 1])
  })

  it('are plain data', () => {
    expect(JSON.parse(JSON.stringify(merged))).toEqual(merged)
    expect(() => LogHistogram.fromPlain(merged.cells[0]!.fct)).not.toThrow()
  })
})

function withoutMeans(key: string, value: unknown): unknown {
  return key === 'mean' ? undefined : value
}
