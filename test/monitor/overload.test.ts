import { describe, expect, it, vi } from 'vitest'
import type { LiveCapture } from '../../src/collect/index.ts'
import { watchLive } from '../../src/monitor/host/index.ts'
import {
  Alerts,
  answerOf,
  type Key,
  metricOf,
  Observer,
  parseAlert,
  query,
  type Window,
} from '../../src/monitor/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { aeth, framesTogether, reth, roceFrame } from '../trace/packets.ts'
import { A, B, seconds, Traffic } from './traffic.ts'

/** SENDs, WRITEs of two memory regions, marks and CNPs, from A to B and back. */
function exchange(traffic: Traffic, from: number, to: number): void {
  for (let psn = from; psn < to; psn++) {
    traffic.send(psn, { tos: psn % 4 === 0 ? 3 : 2 })
    traffic.ack(psn)
    if (psn % 4 === 0) traffic.ack(psn, 0, { opcode: WireOpcode.Cnp, extension: new Uint8Array(16) })
    const extension = reth(0x1000, 0x70 + (psn & 1), 64)
    traffic.send(psn, { opcode: WireOpcode.RcWriteOnly, destQp: 0xc, payload: 64, extension })
    traffic.ack(psn, 0x1f, { destQp: 0xd })
  }
}

type LiveHandler = Parameters<LiveCapture['run']>[0]
const keys: Key[] = ['hosts', 'qp', 'connection', 'opcode', 'rkey', 'dscp', 'pkey']
const sums = (window: Window, key: Key, of: 'bytes' | 'packets' | 'cnp' | 'marked'): object =>
  query(window, { by: key, of, top: 100 }).rows.map(({ name, value }) => [name, value])

