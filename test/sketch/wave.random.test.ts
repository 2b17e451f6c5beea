import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, type RateCurve, SketchError, sketchFromBytes, type WaveSketch } from '../../src/sketch/index.ts'
import { holds, slow } from '../property.ts'
import { seeded } from '../random.ts'
import { textOf } from './traces.ts'

const windows = 64
const windowNs = 1000
const make = (own: object = {}) =>
  createSketch('wave', { bytes: 20_000, keyBytes: 2, seed: 1, windows, windowNs, coefficients: 8, startNs: 0, ...own })
const keyOf = (id: number) => Uint8Array.of(id & 255, id >> 8)

interface Event {
  id: number
  window: number
  amount: number
}
const events = (keys: number): fc.Arbitrary<Event[]> =>
  fc.array(fc.record({ id: fc.nat(keys - 1), window: fc.nat(windows - 1), amount: fc.nat(5000) }), { maxLength: 200 })
const inTime = (list: readonly Event[]) => list.toSorted((a, b) => a.window - b.window)

function fill(sketch: WaveSketch, list: readonly Event[]): WaveSketch {
  for (const { id, window, amount } of list) sketch.update(keyOf(id), amount, window * windowNs + 7)
  return sketch
}

function truth(list: readonly Event[], id: number): number[] {
  const curve = new Array<number>(windows).fill(0)
  for (const event of list) if (event.id === id) curve[event.window]! += event.amount
  return curve
}

/** Windows whose truth is outside of the bounds. */
function outside(curve: RateCurve, exact: readonly number[]): number {
  return exact.filter((amount, t) => amount < curve.lower[t]! || amount > curve.upper[t]!).length
}

