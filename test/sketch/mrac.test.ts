import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { entropyBits, exactTrace, keyBytes, textOf, weightedMeanRelativeError } from './traces.ts'

const trace = exactTrace({ flows: 30_000, packets: 250_000, skew: 1, seed: 7 })
const make = (bytes = 60_000, seed = 1) => createSketch('mrac', { bytes, keyBytes, seed })

describe('MRAC', () => {
  it('has the distribution of sizes, cardinality and entropy of a Zipf trace', () => {
    const sketch = make(120_000)
    sketch.updateMany(trace.keys)
    const sizes = trace.flows.map(({ count }) => count)
    expect(weightedMeanRelativeError(sizes, sketch.distribution())).toBeLessThan(0.1)
    for (const [answer, truth] of [
      [sketch.cardinality(), trace.flows.length],
      [sketch.entropy(), entropyBits(trace)],
    ] as const) {
      expect(Math.abs(answer.value / truth - 1)).toBeLessThan(0.01)
      expect(answer.lower).toBeLessThanOrEqual(truth)
      expect(answer.upper).toBeGreaterThanOrEqual(truth)
    }
  })

  it('merges to the union, subtracts it again, and goes through bytes', () => {
    holds(
      fc.property(fc.nat(5000), (cut) => {
        const keys = trace.keys.subarray(0, 5000 * keyBytes)
        const [first, second, both] = [make(3000), make(3000), make(3000)]
        first.updateMany(keys.subarray(0, cut * keyBytes))
        second.updateMany(keys.subarray(cut * keyBytes))
        both.updateMany(keys)
        const before = textOf(first.toBytes())
        first.merge(second)
        expect(textOf(first.toBytes())).toBe(textOf(both.toBytes()))
        first.subtract(sketchFromBytes(second.toBytes(), 'mrac'))
        expect(textOf(first.toBytes())).toBe(before)
      }),
      5,
    )
    const [one, other] = [make(3000), make(3000)]
    other.updateMany(trace.keys)
    expect(() => one.subtract(other)).toThrow(/earlier state/)
    expect(() => one.merge(make(4000))).toThrow(/counters/)
  })

  it('of nothing has none of it', () => {
    expect(make().distribution()).toEqual([])
    expect(make().entropy().value).toBe(0)
    expect(make().cardinality().value).toBe(0)
  })
})
