import { describe, expect, it } from 'vitest'
import {
  answerOf,
  burstsOf,
  curveOf,
  decodeWindow,
  encodeWindow,
  mergeWindow,
  query,
  type Window,
} from '../../src/monitor/index.ts'
import { WireOpcode } from '../../src/wire/index.ts'
import { A, B, Traffic } from './traffic.ts'

/** 200 packets over the window, and 300 of 1 KiB at once at 0.5 s to another QP. */
function bursty(): Traffic {
  const traffic = new Traffic({ memoryBytes: 2 ** 25 })
  for (let psn = 0; psn < 100; psn++) traffic.send(psn, { payload: 256 }, 5_000_000 - (psn === 0 ? 1e6 : 0))
  for (let psn = 0; psn < 300; psn++) traffic.send(psn, { payload: 1024, destQp: 0xcc }, 500)
  for (let psn = 100; psn < 190; psn++) traffic.send(psn, { payload: 256 }, 5_000_000)
  return traffic
}

describe('a microburst', () => {
  it('is found where it is, with its bytes, and nothing else is one', () => {
    const window = bursty().end()
    const found = burstsOf(decodeWindow(encodeWindow(window)))
    expect(found.map(({ fields }) => fields)).toContainEqual({ destination: B, destinationQp: 0xcc })
    expect(found.every(({ fields }) => fields.destination === B && fields.destinationQp !== 0xb)).toBe(true)
    const burst = found.find(({ fields }) => fields.destinationQp === 0xcc)!
    const sent = 300 * (1024 + 14 + 20 + 8 + 12 + 4)
    expect(burst.bytes.lower).toBeLessThanOrEqual(sent)
    expect(burst.bytes.upper).toBeGreaterThan(0.9 * sent)
    expect(Math.abs(burst.startMs - window.startMs - 499)).toBeLessThan(1)
    expect(burst.microseconds).toBeLessThan(400)
  })

  it('has a curve that is exact where there are few keys', () => {
    const { values } = curveOf(bursty().end(), { destination: B, destinationQp: 0xcc })!
    const total = values.reduce((all, one) => all + one, 0)
    expect(Math.round(total)).toBeGreaterThanOrEqual(300 * 1082)
  })

  it('is kept when windows of other times are merged', () => {
    const [one, two] = [bursty().end(), new Traffic({ run: 'other', memoryBytes: 2 ** 25 })]
    two.nowNs = 3e9
    two.send(0)
    mergeWindow(one, two.end())
    expect(one.isLong).toBe(true)
    expect(burstsOf(one).some(({ fields }) => fields.destinationQp === 0xcc)).toBe(true)
    expect(curveOf(one, { destination: B })).toBeUndefined()
  })
})

describe('rates', () => {
  it('leave out packets of a time before the window: they are no burst at its beginning', () => {
    const traffic = new Traffic({ memoryBytes: 2 ** 25 })
    const C = '10.0.0.3'
    traffic.send(0, {}, 1_000_100_000)
    traffic.nowNs = 950_000_000
    for (let psn = 0; psn < 200; psn++) traffic.send(psn, { destination: C, payload: 1024 }, 200_000)
    const window = traffic.end()
    expect(burstsOf(window)).toEqual([])
    expect(curveOf(window, { destination: C })!.lower[0]).toBe(0)
    expect(query(window, { by: 'destination', of: 'packets' }).rows[0]).toMatchObject({
      value: 200,
      fields: { destination: C },
    })
    expect(window.count('unplaced')).toBe(200)
  })

  it('have the bytes to a multicast group once, though its QP has the number of none', () => {
    const traffic = new Traffic()
    const deth = new Uint8Array(8)
    for (let psn = 0; psn < 4; psn++)
      traffic.packet({ opcode: WireOpcode.UdSendOnly, destQp: 0xffffff, psn, extension: deth, payload: 2048 })
    const window = traffic.end()
    const sent = window.count('roceBytes')
    const sumOf = (where: { destination: string; destinationQp?: number }): number =>
      curveOf(window, where)!.values.reduce((all, one) => all + one, 0)
    for (const where of [{ destination: B }, { destination: B, destinationQp: 0xffffff }])
      expect(Math.abs(sumOf(where) / sent - 1)).toBeLessThan(0.01)
  })
})

it('says what changed between windows, where the bounds are apart', () => {
  const traffic = new Traffic()
  for (let psn = 0; psn < 2000; psn++) {
    if (psn === 1000) traffic.nowNs = 1e9
    traffic.send(psn, { payload: 1024 })
    if (psn >= 1000) traffic.packet({ source: B, destination: A, destQp: 0xdd, psn, payload: 2048 })
  }
  traffic.observer.finish()
  const [before, now] = traffic.windows
  const { changes } = answerOf(now!, { before, keys: ['qp'] })
  expect(changes.map(({ fields, before: was }) => [fields, was])).toEqual([
    [{ destination: A, destinationQp: 0xdd }, 0],
  ])
  const all = 1000 * (2048 + 58)
  expect(changes[0]!.least).toBeGreaterThan(0.5 * all)
  expect(changes[0]!.least).toBeLessThanOrEqual(all)
})

it('compares a window only with the one before it, of its length', () => {
  const windowOf = (at: number, run: string): Window => {
    const traffic = new Traffic({ run })
    traffic.nowNs = at * 1e9
    for (let psn = 0; psn < 1000; psn++) traffic.send(psn, { payload: 1024 })
    return traffic.end()
  }
  const long = windowOf(1, 'b')
  mergeWindow(long, windowOf(2, 'c'))
  const changes = (now: Window, before: Window): number => answerOf(now, { before, keys: ['qp'] }).changes.length
  // Twice the bytes in twice the time, and the same after a pause.
  expect(changes(long, windowOf(0, 'a'))).toBe(0)
  const other = new Traffic({ run: 'd' })
  other.nowNs = 3e9
  other.send(0)
  const quiet = other.end()
  expect(changes(quiet, windowOf(2, 'a'))).toBe(1)
  expect(changes(quiet, windowOf(1, 'a'))).toBe(0)
  // One that is late is older than the newest.
  expect(changes(windowOf(1, 'a'), quiet)).toBe(0)
  quiet.late = true
  expect(changes(quiet, windowOf(2, 'a'))).toBe(0)
})
