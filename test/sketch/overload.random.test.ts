/** The fast path: what is certain of every stream, and how it protects another sketch. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, type FastPath, SketchError, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { exactTrace, keyBytes, textOf } from './traces.ts'

type Stream = (readonly [number, number])[]
const streams: fc.Arbitrary<Stream> = fc.array(fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 20 })), {
  maxLength: 300,
})
const make = () => createSketch('fast-path', { bytes: 600, keyBytes: 1, seed: 1 })

function fill(stream: Stream): FastPath {
  const sketch = make()
  for (const [id, amount] of stream) sketch.update(Uint8Array.of(id), amount)
  return sketch
}

function check(sketch: FastPath, stream: Stream): void {
  const counts = new Map<number, number>()
  for (const [id, amount] of stream) counts.set(id, (counts.get(id) ?? 0) + amount)
  for (let id = 0; id <= 40; id++) {
    const { lower, upper, confidence } = sketch.estimate(Uint8Array.of(id))
    expect(confidence).toBe(1)
    expect(lower).toBeLessThanOrEqual(counts.get(id) ?? 0)
    expect(upper).toBeGreaterThanOrEqual(counts.get(id) ?? 0)
  }
  const kept = sketch.topK(100).reduce((sum, { lower }) => sum + lower, 0)
  expect(sketch.unattributed).toBe(sketch.total - kept)
}

describe('the fast path', () => {
  it('has bounds that always hold, also after merging and bytes', () => {
    expect(make().config.capacity).toBeLessThan(25)
    holds(
      fc.property(streams, streams, (a, b) => {
        const [first, second] = [fill(a), fill(b)]
        check(first, a)
        first.merge(second)
        check(sketchFromBytes(first.toBytes(), 'fast-path'), [...a, ...b])
      }),
      20,
    )
  })

  it('loses at most 8/7 N / k of a key on a Zipf trace, and keeps the largest', () => {
    const trace = exactTrace({ flows: 20_000, packets: 100_000, skew: 1, seed: 4 })
    const sketch = createSketch('fast-path', { bytes: 20_000, keyBytes, seed: 1 })
    sketch.updateMany(trace.keys)
    const { upper } = sketch.estimate(new Uint8Array(keyBytes))
    expect(upper).toBeLessThan((8 / 7) * (trace.packets / sketch.config.capacity))
    const top = new Set(sketch.topK(100).map(({ key }) => textOf(key)))
    const largest = trace.flows.toSorted((a, b) => b.count - a.count).slice(0, 50)
    expect(largest.filter(({ key }) => top.has(textOf(key))).length).toBe(50)
  })
})

describe('SketchVisor', () => {
  const trace = exactTrace({ flows: 3000, packets: 30_000, skew: 1.1, seed: 4 })
  const overload = (normal: string, seed = 1, own: object = {}) =>
    createSketch('sketchvisor', { bytes: 30_000, keyBytes, seed, normal, ...own } as never)

  it.each(['elastic', 'count-min', 'coco', 'heavykeeper'])('answers of both paths hold: %s', (normal) => {
    const sketch = overload(normal)
    expect(sketch.bytes).toBeLessThanOrEqual(30_000)
    // Every third block is overload.
    for (let block = 0; block < 30; block++) {
      sketch.overloaded = block % 3 === 0
      sketch.updateMany(trace.keys.subarray(block * 1000 * keyBytes, (block + 1) * 1000 * keyBytes))
    }
    expect([sketch.total, sketch.fast.total]).toEqual([30_000, 10_000])
    expect(sketch.fast.unattributed).toBeGreaterThan(0)
    let [wrong, allowed] = [0, 0]
    for (const { key, count } of trace.flows) {
      const { lower, upper, confidence } = sketch.estimate(key)
      if (count < lower || count > upper) wrong++
      allowed += 1 - confidence
    }
    expect(wrong).toBeLessThanOrEqual(allowed)
    const copy = sketchFromBytes(sketch.toBytes(), 'sketchvisor')
    expect(textOf(copy.toBytes())).toBe(textOf(sketch.toBytes()))
    for (const { key } of trace.flows.slice(0, 20)) expect(copy.estimate(key)).toEqual(sketch.estimate(key))
  })

  it('says what it lost, and nothing when there was no overload', () => {
    const sketch = overload('elastic')
    sketch.updateMany(trace.keys)
    expect([sketch.fast.total, sketch.fast.unattributed]).toEqual([0, 0])
    const plain = createSketch('elastic', { bytes: 30_000 - 3750, keyBytes, seed: 1 })
    plain.updateMany(trace.keys)
    expect(sketch.topK(50)).toEqual(plain.topK(50))
  })

  it('merges if its normal path does, and rejects what does not fit', () => {
    const merge = (a: string, b: string, seed = 1) => overload(a).merge(overload(b, seed))
    expect(() => merge('heavykeeper', 'heavykeeper')).toThrow(/does not merge/)
    expect(() => merge('elastic', 'coco')).toThrow(SketchError)
    expect(() => merge('elastic', 'elastic', 2)).toThrow(/seed/)
    for (const normal of ['hyperloglog', 'sketchvisor', 'none'])
      expect(() => overload(normal)).toThrow(/normal|is not one of/)
    expect(() => overload('elastic', 1, { fastShare: 1 })).toThrow(/fastShare/)
  })
})
