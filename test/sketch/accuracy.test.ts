/** Accuracy on a Zipf trace of a tenth of the size that papers use, at a share of their memory. accuracy.slow.test.ts has the whole. */
import { describe, expect, it } from 'vitest'
import { cocoFigures, elasticFigures, heavyKeeperFigures, holds, sixKeys } from '../../bench/sketch-accuracy.ts'
import { createSketch, heavyChanges } from '../../src/sketch/index.ts'
import { entropyBits, exactTrace, keyBytes } from './traces.ts'

const trace = exactTrace({ flows: 30_000, packets: 250_000, skew: 1, seed: 7 })

it.each([
  ['Elastic Sketch', () => elasticFigures(trace, { memory: 0.1, thresholds: 4 })],
  ['CocoSketch, of six partial keys', () => cocoFigures(trace, sixKeys, { memory: 0.2, thresholds: 4 })],
  ['HeavyKeeper', () => heavyKeeperFigures(trace)],
])('%s is as accurate as is asked', (_, figures) => {
  expect(figures().filter((figure) => !holds(figure))).toEqual([])
})

describe('Elastic Sketch', () => {
  it('has cardinality and entropy within their bounds', () => {
    const elastic = createSketch('elastic', { bytes: 60_000, keyBytes, seed: 1 })
    elastic.updateMany(trace.keys)
    for (const [answer, truth] of [
      [elastic.cardinality(), trace.flows.length],
      [elastic.entropy(), entropyBits(trace)],
    ] as const) {
      expect(answer.lower).toBeLessThanOrEqual(truth)
      expect(answer.upper).toBeGreaterThanOrEqual(truth)
    }
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

it('HeavyKeeper does not count too much', () => {
  const sketch = createSketch('heavykeeper', { bytes: 30_000, keyBytes, k: 100, seed: 1 })
  sketch.updateMany(trace.keys)
  for (const { key, value } of sketch.topK(100)) expect(value).toBeLessThanOrEqual(trace.countOf(key))
})
