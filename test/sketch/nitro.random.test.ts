import { describe, expect, it } from 'vitest'
import { createSketch } from '../../src/sketch/index.ts'
import { slow } from '../property.ts'
import { exactTrace, f1, heavy, keyBytes, nameOf, textOf } from './traces.ts'

const trace = exactTrace({ flows: 20_000, packets: 200_000, skew: 1.1, seed: 4 })
const make = (sampling: number, coins = 1, own: object = {}) =>
  createSketch('nitro', { bytes: 100_000, keyBytes, seed: 1, sampling, coins, ...own })

describe('NitroSketch', () => {
  it('is Count Sketch where nothing is passed over', () => {
    const [nitro, count] = [make(1), createSketch('count', { bytes: 100_000, keyBytes, seed: 1 })]
    for (const sketch of [nitro, count]) sketch.updateMany(trace.keys)
    for (const { key, count: truth } of trace.flows.slice(0, 500)) {
      const [a, b] = [nitro.estimate(key), count.estimate(key)]
      expect(a.value).toBe(Math.max(0, b.value))
      expect(a.upper).toBe(Math.min(trace.packets, Math.max(0, b.upper)))
      if (truth > 500) expect(Math.abs(a.value / truth - 1)).toBeLessThan(0.1)
    }
  })

  it('touches a row in s, and finds the heavy hitters', () => {
    const sketch = make(20, 1, { candidates: 200 })
    sketch.updateMany(trace.keys)
    const found = sketch.heavyHitters(1000).map(({ key }) => nameOf(key))
    expect(f1(found, heavy(trace, 1000))).toBeGreaterThan(0.85)
    // One key: the counters have just what was sampled, times s.
    const one = make(20)
    one.updateMany(new Uint8Array(keyBytes * 100_000))
    const { value, lower, upper } = one.estimate(new Uint8Array(keyBytes))
    expect(value % 20).toBe(0)
    expect(Math.abs(value / 100_000 - 1)).toBeLessThan(0.06)
    expect(lower).toBeLessThan(100_000)
    expect(upper).toBe(100_000)
  })

  it('holds its bounds over many samplings, for amounts that differ, and merged', () => {
    const amounts = Uint32Array.from({ length: 20_000 }, (_, i) => 1 + (i % 97))
    const keys = trace.keys.subarray(0, 20_000 * keyBytes)
    const exact = new Map<string, number>()
    for (const [i, amount] of amounts.entries()) {
      const name = nameOf(keys.subarray(i * keyBytes, (i + 1) * keyBytes))
      exact.set(name, (exact.get(name) ?? 0) + amount)
    }
    const flows = trace.flows.slice(0, 200).filter(({ key }) => exact.has(nameOf(key)))
    let [wrong, allowed] = [0, 0]
    for (let coins = 0; coins < (slow ? 200 : 5); coins++) {
      const [first, second] = [make(16, 2 * coins), make(16, 2 * coins + 1)]
      for (const sketch of [first, second]) sketch.updateMany(keys, amounts)
      const check = (times: number) => {
        for (const { key } of flows) {
          const { lower, upper, confidence } = first.estimate(key)
          const truth = times * exact.get(nameOf(key))!
          if (truth < lower || truth > upper) wrong++
          allowed += 1 - confidence
        }
      }
      check(1)
      first.merge(second)
      check(2)
    }
    expect(wrong).toBeLessThanOrEqual(allowed)
  })

  it('has the same state by single updates and by packed keys; samplings differ unless they are given', () => {
    const [single, packed] = [make(8), make(8)]
    packed.updateMany(trace.keys.subarray(0, 500 * keyBytes), 3)
    for (let i = 0; i < 500; i++) single.update(trace.keys.subarray(i * keyBytes, (i + 1) * keyBytes), 3)
    expect(textOf(packed.toBytes())).toBe(textOf(single.toBytes()))
    const options = { bytes: 2000, keyBytes, seed: 1 }
    expect(textOf(createSketch('nitro', options).toBytes())).not.toBe(textOf(createSketch('nitro', options).toBytes()))
    expect(() => make(0)).toThrow(/sampling/)
  })
})
