import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, keyPart, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { exactTrace, heavy, keyBytes, nameOf, textOf } from './traces.ts'

const make = (seed = 1, bytes = 65_536) => createSketch('sketchlearn', { bytes, keyBytes, seed })

describe('SketchLearn', () => {
  it.each([0.8, 1, 1.2, 1.4])('at 64 KB reads keys of 0.5 %% of the traffic off its counters: skew %d', (skew) => {
    const trace = exactTrace({ flows: 20_000, packets: 150_000, skew, seed: 3 })
    const sketch = make()
    sketch.updateMany(trace.keys)
    const threshold = 0.005 * trace.packets
    const [found, truth] = [sketch.heavyHitters(threshold), heavy(trace, threshold)]
    const right = found.filter(({ key }) => truth.has(nameOf(key))).length
    expect(right / found.length).toBeGreaterThanOrEqual(0.9)
    expect(right / truth.size).toBeGreaterThanOrEqual(0.8)
    for (const { key, value, lower, upper } of found) {
      const count = trace.countOf(key)
      expect(Math.abs(value / count - 1)).toBeLessThan(0.1)
      expect(lower).toBeLessThanOrEqual(count)
      expect(upper).toBeGreaterThanOrEqual(count)
    }
  })

  it('tells two large keys of a column apart', () => {
    // Two columns only: of six keys some share one.
    const sketch = make(1, 1000)
    expect(sketch.config.columns).toBe(2)
    const amounts = [30_000, 14_000, 6000]
    const keys = exactTrace({ flows: 50, packets: 2000, skew: 0, seed: 8 })
    for (const [i, amount] of amounts.entries()) sketch.update(keys.flows[i]!.key, amount)
    sketch.updateMany(keys.keys)
    const found = new Map(sketch.topK(3).map(({ key, value }) => [nameOf(key), value]))
    for (const [i, amount] of amounts.entries()) {
      const { key, count } = keys.flows[i]!
      expect(Math.abs(found.get(nameOf(key))! / (amount + count) - 1)).toBeLessThan(0.15)
    }
  })

  it('has the partial keys of the large ones, with bounds', () => {
    const trace = exactTrace({ flows: 2000, packets: 60_000, skew: 1.2, seed: 3 })
    const sketch = make()
    sketch.updateMany(trace.keys)
    const part = keyPart(12, 1)
    const sums = new Map<string, number>()
    for (const { key, count } of trace.flows) sums.set(nameOf(part(key)), (sums.get(nameOf(part(key))) ?? 0) + count)
    const [first] = sketch.aggregate(part)
    expect(Math.abs(first!.value / sums.get(nameOf(first!.key))! - 1)).toBeLessThan(0.1)
    for (const { key, lower, upper } of sketch.aggregate(part)) {
      expect(lower).toBeLessThanOrEqual(sums.get(nameOf(key))!)
      expect(upper).toBeGreaterThanOrEqual(sums.get(nameOf(key))!)
    }
  })

  it('merges to the union, subtracts it again, and goes through bytes', () => {
    const trace = exactTrace({ flows: 300, packets: 2000, skew: 1, seed: 3 })
    holds(
      fc.property(fc.nat(2000), (cut) => {
        const [first, second, both] = [make(1, 5000), make(1, 5000), make(1, 5000)]
        first.updateMany(trace.keys.subarray(0, cut * keyBytes))
        second.updateMany(trace.keys.subarray(cut * keyBytes))
        both.updateMany(trace.keys)
        const before = textOf(first.toBytes())
        first.merge(second)
        expect(textOf(first.toBytes())).toBe(textOf(both.toBytes()))
        expect(first.topK(5)).toEqual(both.topK(5))
        first.subtract(sketchFromBytes(second.toBytes(), 'sketchlearn'))
        expect(textOf(first.toBytes())).toBe(before)
      }),
      4,
    )
    const [one, other] = [make(1, 5000), make(1, 5000)]
    other.updateMany(trace.keys)
    expect(() => one.subtract(other)).toThrow(/earlier state/)
    expect(() => make(1, 500)).toThrow(/bytes: 500/)
  })
})
