import { describe, expect, it } from 'vitest'
import { answerOf, burstsOf, curveOf, decodeWindow, encodeWindow, mergeWindow } from '../../src/monitor/index.ts'
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