describe('WaveSketch', () => {
  it('is exact for one key while all details are kept', () => {
    holds(
      fc.property(events(1), (list) => {
        const curve = fill(make({ coefficients: windows }), inTime(list)).curve(keyOf(0))!
        for (const [t, amount] of truth(list, 0).entries()) {
          expect(curve.values[t]).toBeCloseTo(amount, 6)
          expect(curve.upper[t]).toBe(amount)
        }
      }),
    )
  })

  it('counts what it drops: the upper bound always holds, late amounts or not, merged or not', () => {
    holds(
      fc.property(events(6), events(6), fc.boolean(), (a, b, late) => {
        const order = late ? <T>(list: T) => list : inTime
        const [first, second] = [fill(make(), order(a)), fill(make(), order(b))]
        if (!late) expect(first.late).toBe(0)
        for (let id = 0; id < 6; id++)
          for (const [t, amount] of truth(a, id).entries())
            expect(first.curve(keyOf(id))!.upper[t]).toBeGreaterThanOrEqual(amount)
        first.merge(second)
        for (let id = 0; id < 6; id++) {
          const curve = first.curve(keyOf(id))!
          for (const [t, amount] of truth([...a, ...b], id).entries())
            expect(curve.upper[t]).toBeGreaterThanOrEqual(amount)
        }
        expect([...first.totals()].reduce((x, y) => x + y, 0)).toBe(first.total)
      }),
      8,
    )
  })

  it('holds both bounds with its confidence over many seeds', () => {
    const random = seeded(5)
    const list = inTime(
      Array.from({ length: 3000 }, () => ({
        id: Math.floor(random() ** 3 * 120),
        window: Math.floor(random() * windows),
        amount: Math.floor(random() * 2000),
      })),
    )
    let [wrong, asked] = [0, 0]
    for (let seed = 0; seed < (slow ? 200 : 12); seed++) {
      const sketch = fill(make({ seed, bytes: 9000 }), list)
      for (const id of [0, 1, 5, 30, 100]) {
        wrong += outside(sketch.curve(keyOf(id))!, truth(list, id))
        asked += windows
      }
    }
    expect(wrong).toBeLessThanOrEqual(asked * Math.exp(-3))
  })

  it('finds a burst of two windows in 2048 of a steady flow with 64 details', () => {
    const sketch = createSketch('wave', { bytes: 100_000, keyBytes: 2, seed: 1, startNs: 1e15 })
    const random = seeded(2)
    for (let window = 0; window < 2048; window++) {
      const burst = window === 1000 || window === 1001 ? 100_000 : 0
      sketch.update(keyOf(1), 4096 + Math.floor(random() * 2048) + burst, 1e15 + window * 8192)
      sketch.update(keyOf(2 + (window % 20)), 3000, 1e15 + window * 8192 + 100)
    }
    const { values, startNs } = sketch.curve(keyOf(1))!
    // The window in which 1e15 is.
    expect(startNs).toBe(Math.floor(1e15 / 8192) * 8192)
    const order = [...values.keys()].sort((a, b) => values[b]! - values[a]!)
    expect(order.slice(0, 2).sort()).toEqual([1000, 1001])
    expect(Math.abs(values[1000]! / 105_120 - 1)).toBeLessThan(0.05)
    expect(Math.abs(values[500]! / 5120 - 1)).toBeLessThan(0.6)
  })

  it('counts what is before and after its period', () => {
    const sketch = createSketch('wave', { bytes: 20_000, keyBytes: 2, windows: 16, windowNs: 10, seed: 1 })
    expect(sketch.curve(keyOf(1))).toBeUndefined()
    sketch.update(keyOf(1), 5, 1234)
    expect(sketch.startNs).toBe(1230)
    sketch.update(keyOf(1), 6, 1229)
    sketch.update(keyOf(1), 7, 1390)
    sketch.update(keyOf(1), 8, 1389)
    expect([sketch.outside, sketch.total, sketch.late]).toEqual([13, 13, 0])
    expect([...sketch.totals()]).toEqual([5, ...new Array<number>(14).fill(0), 8])
    sketch.merge(createSketch('wave', { bytes: 20_000, keyBytes: 2, windows: 16, windowNs: 10, seed: 1 }))
    sketch.update(keyOf(1), 1, 1234)
    expect(sketch.outside).toBe(14)
  })

  it('goes through bytes and on; packed keys are the same as single ones', () => {
    const list = inTime(fc.sample(events(9), { numRuns: 1, seed: 3 })[0]!)
    const half = list.length >> 1
    const whole = fill(make(), list)
    const copy = sketchFromBytes(fill(make(), list.slice(0, half)).toBytes(), 'wave')
    expect(textOf(fill(copy, list.slice(half)).toBytes())).toBe(textOf(whole.toBytes()))
    const packed = make()
    packed.updateMany(
      Uint8Array.from(list.flatMap(({ id }) => [...keyOf(id)])),
      Uint32Array.from(list, ({ amount }) => amount),
      Float64Array.from(list, ({ window }) => window * windowNs),
    )
    expect(textOf(packed.toBytes())).toBe(textOf(whole.toBytes()))
  })

  it('is the same by keys and by their hashes', () => {
    const [byKeys, byHashes] = [make(), make()]
    const list = Array.from({ length: 300 }, (_, i) => i % 7)
    const hashes = new Int32Array(2 * list.length)
    for (const [i, id] of list.entries()) byHashes.hash(keyOf(id), hashes, 2 * i)
    const amounts = Uint32Array.from(list, (_, i) => i)
    for (const time of [0, 3 * windowNs]) {
      const keys = Uint8Array.from(list.flatMap((id) => [...keyOf(id)]))
      byKeys.updateMany(keys, amounts, new Float64Array(list.length).fill(time))
      byHashes.updateHashed(hashes, amounts, list.length, time)
    }
    expect(textOf(byHashes.toBytes())).toBe(textOf(byKeys.toBytes()))
    expect(() => byHashes.updateHashed(hashes, amounts, list.length + 1, 0)).toThrow(/count: 301/)
  })

  it('counts what rounding took from a detail that is dropped later as part of it', () => {
    const wave = createSketch('wave', {
      ...{ bytes: 10_000, keyBytes: 2, seed: 1, startNs: 0 },
      ...{ rows: 1, windows: 16, windowNs: 1, coefficients: 1 },
    })
    const key = keyOf(1)
    // Halfway between two numbers that float32 has: 64 are lost, and the detail with it when a larger one comes.
    const amount = 2 ** 30 + 64
    wave.update(key, amount, 0)
    wave.update(key, 2 ** 31, 2)
    wave.update(key, 1, 4)
    expect(wave.curve(key)!.upper[0]).toBeGreaterThanOrEqual(amount)
  })

  it('rejects what is not right', () => {
    const sketch = make()
    expect(() => sketch.update(new Uint8Array(3), 1, 1)).toThrow(/key: 3/)
    expect(() => sketch.update(keyOf(1), -1, 1)).toThrow(/amount/)
    for (const time of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => sketch.update(keyOf(1), 1, time)).toThrow(/timeNs/)
    expect(() => sketch.updateMany(new Uint8Array(4), 1, new Float64Array(3))).toThrow(SketchError)
    for (const own of [
      { windows: 100 },
      { windows: 8 },
      { windowNs: 0 },
      { coefficients: 65 },
      { rows: 9 },
      { bytes: 900 },
    ])
      expect(() => make(own)).toThrow(SketchError)
    const [one, other] = [make({ startNs: undefined }), make({ startNs: undefined })]
    one.update(keyOf(1), 1, 5000)
    other.update(keyOf(1), 1, 9000)
    expect(() => one.merge(other)).toThrow(/different times/)
    expect(() => one.merge(make())).toThrow(/first/)
  })
})