describe('overload', () => {
  it('counts bytes, packets and marks of each key as if it followed them', () => {
    const [followed, counted] = [new Traffic(), new Traffic()]
    for (const traffic of [followed, counted]) {
      exchange(traffic, 0, 10)
      traffic.overloaded = traffic === counted
      exchange(traffic, 10, 60)
    }
    const [all, some] = [followed.end(), counted.end()]
    for (const key of keys)
      for (const of of ['bytes', 'packets', 'cnp', 'marked'] as const)
        expect([key, of, sums(some, key, of)]).toEqual([key, of, sums(all, key, of)])
    const { roce, wireBytes, payloadBytes, ecnCapable, cnp, marked } = all.totals()
    expect(some.totals()).toMatchObject({ roce, wireBytes, payloadBytes, ecnCapable, cnp, marked })
    expect([all.count('fastPath'), some.count('fastPath')]).toEqual([0, 50 * 4 + 12])
    expect(some.sketches.flows.cardinality()).toEqual(all.sketches.flows.cardinality())
  })

  it('counts ACKs one by one that were captured as one', () => {
    const traffic = new Traffic()
    traffic.overloaded = true
    const ack = { opcode: WireOpcode.RcAck, source: B, destination: A, destQp: 0xa, extension: aeth(0x1f, 1) }
    traffic.frame(framesTogether(Array.from({ length: 10 }, (_, psn) => ({ ...ack, psn, identification: 0 }))))
    const window = traffic.end()
    expect([window.count('fastPath'), window.count('malformed')]).toEqual([10, 0])
  })

  it('takes nothing for a loss or a latency that it did not look at, and says how much that was', () => {
    const traffic = new Traffic()
    exchange(traffic, 0, 10)
    traffic.overloaded = true
    exchange(traffic, 10, 60)
    traffic.overloaded = false
    exchange(traffic, 60, 70)
    const window = traffic.end()
    expect(window.totals()).toMatchObject({ missing: 0, late: 0, retransmission: 0, restart: 0, timeout: 0, repeat: 0 })
    expect(window.count('messages')).toBe(2 * 20)
    const { latency, anomalies } = answerOf(window)
    expect(latency.ack!.count).toBe(2 * 20)
    expect(latency.ack!.max.value).toBeLessThan(1100)
    const { text } = anomalies.find(({ kind }) => kind === 'overload')!
    expect(text).toBe(
      'the monitor could not follow everything: 212 packets were only counted, without losses, messages and latencies',
    )
    // What the kernel drops instead looks like losses.
    const dropping = new Traffic()
    exchange(dropping, 0, 10)
    exchange(dropping, 60, 70)
    expect(dropping.end().count('missing')).toBe(2 * 50)
  })

  it('leaves flows paired whose responses are followed before their requests', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 10; psn++) {
      traffic.send(psn)
      traffic.ack(psn)
    }
    traffic.overloaded = true
    traffic.read(10, 65_536)
    for (const psn of [10, 11]) traffic.response(psn, 4096, psn === 10 ? 'First' : 'Middle')
    traffic.overloaded = false
    for (let psn = 12; psn <= 25; psn++) traffic.response(psn, 4096, psn === 25 ? 'Last' : 'Middle')
    const window = traffic.end()
    const flows = query(window, { by: 'flow', of: 'packets' }).rows.map(({ name }) => name)
    expect(flows.filter((name) => name.includes('?'))).toEqual([])
    expect(flows).toHaveLength(2)
  })

  it('takes what is sent again afterwards for that, and not for late', () => {
    const traffic = new Traffic()
    exchange(traffic, 0, 10)
    traffic.overloaded = true
    for (let psn = 10; psn < 60; psn++) traffic.send(psn)
    traffic.overloaded = false
    for (const psn of [60, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60]) traffic.send(psn)
    expect(traffic.end().totals()).toMatchObject({ missing: 0, late: 0, retransmission: 11, restart: 0 })
    // Another connection of the same queue pair begins as any does: what is overtaken is late.
    const anew = new Traffic()
    for (const psn of [0, 1]) anew.send(psn)
    anew.overloaded = true
    anew.send(2)
    anew.overloaded = false
    for (const psn of [3, 200_000, 199_999]) anew.send(psn)
    expect(anew.end().totals()).toMatchObject({ missing: 1, late: 1, retransmission: 0, restart: 1 })
  })

  it('loses no share of what is followed: of losses, damage and messages', () => {
    const traffic = new Traffic()
    const spec = { opcode: WireOpcode.RcSendOnly, source: A, destination: B, destQp: 0xb, payload: 8 }
    const counted = roceFrame(spec)
    for (let psn = 0; psn < 500; psn++) {
      if (psn % 50 === 25) {
        const damaged = roceFrame({ ...spec, psn, identification: psn })
        damaged[damaged.length - 1]! ^= 1
        traffic.frame(damaged)
      } else traffic.send(psn)
    }
    traffic.overloaded = true
    for (let n = 0; n < 4500; n++) traffic.frame(counted, 110_000)
    const window = traffic.end()
    const answer = answerOf(window)
    expect(window.count('fastPath')).toBe(4500)
    expect(metricOf(answer, 'lossPercent')).toBeCloseTo(2, 1)
    const text = (kind: string): string => answer.anomalies.find((one) => one.kind === kind)!.text
    expect(text('unmarked-loss')).toContain('10 packets are missing (2.0 %)')
    expect([text('bad-icrc'), answer.anomalies.find(({ kind }) => kind === 'bad-icrc')!.severity]).toEqual([
      expect.stringContaining('10 packets have a wrong ICRC (2.0 % of those that were followed)'),
      'critical',
    ])
  })

  it('leaves open what was not followed: the bounds say so, and alerts stay as they are', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 100; psn++) traffic.send(psn)
    traffic.overloaded = true
    for (let psn = 100; psn < 400; psn++) traffic.send(psn)
    const window = traffic.end()
    const [row] = query(window, { by: 'qp', of: 'messages' }).rows
    expect([row!.value, row!.lower <= 100, row!.upper >= 400]).toEqual([100, true, true])
    expect(query(window, { by: 'qp', of: 'retransmission' })).toMatchObject({ rows: [], rest: 300 })
    // What is counted without being followed is as certain as ever.
    for (const of of ['packets', 'marked'] as const) expect(query(window, { by: 'qp', of }).rest).toBeLessThan(100)

    const seconds = new Traffic()
    for (const second of [0, 1, 2]) {
      seconds.nowNs = second * 1e9
      seconds.overloaded = second === 1
      if (second === 0) seconds.ack(0, 0x20)
      for (let psn = 0; psn < 10; psn++) seconds.send(second * 10 + psn * (second === 0 ? 2 : 1))
    }
    seconds.observer.finish()
    const rules = [
      'missing > 5',
      'lossPercent > 5',
      'messagesPerSecond < 5',
      'packetsPerSecond > 5',
      'anomaly.slow-receiver > 0',
    ]
    const alerts = new Alerts(rules.map(parseAlert))
    const said = seconds.windows.map((one) => alerts.update(answerOf(one)).map(({ state, metric }) => [state, metric]))
    const all = (state: string, ...metrics: string[]): string[][] => metrics.map((metric) => [state, metric])
    expect(said).toEqual([
      all('firing', 'missing', 'lossPercent', 'packetsPerSecond', 'anomaly.slow-receiver'),
      [],
      all('resolved', 'missing', 'lossPercent', 'anomaly.slow-receiver'),
    ])
  })

  it('a message that is not seen whole is neither among the largest nor among the slowest', () => {
    const traffic = new Traffic()
    traffic.send(0, { opcode: WireOpcode.RcSendFirst, payload: 1024 })
    traffic.overloaded = true
    traffic.send(1, { opcode: WireOpcode.RcSendMiddle, payload: 1024 }, 1e6)
    traffic.overloaded = false
    traffic.send(2, { opcode: WireOpcode.RcSendLast, payload: 8 })
    traffic.send(3)
    const { messages, totals } = answerOf(traffic.end())
    expect([totals.messages, messages.slowest.map(({ bytes, ns }) => [bytes, ns])]).toEqual([2, [[8, 0]]])
  })

  it('begins when half of a ring waits, and ends when an eighth is left', async () => {
    const windows: Window[] = []
    const observer = new Observer({
      ...{ config: new Traffic().config, agent: 'a', run: 'r' },
      onWindow: (window) => windows.push(window),
    })
    const frame = roceFrame({ opcode: WireOpcode.UcSendOnly, source: A, destination: B, payload: 8 })
    const fills = [0, 0.5, 0.51, 0.5, 0.2, 0.13, 0.12, 0.4, 1, 0]
    const counted: boolean[] = []
    let turn = 0
    const live = {
      fill: 0,
      statistics: () => [],
      close: () => {},
      async run(onPacket: LiveHandler, _signal: AbortSignal, onTurn: () => boolean): Promise<void> {
        for (const fill of fills) {
          live.fill = fill
          onTurn()
          const ring = {
            offset: 0,
            length: frame.length,
            originalLength: frame.length,
            seconds,
            nanoseconds: 4000 * turn++,
          }
          onPacket(frame, ring as Parameters<LiveHandler>[1], 0)
        }
      },
    }
    const spied = {
      packet: (...args: Parameters<Observer['packet']>) => {
        counted.push(false)
        observer.packet(...args)
      },
      count: (...args: Parameters<Observer['count']>) => {
        counted.push(true)
        observer.count(...args)
      },
      add: () => {},
      tick: () => {},
      finish: () => observer.finish(),
    }
    await watchLive(live, () => spied as unknown as Observer, {
      ...{ signal: new AbortController().signal, durationMs: Number.POSITIVE_INFINITY },
    })
    expect(counted).toEqual(fills.map((_, i) => (i >= 2 && i <= 5) || i === 8))
    expect(windows.map((window) => [window.count('roce'), window.count('fastPath')])).toEqual([[10, 5]])
  })

  it('the clock ends no window whose packets still wait in the ring', async () => {
    const windows: Window[] = []
    const observer = new Observer({
      ...{ config: new Traffic().config, agent: 'a', run: 'r' },
      onWindow: (window) => windows.push(window),
    })
    const frame = roceFrame({ opcode: WireOpcode.UcSendOnly, source: A, destination: B, payload: 8 })
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    try {
      const live = {
        fill: 0,
        statistics: () => [],
        close: () => {},
        async run(onPacket: LiveHandler, _signal: AbortSignal, onTurn: () => boolean): Promise<void> {
          const turn = (atMs: number, fill: number, packetsMs: number[] = []): void => {
            vi.setSystemTime(seconds * 1000 + atMs)
            live.fill = fill
            onTurn()
            for (const ms of packetsMs) {
              const time = { seconds: seconds + Math.floor(ms / 1000), nanoseconds: (ms % 1000) * 1e6 }
              const ring = { offset: 0, length: frame.length, originalLength: frame.length, ...time }
              onPacket(frame, ring as Parameters<LiveHandler>[1], 0)
            }
          }
          turn(10_500, 0.02, [10_450])
          // This process stands still for three seconds.
          turn(13_500, 0.3, [10_600, 11_500])
          turn(13_510, 0.2, [12_500, 13_400])
          turn(13_520, 0)
          expect(windows.map(({ index }) => index - seconds)).toEqual([10, 11, 12])
          // The machine does, and the kernel has not handed over what came before.
          turn(16_500, 0)
          turn(16_550, 0.02, [13_450])
          turn(16_600, 0)
          turn(16_650, 0)
        },
      }
      await watchLive(live, () => observer, {
        ...{ signal: new AbortController().signal, durationMs: Number.POSITIVE_INFINITY },
      })
    } finally {
      vi.useRealTimers()
    }
    const found = windows.map((window) => [window.index - seconds, window.count('roce')])
    expect(found).toEqual([...[10, 11, 12].map((index) => [index, index === 10 ? 2 : 1]), [13, 2], [16, 0]])
    const sum = (name: 'clockBack' | 'unplaced'): number => windows.reduce((all, window) => all + window.count(name), 0)
    expect([sum('clockBack'), sum('unplaced')]).toEqual([0, 0])
  })
})
