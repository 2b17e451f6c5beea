/** Accuracy at the papers' memory sizes on traces of 2.5 million packets, as issue and reference state it. */
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

const packets = 2_500_000
const threshold = packets / 5000

describe.each([0.8, 1, 1.2, 1.4])('skew %d', (skew) => {
  const trace = exactTrace({ flows: 300_000, packets, skew, seed: 21 })
  const filled = <K extends 'elastic' | 'count-min' | 'conservative'>(kind: K) => {
    const sketch = createSketch(kind, { bytes: 600_000, keyBytes, seed: 1 } as never)
    sketch.updateMany(trace.keys)
    return sketch
  }
  const elastic = filled('elastic')

  it('Elastic Sketch at 600 KB errs less than a third of Count-Min, and half of it with conservative update', () => {
    const error = averageRelativeError(trace, (key) => elastic.estimate(key))
    const [plain, careful] = (['count-min', 'conservative'] as const).map((kind) => {
      const sketch = filled(kind)
      return averageRelativeError(trace, (key) => sketch.estimate(key))
    })
    console.info(`skew ${skew}: ${trace.flows.length} flows, ARE ${error}, ${plain}, ${careful}`)
    expect(error).toBeLessThan(plain! / 3)
    expect(error).toBeLessThan(careful! / 2)
  })

  it('its tasks', () => {
    const found = elastic.heavyHitters(threshold).map(({ key }) => nameOf(key))
    expect(f1(found, heavy(trace, threshold))).toBeGreaterThanOrEqual(0.99)
    expect(Math.abs(elastic.cardinality().value / trace.flows.length - 1)).toBeLessThanOrEqual(0.01)
    expect(Math.abs(elastic.entropy().value / entropyBits(trace) - 1)).toBeLessThanOrEqual(0.01)
    const sizes = trace.flows.map(({ count }) => count)
    expect(weightedMeanRelativeError(sizes, elastic.distribution())).toBeLessThanOrEqual(0.05)
  })

  it('heavy changers, on average of three seeds', () => {
    // The second window is another trace of the same flows, in which every tenth flow is three times as large.
    const amounts = trace.counts.map((count, i) => (i % 10 === 0 ? 3 * count : count))
    // In a random order: that of the flows would put the largest first.
    const order = Uint32Array.from(amounts.keys()).sort(
      (a, b) => (Math.imul(a, 0x9e3779b1) >>> 0) - (Math.imul(b, 0x9e3779b1) >>> 0),
    )
    const expected = new Set(
      trace.flows.filter(({ count }, i) => i % 10 === 0 && 2 * count >= 1250).map(({ key }) => nameOf(key)),
    )
    const scores = [1, 2, 3].map((seed) => {
      const [before, after] = [1, 2].map(() => createSketch('elastic', { bytes: 600_000, keyBytes, seed }))
      before!.updateMany(trace.keys)
      for (const i of order) after!.update(trace.flows[i]!.key, amounts[i])
      return f1(
        heavyChanges(before!, after!, 1250).map(({ key }) => nameOf(key)),
        expected,
      )
    })
    expect((scores[0]! + scores[1]! + scores[2]!) / 3).toBeGreaterThanOrEqual(0.98)
  })

  it('CocoSketch at 500 KB: six partial keys at once', () => {
    const sketch = createSketch('coco', { bytes: 500_000, keyBytes, seed: 1 })
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
      const expected = new Set([...sums].filter(([, sum]) => sum >= 1250).map(([name]) => name))
      const found = sketch.aggregate(part).filter(({ value }) => value >= 1250)
      const names = found.map(({ key }) => nameOf(key))
      expect(f1(names, expected), `bytes ${offset} to ${offset + length}`).toBeGreaterThanOrEqual(
        skew < 1 ? 0.97 : 0.99,
      )
    }
  })

  it('HeavyKeeper at 30 KB: the top 100', () => {
    const sketch = createSketch('heavykeeper', { bytes: 30_000, keyBytes, k: 100, seed: 1 })
    sketch.updateMany(trace.keys)
    const least = trace.flows.map(({ count }) => count).sort((a, b) => b - a)[99]!
    const right = sketch.topK(100).filter(({ key }) => trace.countOf(key) >= least).length
    console.info(`skew ${skew}: HeavyKeeper ${right} of 100`)
    expect(right).toBe(100)
  })
})
