import { describe, expect, it } from 'vitest'
import {
  type AnomalyKind,
  anomaliesOf,
  answerOf,
  decodeWindow,
  encodeWindow,
  mergeWindow,
  query,
  type Window,
} from '../../src/monitor/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { roceFrame } from '../trace/packets.ts'
import { A, B, Traffic } from './traffic.ts'

const kinds = (window: Window): AnomalyKind[] => anomaliesOf(window).map(({ kind }) => kind)
const nakSequence = 0x60
const rnr = 0x20

describe('events', () => {
  it('are all found where they are planted, and nowhere else', () => {
    const traffic = new Traffic()
    traffic.send(0)
    traffic.ack(0)
    // PSN 1 is lost; 2 is rejected, and all is sent again.
    traffic.send(2)
    traffic.ack(1, nakSequence)
    traffic.send(1)
    traffic.send(2)
    traffic.ack(2)
    // The acknowledgement of 3 is lost: the requester waits for its timer.
    traffic.send(3)
    traffic.send(3, {}, 4_000_000)
    traffic.ack(3)
    // No receive is posted.
    traffic.send(4)
    traffic.ack(4, rnr)
    traffic.send(4, {}, 1_000_000)
    traffic.ack(4)
    traffic.send(5, { tos: 3 })
    traffic.packet({ opcode: WireOpcode.Cnp, source: B, destination: A, destQp: 0xa, extension: new Uint8Array(16) })
    traffic.ack(5)
    const window = traffic.end()
    const {
      retransmission,
      duplicate,
      missing,
      late,
      timeout,
      nakSequence: naks,
      rnr: notReady,
      marked,
      cnp,
    } = window.totals()
    expect({ retransmission, duplicate, missing, late, timeout, naks, notReady, marked, cnp }).toEqual({
      ...{ retransmission: 3, duplicate: 0, missing: 1, late: 1, timeout: 1, naks: 1, notReady: 1, marked: 1, cnp: 1 },
    })
    const { rows } = query(window, { by: 'flow', of: 'rnr' })
    expect(rows.map(({ name, value }) => [name, value])).toEqual([[`${B} QP 0xb → ${A} QP 0xa RC`, 1]])
    expect(kinds(window)).toEqual(['slow-receiver', 'timeouts'])
  })

  it('are nothing in sound traffic', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 500; psn++) {
      traffic.send(psn)
      traffic.ack(psn)
    }
    const { events, anomalies } = answerOf(traffic.end())
    expect([events, anomalies]).toEqual([[], []])
  })

  it('do not take a packet that the network copied for a timeout', () => {
    const traffic = new Traffic()
    traffic.send(0)
    traffic.ack(0)
    traffic.send(1)
    traffic.send(1)
    traffic.ack(1)
    const { retransmission, timeout } = traffic.end().totals()
    expect([retransmission, timeout]).toEqual([1, 0])
  })

  it('are nothing in sound traffic of which a mirror has each packet twice', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 100; psn++)
      for (const identification of [psn, psn]) traffic.send(psn, { identification }, 1000)
    for (let psn = 0; psn < 100; psn++)
      for (const identification of [psn, psn]) traffic.ack(psn, 0x1f, { identification }, 1000)
    const window = traffic.end()
    const { packets, roce, copies, messages, retransmission, repeat } = window.totals()
    expect({ packets, roce, copies, messages, retransmission, repeat }).toEqual({
      ...{ packets: 400, roce: 200, copies: 200, messages: 100, retransmission: 0, repeat: 0 },
    })
    expect(answerOf(window).anomalies).toEqual([])
    expect(query(window, { by: 'flow', of: 'packets' }).total).toBe(200)
  })
})

