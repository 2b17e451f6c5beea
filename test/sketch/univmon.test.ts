import { describe, expect, it } from 'vitest'
import { createSketch } from '../../src/sketch/index.ts'
import { entropyBits, exactTrace, f1, heavy, keyBytes, nameOf } from './traces.ts'

const trace = exactTrace({ flows: 10_000, packets: 60_000, skew: 1.1, seed: 7 })
const make = (bytes = 300_000, seed = 1, own: object = {}) => createSketch('univmon', { bytes, keyBytes, seed, ...own })

describe('UnivMon', () => {
  const sketch = make()
  sketch.updateMany(trace.keys)

  it('has cardinality, entropy and heavy hitters of a Zipf trace', () => {
    for (const [answer, truth, within] of [
      [sketch.cardinality(), trace.flows.length, 0.15],
      [sketch.entropy(), entropyBits(trace), 0.02],
    ] as const) {
      expect(Math.abs(answer.value / truth - 1)).toBeLessThan(within)
      expect(answer.lower).toBeLessThanOrEqual(truth)
      expect(answer.upper).toBeGreaterThanOrEqual(truth)
    }
    const found = sketch.heavyHitters(100).map(({ key }) => nameOf(key))
    expect(f1(found, heavy(trace, 100))).toBeGreaterThan(0.9)
  })

  it('has any sum that grows no faster than squares', () => {
    for (const g of [(f: number) => f ** 2, (f: number) => f ** 1.5, (f: number) => Math.sqrt(f)]) {
      const truth = trace.flows.reduce((sum, { count }) => sum + g(count), 0)
      const { value, lower, upper } = sketch.sum(g)
      expect(Math.abs(value / truth - 1)).toBeLessThan(0.15)
      expect(lower).toBeLessThanOrEqual(truth)
      expect(upper).toBeGreaterThanOrEqual(truth)
    }
  })

  it('has bounds of a sum whose g falls', () => {
    const g = (f: number) => 1 / f
    const truth = trace.flows.reduce((sum, { count }) => sum + g(count), 0)
    for (let seed = 0; seed < 4; seed++) {
      const few = make(40_000, seed)
      few.updateMany(trace.keys)
      const { lower, upper } = few.sum(g)
      expect(lower).toBeLessThanOrEqual(truth)
      expect(upper).toBeGreaterThanOrEqual(truth)
      expect(upper).toBeLessThan(2 * trace.packets)
    }
  })

  it('is exact while all keys are kept', () => {
    const few = make()
    for (let i = 1; i <= 50; i++) few.update(new Uint8Array(keyBytes).fill(i), 4)
    expect(few.cardinality().value).toBe(50)
    expect(few.entropy().value).toBeCloseTo(Math.log2(50), 1)
    expect(make().entropy().value).toBe(0)
    expect(make().cardinality().value).toBe(0)
  })

  it('has the sums of both streams after merging', () => {
    const [first, second] = [make(), make()]
    first.updateMany(trace.keys.subarray(0, 20_000 * keyBytes))
    second.updateMany(trace.keys.subarray(20_000 * keyBytes))
    first.merge(second)
    for (const { key } of trace.flows.slice(0, 100)) expect(first.estimate(key)).toEqual(sketch.estimate(key))
    expect(Math.abs(first.cardinality().value / trace.flows.length - 1)).toBeLessThan(0.15)
    expect(() => make(300_000, 1, { levels: 25 })).toThrow(/levels/)
    expect(() => make(300_000, 1, { keptShare: 1 })).toThrow(/keptShare/)
  })
})
