import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, type SpreadSketch, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds, slow } from '../property.ts'
import { textOf } from './traces.ts'

const make = (bytes = 60_000, seed = 1, own: object = {}) =>
  createSketch('spread', { bytes, keyBytes: 8, sourceBytes: 4, seed, ...own })
const pair = (source: number, other: number) => new Uint8Array(Uint32Array.of(source, other).buffer)
const sourceOf = (source: number) => pair(source, 0).subarray(0, 4)
/** Of source i there are so many different keys. */
const fanOf = (i: number) => (i < 5 ? 400 + 200 * i : 1 + (i % 7))
const sources = 600

function fill(sketch: SpreadSketch): SpreadSketch {
  for (let i = 0; i < sources; i++)
    for (let other = 0; other < fanOf(i); other++)
      for (let twice = 0; twice < 2; twice++) sketch.update(pair(i, other), 7)
  return sketch
}

describe('superspreaders', () => {
  it('are found, with how many keys they have', () => {
    const sketch = fill(make())
    const found = sketch.heavyHitters(300)
    expect(found.map(({ key }) => key[0])).toEqual([4, 3, 2, 1, 0])
    for (const { key, value } of found) expect(Math.abs(value / fanOf(key[0]!) - 1)).toBeLessThan(0.15)
    expect(sketch.topK(2).length).toBe(2)
    const all = Array.from({ length: sources }, (_, i) => fanOf(i)).reduce((a, b) => a + b, 0)
    expect(Math.abs(sketch.cardinality().value / all - 1)).toBeLessThan(0.05)
    expect(sketch.total).toBe(14 * all)
  })

  it('have bounds that hold at their confidence over many seeds', () => {
    let [wrong, doubt] = [0, 0]
    for (let seed = 0; seed < (slow ? 200 : 6); seed++) {
      const sketch = fill(make(30_000, seed, { bits: 256 }))
      for (let i = 0; i < 40; i++) {
        const { lower, upper, confidence } = sketch.estimate(sourceOf(i))
        if (fanOf(i) < lower || fanOf(i) > upper) wrong++
        doubt += 1 - confidence
      }
    }
    expect(wrong).toBeLessThanOrEqual(doubt)
  })

  it('merge to the union in any order, and go through bytes', () => {
    const pairs = fc.array(fc.tuple(fc.nat(5), fc.nat(200)), { maxLength: 100 })
    holds(
      fc.property(pairs, pairs, (a, b) => {
        // More than there are sources, so that all are kept.
        const of = (list: typeof a) => {
          const sketch = make(9000, 1, { bits: 64, candidates: 10 })
          for (const [source, other] of list) sketch.update(pair(source, other))
          return sketch
        }
        const [first, both] = [of(a), of([...b, ...a])]
        first.merge(of(b))
        expect(first.topK(10)).toEqual(both.topK(10))
        expect(first.cardinality()).toEqual(both.cardinality())
        expect(textOf(sketchFromBytes(both.toBytes(), 'spread').toBytes())).toBe(textOf(both.toBytes()))
      }),
      20,
    )
  })

  it('reject what is not right', () => {
    const sketch = make()
    expect(() => sketch.update(new Uint8Array(7))).toThrow(/key: 7/)
    expect(() => sketch.updateMany(new Uint8Array(9))).toThrow(/keys: 9/)
    expect(() => sketch.estimate(new Uint8Array(8))).toThrow(/source: 8/)
    for (const own of [
      { sourceBytes: 8 },
      { sourceBytes: 0 },
      { bits: 33 },
      { rows: 5 },
      { candidates: 0 },
      { bits: 2 ** 16 },
    ])
      expect(() => make(60_000, 1, own)).toThrow()
    expect(() => sketch.merge(make(60_000, 2))).toThrow(/seed/)
  })
})
