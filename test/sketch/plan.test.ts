/** Plans keep what they promise: on a trace the bounds are as narrow as was asked, and hold. */
import { describe, expect, it } from 'vitest'
import { createSketch, keyPart, planSketch, type SketchTask } from '../../src/sketch/index.ts'
import { exactTrace, keyBytes } from './traces.ts'

const trace = exactTrace({ flows: 4000, packets: 20_000, skew: 1, seed: 3 })

/** The sketch of a plan, of the kind that it should be. */
function planned<K extends ReturnType<typeof planSketch>['kind']>(task: SketchTask, kind: K) {
  const plan = planSketch(task)
  expect(plan.kind).toBe(kind)
  const sketch = createSketch(kind, { ...plan.options, seed: 1 } as never)
  expect(sketch.bytes).toBeLessThanOrEqual(plan.options.bytes)
  return sketch
}

describe('planSketch', () => {
  it.each([
    [{ confidence: 0.6 }, 'count-min'],
    [{ confidence: 0.95 }, 'count-min'],
    [{ confidence: 1 }, 'space-saving'],
  ] as const)('sizes: %o', (own, kind) => {
    const sketch = planned({ task: 'size', keyBytes, error: 0.002, ...own }, kind)
    sketch.updateMany(trace.keys)
    expect(sketch.estimate(trace.flows[0]!.key).confidence).toBeGreaterThanOrEqual(own.confidence)
    const widths = trace.flows.map(({ key }) => {
      const { lower, upper, value } = sketch.estimate(key)
      return Math.max(upper - value, value - lower)
    })
    expect(Math.max(...widths)).toBeLessThanOrEqual(0.002 * trace.packets)
    const outside = trace.flows.filter(({ key, count }) => sketch.estimate(key).upper < count)
    expect(outside).toEqual([])
  })

  it('asks for hardly more memory than it needs', () => {
    for (const confidence of [0.9, 1]) {
      const { kind, options } = planSketch({ task: 'heavy-hitters', keyBytes, error: 0.001, confidence })
      const { config } = createSketch(kind, { ...options, bytes: options.bytes - 100 } as never)
      const { width = 0, capacity = 0 } = config as { width?: number; capacity?: number }
      expect(Math.max(width - Math.E / 0.001, capacity - 1000)).toBeLessThan(0)
    }
  })

  it('partial keys', () => {
    const sketch = planned({ task: 'partial-keys', keyBytes, error: 0.03, share: 0.2 }, 'coco')
    sketch.updateMany(trace.keys)
    const part = keyPart(0, 1)
    for (const { value, lower, upper } of sketch.aggregate(part)) {
      expect(value).toBeLessThan(0.2 * trace.packets)
      expect(Math.max(upper - value, value - lower)).toBeLessThanOrEqual(0.03 * trace.packets + 1)
    }
  })

  it('cardinality, of any number of keys and of few', () => {
    for (const [keys, kind] of [
      [undefined, 'hyperloglog'],
      [10_000, 'linear-counting'],
      [1e9, 'hyperloglog'],
    ] as const) {
      const sketch = planned({ task: 'cardinality', keyBytes, error: 0.03, ...(keys && { keys }) }, kind)
      sketch.updateMany(trace.keys)
      const { lower, upper } = sketch.cardinality()
      expect(upper - lower).toBeLessThanOrEqual(2 * 0.03 * trace.flows.length + 2)
      expect(lower).toBeLessThanOrEqual(trace.flows.length)
      expect(upper).toBeGreaterThanOrEqual(trace.flows.length)
    }
  })

  it('quantiles by value and by rank', () => {
    const values = planned({ task: 'quantiles', error: 0.02, range: 1e4 }, 'ddsketch')
    const ranks = planned({ task: 'ranks', error: 0.05 }, 'kll')
    for (let i = 0; i < 50_000; i++) for (const sketch of [values, ranks]) sketch.add(1 + ((i * 7919) % 10_000))
    for (const q of [0, 0.01, 0.5, 0.99, 1]) {
      const exact = 1 + Math.floor((q * 49_999) / 5)
      expect(Math.abs(values.quantile(q)!.value / exact - 1)).toBeLessThanOrEqual(0.02 + 1e-9)
      const { lower, upper } = ranks.quantile(q)!
      expect(lower).toBeGreaterThanOrEqual(exact - 501)
      expect(upper).toBeLessThanOrEqual(exact + 501)
    }
  })

  it('flows: all decode', () => {
    for (const keys of [1, 10, 1000, trace.flows.length]) {
      const sketch = planned({ task: 'flows', keyBytes, keys }, 'flowradar')
      for (const { key, count } of trace.flows.slice(0, keys)) sketch.update(key, count)
      expect(sketch.isComplete).toBe(true)
      expect(sketch.topK(1e6).length).toBe(keys)
    }
  })

  it('flows: of few, all decode as often as promised', () => {
    // Which cells a flow has depends on the seed alone: as many seeds as show one percent.
    for (const keys of [4, 20]) {
      const { options, confidence } = planSketch({ task: 'flows', keyBytes, keys })
      let failed = 0
      for (let seed = 0; seed < 400; seed++) {
        const sketch = createSketch('flowradar', { ...options, bytes: options.bytes, keyBytes, seed })
        for (const { key } of trace.flows.slice(0, keys)) sketch.update(key, 1)
        if (!sketch.isComplete) failed++
      }
      const most = 400 * (1 - confidence)
      expect(failed, `${keys} flows`).toBeLessThanOrEqual(most + 1.5 * Math.sqrt(most))
    }
  })

  it('ranks: also of values that come many times', () => {
    const ranks = planned({ task: 'ranks', error: 0.05 }, 'kll')
    ranks.add(-1, 2 ** 26)
    for (let i = 0; i < 2 ** 13; i++) ranks.add((i * 7919) % 2 ** 13, 2 ** 13)
    const { lower, upper } = ranks.rank(2 ** 12)
    const truth = 2 ** 26 + (2 ** 12 + 1) * 2 ** 13
    expect(lower).toBeLessThanOrEqual(truth)
    expect(upper).toBeGreaterThanOrEqual(truth)
    expect(upper - lower).toBeLessThanOrEqual(2 * 0.05 * ranks.total)
  })

  it('rates and superspreaders', () => {
    const wave = planned(
      { task: 'rates', keyBytes, error: 0.05, confidence: 0.9, windows: 64, coefficients: 64 },
      'wave',
    )
    for (const [i, { key }] of trace.flows.slice(0, 300).entries()) wave.update(key, 100, i * 1000)
    const curve = wave.curve(trace.flows[0]!.key)!
    const totals = wave.totals()
    for (const [t, value] of curve.values.entries())
      expect(curve.upper[t]! - value).toBeLessThanOrEqual(0.05 * totals[t]! + 1)
    const spread = planned({ task: 'superspreaders', keyBytes, sourceBytes: 4, error: 0.01, confidence: 0.9 }, 'spread')
    for (let i = 0; i < 1500; i++) spread.update(new Uint8Array(keyBytes).fill(i, 5, 6).fill(i >> 8, 6, 7))
    expect(Math.abs(spread.estimate(new Uint8Array(4)).value / 1500 - 1)).toBeLessThan(0.2)
  })

  it('changes between windows are one sketch for each', () => {
    const { kind, confidence } = planSketch({ task: 'heavy-changers', keyBytes, error: 0.001 })
    expect([kind, confidence]).toEqual(['space-saving', 1])
  })

  it('rejects what cannot be', () => {
    const wrong: SketchTask[] = [
      { task: 'size', keyBytes, error: 0 },
      { task: 'size', keyBytes, error: 1e-9, confidence: 1 },
      { task: 'size', keyBytes, error: 0.1, confidence: 1.1 },
      { task: 'size', keyBytes: 0, error: 0.1 },
      { task: 'size', keyBytes, error: 0.1, confidence: 1 - 1e-9 },
      { task: 'quantiles', error: 0.1, range: 0 },
      { task: 'flows', keyBytes, keys: 0 },
      { task: 'partial-keys', keyBytes, error: 0.1, share: 0 },
      { task: 'rates', keyBytes, error: 0.1, windows: 17 },
      { task: 'superspreaders', keyBytes, sourceBytes: keyBytes, error: 0.1 },
      { task: 'superspreaders', keyBytes, sourceBytes: 4, error: 0.1, confidence: 0.99 },
      { task: 'entropy', keyBytes, error: 0.1 } as never,
    ]
    for (const task of wrong) expect(() => planSketch(task), JSON.stringify(task)).toThrow(/ERR_SKETCH_VALUE/)
  })
})
