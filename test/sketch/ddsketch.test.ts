import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, SketchError, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { textOf } from './traces.ts'

const values = fc.array(fc.oneof(fc.nat(5000), fc.double({ min: 0, max: 1e9, noNaN: true })), {
  minLength: 1,
  maxLength: 150,
})
const make = (bytes = 60_000, accuracy = 0.02) => createSketch('ddsketch', { bytes, accuracy })

function filled(of: readonly number[], bytes?: number) {
  const sketch = make(bytes)
  for (const value of of) sketch.add(value)
  return sketch
}

describe('DDSketch', () => {
  it('is always within its accuracy, and within its bounds', () => {
    holds(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (sample, q) => {
        const exact = [...sample].sort((a, b) => a - b)[Math.floor(q * (sample.length - 1))]!
        const { value, lower, upper, confidence } = filled(sample).quantile(q)!
        // 60 KB span any two values above 1e-54.
        if (exact > 1e-50 || exact === 0) expect(Math.abs(value - exact)).toBeLessThanOrEqual(exact * (0.02 + 1e-12))
        expect(lower).toBeLessThanOrEqual(exact)
        expect(upper).toBeGreaterThanOrEqual(exact)
        expect(confidence).toBe(1)
      }),
    )
  })

  it('has bounds that hold after the lowest bins collapsed, and the high quantiles stay accurate', () => {
    holds(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (sample, q) => {
        const sorted = [...sample].sort((a, b) => a - b)
        const exact = sorted[Math.floor(q * (sample.length - 1))]!
        const { value, lower, upper } = filled(sample, 64 + 8 * 100).quantile(q)!
        expect(lower).toBeLessThanOrEqual(exact)
        expect(upper).toBeGreaterThanOrEqual(exact)
        // A hundred bins of 4 % span a factor of more than 50.
        if (exact > sorted.at(-1)! / 40) expect(Math.abs(value - exact)).toBeLessThanOrEqual(exact * (0.02 + 1e-12))
      }),
    )
  })

  it('has the same bytes in every order, and merged from any parts', () => {
    holds(
      fc.property(values, fc.nat(150), (sample, cut) => {
        const bytes = filled(sample, 2000).toBytes()
        const whole = textOf(bytes)
        expect(textOf(filled([...sample].reverse(), 2000).toBytes())).toBe(whole)
        const first = filled(sample.slice(0, cut), 2000)
        first.merge(filled(sample.slice(cut), 2000))
        expect(textOf(first.toBytes())).toBe(whole)
        expect(textOf(sketchFromBytes(bytes).toBytes())).toBe(whole)
      }),
    )
  })

  it('takes a value many times, and nothing that is no value', () => {
    const sketch = make()
    expect(sketch.quantile(0.5)).toBeUndefined()
    sketch.add(10, 99)
    sketch.add(1000)
    sketch.add(5, 0)
    expect(sketch.total).toBe(100)
    expect(sketch.quantile(0.5)!.value).toBeCloseTo(10, 0)
    expect(sketch.quantile(1)!.upper).toBe(1000)
    for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY]) expect(() => sketch.add(value)).toThrow(SketchError)
    for (const count of [-1, 0.5]) expect(() => sketch.add(1, count)).toThrow(SketchError)
    for (const q of [-0.1, 1.1, Number.NaN]) expect(() => sketch.quantile(q)).toThrow(SketchError)
    expect(() => make(100)).toThrow(/bytes: 100/)
    expect(() => make(1000, 1)).toThrow(/accuracy: 1/)
    expect(() => sketch.merge(make(60_000, 0.01))).toThrow(/accuracy/)
  })

  it('takes the smallest and the largest numbers', () => {
    for (const value of [5e-324, 1e-300, 1.7e308]) {
      const { lower, upper } = filled([value]).quantile(0.5)!
      expect([lower, upper]).toEqual([value, value])
      expect(sketchFromBytes(filled([value]).toBytes()).total).toBe(1)
    }
  })
})
