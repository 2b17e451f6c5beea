/** Accuracy on a Zipf trace of a tenth of the size that papers use, at a tenth of their memory. accuracy.slow.test.ts has the whole. */
import { describe, expect, it } from 'vitest'
import { createSketch, heavyChanges, keyPart } from '../../src/sketch/index.ts'
import {
  averageRelativeError,
  entropyBits,
  exactTrace,
  f1,
  heavy,
  keyBytes,
  nameOf,
  weightedMeanRelativeError,
} from './traces.ts'

const trace = exactTrace({ flows: 30_000, packets: 250_000, skew: 1, seed: 7 })
const threshold = 200
const elastic = createSketch('elastic', { bytes: 60_000, keyBytes, seed: 1 })
elastic.updateMany(trace.keys)

describe('Elastic Sketch', () => {
  it('errs less than a third of Count-Min, and half of it with conservative update', () => {
    const error = averageRelativeError(trace, (key) => elastic.estimate(key))
    for (const [kind, times] of [
      ['count-min', 3],
      ['conservative', 2],
    ] as const) {
      const other = createSketch(kind, { bytes: 60_000, keyBytes, seed: 1 })
      other.updateMany(trace.keys)
      expect(averageRelativeError(trace, (key) => other.estimate(key))).toBeGreaterThan(times * error)
    }
  })

  it('finds heavy hitters, cardinality, entropy and the distribution of sizes', () => {
    const found = elastic.heavyHitters(threshold).map(({ key }) => nameOf(key))
    expect(f1(found, heavy(trace, threshold))).toBeGreaterThanOrEqual(0.99)
    const cardinality = elastic.cardinality()
    expect(Math.abs(cardinality.value / trace.flows.length - 1)).toBeLessThan(0.02)
    const entropy = elastic.entropy()
    expect(Math.abs(entropy.value / entropyBits(trace) - 1)).toBeLessThan(0.01)
    for (const [answer, truth] of [
      [cardinality, trace.flows.length],
      [entropy, entropyBits(trace)],
    ] as const) {
      expect(answer.lower).toBeLessThanOrEqual(truth)
      expect(answer.upper).toBeGreaterThanOrEqual(truth)
    }
    const sizes = trace.flows.map(({ count }) => count)
    // At a tenth of the counters the noise is three times as large.
    expect(weightedMeanRelativeError(sizes, elastic.distribution())).toBeLessThan(0.1)
  })

  it('of nothing has none of it', () => {
    const empty = createSketch('elastic', { bytes: 5000, keyBytes })
    expect(empty.cardinality()).toMatchObject({ value: 0, lower: 0, upper: 0 })
    expect(empty.entropy().value).toBe(0)
    expect(empty.distribution()).toEqual([])
  })
})

it('heavy changes are found between two windows, with their bounds', () => {
  const half = (trace.packets / 2) * keyBytes
  const [before, after] = [1, 2].map(() => createSketch('elastic', { bytes: 60_000, keyBytes, seed: 1 }))
  before!.updateMany(trace.keys.subarray(0, half))
  after!.updateMany(trace.keys.subarray(half))
  const risen = trace.flows[500]!.key
  after!.update(risen, 2000)
  const found = heavyChanges(before!, after!, 1000)
  expect(found.map(({ key }) => key)).toEqual([risen])
  expect(found[0]!.lower).toBeLessThanOrEqual(found[0]!.value)
})

it('CocoSketch: six partial keys at once', () => {
  const sketch = createSketch('coco', { bytes: 100_000, keyBytes, seed: 1 })
  sketch.updateMany(trace.keys)
  for (const [offset, length] of [
    [0, 13],
    [0, 4],
    [0, 8],
    [4, 4],
    [0, 2],
    [8, 5],
  ] as const) {
    const part = keyPart(offset, length)
    const sums = new Map<string, number>()
    for (const { key, count } of trace.flows) {
      const name = nameOf(part(key))
      sums.set(name, (sums.get(name) ?? 0) + count)
    }
    const expected = new Set([...sums].filter(([, sum]) => sum >= 100).map(([name]) => name))
    const found = sketch.aggregate(part).filter(({ value }) => value >= 100)
    const names = found.map(({ key }) => nameOf(key))
    expect(f1(names, expected), `bytes ${offset} to ${offset + length}`).toBeGreaterThanOrEqual(0.95)
  }
})

it('HeavyKeeper: the top 100 in 30 KB', () => {
  const sketch = createSketch('heavykeeper', { bytes: 30_000, keyBytes, k: 100, seed: 1 })
  sketch.updateMany(trace.keys)
  const least = trace.flows.map(({ count }) => count).sort((a, b) => b - a)[99]!
  const found = sketch.topK(100)
  expect(found.filter(({ key }) => trace.countOf(key) >= least).length).toBeGreaterThanOrEqual(97)
  for (const { key, value } of found) expect(value).toBeLessThanOrEqual(trace.countOf(key))
})