describe('anomalies', () => {
  const from = (host: number): string => `10.0.1.${host}`

  it('say incast onto a host, with what it causes', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 20; psn++)
      for (let host = 1; host <= 8; host++)
        traffic.send(psn, { source: from(host), destQp: 0x100 + host, payload: 1024, tos: psn > 10 ? 3 : 2 })
    traffic.packet({
      opcode: WireOpcode.Cnp,
      source: B,
      destination: from(1),
      destQp: 1,
      extension: new Uint8Array(16),
    })
    const incast = anomaliesOf(traffic.end()).find(({ kind }) => kind === 'incast')!
    expect(incast.fields).toEqual({ destination: B })
    expect(incast.text).toMatch(
      /^incast onto 10\.0\.0\.2: 8 hosts .*72 packets to it were marked \(ECN\), it sent 1 CNP$/,
    )
  })

  it('say of counts by key that they are estimates, and never more than there were', () => {
    const traffic = new Traffic({ memoryBytes: 2 ** 20, seed: 6 })
    for (let psn = 0; psn < 10; psn++)
      for (let flow = 0; flow < 40; flow++)
        traffic.send(psn * 2, { source: from(flow % 8), destQp: 0x100 + flow, payload: 1024, tos: 3 })
    const window = traffic.end()
    // With 360 PSNs that are missing, there are more than that by the sketch.
    const { rows } = query(window, { by: 'destination', of: 'marked' })
    expect([rows[0]!.value > 400, window.count('marked')]).toEqual([true, 400])
    const { text } = anomaliesOf(window).find(({ kind }) => kind === 'incast')!
    expect(text).toContain('; about 400 packets to it were marked (ECN), about 330 packets')
  })

  it('do not say incast of one sender among small ones', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 200; psn++) traffic.send(psn, { payload: 1024, tos: 3 })
    for (let host = 1; host <= 8; host++) traffic.send(0, { source: from(host), destQp: 0x100 + host })
    expect(kinds(traffic.end())).toEqual(['marks-without-cnp'])
  })

  it('say that a hop drops without marking', () => {
    const traffic = new Traffic()
    for (let psn = 0; psn < 200; psn += 4) traffic.send(psn)
    const [loss] = anomaliesOf(traffic.end())
    expect(loss).toMatchObject({ kind: 'unmarked-loss', fields: { source: A, destination: B } })
    expect(loss!.text).toContain('147 packets are missing (74.6 %)')
  })

  it('say what damages packets, and what is refused', () => {
    const traffic = new Traffic()
    traffic.send(0)
    traffic.ack(0)
    const frame = roceFrame({
      opcode: WireOpcode.RcSendOnly,
      source: A,
      destination: B,
      destQp: 0xb,
      psn: 1,
      payload: 8,
    })
    frame[60]! ^= 1
    traffic.frame(frame)
    traffic.send(1)
    traffic.ack(1, 0x62)
    const window = traffic.end()
    expect(kinds(window)).toEqual(['access-errors', 'bad-icrc'])
    expect(query(window, { by: 'hosts', of: 'icrc' }).rows[0]!.fields).toEqual({ source: A, destination: B })
  })

  it('say a PFC storm', () => {
    const traffic = new Traffic()
    const pause = new Uint8Array(64)
    pause.set([1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01, 0, 8])
    pause.fill(0xff, 24, 26)
    for (let i = 0; i < 2000; i++) traffic.frame(pause, 300_000)
    const window = traffic.end()
    expect(window.count('pauseFrames')).toBe(2000)
    const { pauses, anomalies } = answerOf(window)
    expect(pauses).toEqual([{ priority: 3, frames: 2000, quanta: 2000 * 65_535 }])
    expect(anomalies.map(({ kind }) => kind)).toEqual(['pfc-storm'])
  })

  it('say no PFC storm where many ports are paused for a little each, and which one is where one is', () => {
    const pausedBy = (run: string, port: number, frames: number): Window => {
      const traffic = new Traffic({ run, agent: run })
      const pause = new Uint8Array(64)
      pause.set([1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, port, 0x88, 0x08, 0x01, 0x01, 0, 8])
      pause.fill(0xff, 24, 26)
      for (let i = 0; i < frames; i++) traffic.frame(pause, 1000)
      return traffic.end()
    }
    const window = pausedBy('a', 1, 900)
    for (const [run, port] of [
      ['b', 1],
      ['c', 2],
    ] as const)
      mergeWindow(window, pausedBy(run, port, 900))
    expect(answerOf(window).pauses).toEqual([{ priority: 3, frames: 2700, quanta: 2700 * 65_535 }])
    expect(anomaliesOf(window)).toEqual([])
    mergeWindow(window, pausedBy('d', 0x2a, 2000))
    const again = decodeWindow(encodeWindow(window))
    expect(anomaliesOf(again).map(({ kind }) => kind)).toEqual(['pfc-storm'])
    expect(anomaliesOf(again)[0]!.text).toContain('2000 frames of 02:00:00:00:00:2a asked to pause priority 3 for 67 %')
  })

  it('say pollution by very many flows, and still know the large one', () => {
    const traffic = new Traffic({ memoryBytes: 2 ** 20 })
    const small = roceFrame({
      opcode: WireOpcode.UcSendOnly,
      source: A,
      destination: B,
      destQp: 1,
      psn: 0,
      payload: 8,
      tos: 2,
    })
    const large = roceFrame({
      opcode: WireOpcode.UcSendOnly,
      source: B,
      destination: A,
      destQp: 7,
      psn: 0,
      payload: 4096,
      tos: 2,
    })
    const { observer } = traffic
    for (let i = 0; i < 14_000; i++) {
      // Without the ICRC, which the capture cut off.
      const frame = small.slice(0, small.length - 4)
      frame.set([i >> 16, i >> 8, i], 14 + 20 + 8 + 5)
      traffic.frame(frame, 10, small.length)
      if (i % 20 === 0) traffic.frame(large.subarray(0, 100), 10, large.length)
    }
    observer.finish()
    const window = traffic.windows[0]!
    expect(kinds(window)).toContain('pollution')
    const [first] = query(window, { by: 'qp', of: 'bytes' }).rows
    expect(first!.fields).toEqual({ destination: A, destinationQp: 7 })
    expect(window.count('forgotten')).toBeGreaterThan(7000)
  })
})
