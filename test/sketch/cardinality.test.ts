import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, HyperLogLog, LinearCounting, SketchError, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { textOf } from './traces.ts'

const keysOf = (from: number, to: number) =>
  new Uint8Array(Uint32Array.from({ length: to - from }, (_, i) => from + i).buffer)

describe.each(['hyperloglog', 'linear-counting'] as const)('%s', (kind) => {
  const make = (bytes = 5000) => createSketch(kind, { bytes, keyBytes: 4, seed: 1 })

  it('counts different keys, within its bounds and near them', () => {
    for (const many of [0, 1, 10, 1000, 30_000]) {
      const sketch = make()
      sketch.updateMany(keysOf(0, many))
      sketch.updateMany(keysOf(0, many))
      const { value, lower, upper } = sketch.cardinality()
      expect(lower).toBeLessThanOrEqual(many)
      expect(upper).toBeGreaterThanOrEqual(many)
      expect(Math.abs(value - many)).toBeLessThanOrEqual(0.05 * many + 0.1)
      expect(upper - lower).toBeLessThanOrEqual(0.2 * many + 2)
    }
  })

  it('does not count keys with an amount of 0', () => {
    const sketch = make()
    sketch.updateMany(keysOf(0, 100), 0)
    expect(sketch.cardinality()).toMatchObject({ value: 0, lower: 0, upper: 0 })
  })

  it('merges to the sketch of both streams, in any order, and goes through bytes', () => {
    holds(
      fc.property(fc.nat(500), fc.nat(500), (a, b) => {
        const [first, second, both] = [make(), make(), make()]
        first.updateMany(keysOf(0, a))
        second.updateMany(keysOf(b, b + 300))
        both.updateMany(keysOf(b, b + 300))
        both.updateMany(keysOf(0, a))
        first.merge(second as never)
        expect(textOf(first.toBytes())).toBe(textOf(both.toBytes()))
        expect(textOf(sketchFromBytes(first.toBytes()).toBytes())).toBe(textOf(both.toBytes()))
      }),
      10,
    )
    expect(() => make().merge(make(6000 * 4) as never)).toThrow(SketchError)
  })

  it('answers with the total as upper bound when it is full', () => {
    const sketch = make(100)
    sketch.updateMany(keysOf(0, 20_000))
    const { lower, upper } = sketch.cardinality()
    expect(lower).toBeLessThanOrEqual(20_000)
    expect(upper).toBeGreaterThanOrEqual(kind === 'linear-counting' ? 20_000 : 10_000)
  })
})

it('the classes are those of their kinds', () => {
  const options = { bytes: 100, keyBytes: 1 }
  expect(createSketch('hyperloglog', options)).toBeInstanceOf(HyperLogLog)
  expect(createSketch('linear-counting', options)).toBeInstanceOf(LinearCounting)
  for (const kind of ['hyperloglog', 'linear-counting'] as const)
    expect(() => createSketch(kind, { bytes: 64, keyBytes: 1 })).toThrow(/bytes: 64/)
})
