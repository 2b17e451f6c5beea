import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, type Kll, SketchError, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { seeded } from '../random.ts'
import { textOf } from './traces.ts'

const make = (seed = 1, bytes = 1500) => createSketch('kll', { bytes, seed })

function filled(values: Iterable<number>, seed?: number, bytes?: number): Kll {
  const sketch = make(seed, bytes)
  for (const value of values) sketch.add(value)
  return sketch
}

const exactAt = (sorted: readonly number[], q: number) => sorted[Math.floor(q * (sorted.length - 1))]!
const quantiles = Array.from({ length: 41 }, (_, i) => i / 40)

/** How many of the quantiles and of their ranks are outside of their bounds. */
function outside(sketch: Kll, sorted: readonly number[]): number {
  let count = 0
  for (const q of quantiles) {
    const truth = exactAt(sorted, q)
    const { lower, upper, value } = sketch.quantile(q)!
    expect(lower).toBeLessThanOrEqual(value)
    expect(upper).toBeGreaterThanOrEqual(value)
    if (truth < lower || truth > upper) count++
    const rank = sketch.rank(truth)
    const true_ = sorted.filter((other) => other <= truth).length
    if (true_ < rank.lower || true_ > rank.upper) count++
  }
  return count
}

describe('KLL', () => {
  it('is exact while all values fit', () => {
    const values = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 60 })
    holds(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (doubles, q) => {
        // Which of two zeros comes first nobody says.
        const sample = doubles.map((value) => value + 0)
        const sorted = [...sample].sort((a, b) => a - b)
        const truth = exactAt(sorted, q)
        expect(filled(sample).quantile(q)).toEqual({ value: truth, lower: truth, upper: truth, confidence: 1 })
        expect(filled(sample).rank(truth).value).toBe(sorted.filter((other) => other <= truth).length)
      }),
    )
  })

  it('has bounds that hold, in every order, and merged from any parts', () => {
    let [wrong, asked] = [0, 0]
    holds(
      fc.property(fc.nat(2 ** 30), fc.nat(6000), fc.constantFrom(1, 50, 1e9), (seed, cut, range) => {
        const random = seeded(seed)
        const values = Array.from({ length: 6000 }, () => Math.floor(random() * range))
        const sorted = [...values].sort((a, b) => a - b)
        const first = filled(values.slice(0, cut), seed)
        first.merge(filled(values.slice(cut), seed + 1))
        expect(first.total).toBe(6000)
        for (const sketch of [first, filled(values, seed), filled(sorted, seed), filled(sorted.toReversed(), seed)]) {
          wrong += outside(sketch, sorted)
          asked += 2 * quantiles.length
        }
      }),
      3,
      100,
    )
    expect(wrong).toBeLessThanOrEqual(asked / 100)
  })

  it('at 7 KB has the published accuracy of ranks of 1.33 % over a million values, and says at most 8 / k', () => {
    const sketch = make(3, 7000)
    const { k } = sketch.config
    expect(k).toBeGreaterThanOrEqual(200)
    for (let i = 0; i < 2 ** 20; i++) sketch.add((i * 0x9e3779b1) % 2 ** 20)
    for (const q of quantiles) {
      const { value, lower, upper } = sketch.quantile(q)!
      expect(Math.abs(value / 2 ** 20 - q)).toBeLessThan(0.0133)
      expect((upper - lower) / 2 ** 20).toBeLessThanOrEqual(16 / k)
    }
  })

  it('takes a value many times as one by one, up to 2^53', () => {
    const sketch = make()
    sketch.add(1, 1000)
    sketch.add(2, 3)
    sketch.add(3, 0)
    expect(sketch.total).toBe(1003)
    expect(sketch.quantile(0.5)!.value).toBe(1)
    expect(sketch.quantile(1)!.value).toBe(2)
    expect(sketch.rank(1).value).toBe(1000)
    sketch.add(5, 2 ** 52)
    for (let i = 0; i < 500; i++) sketch.add(i, 2 ** 40)
    expect(sketch.quantile(0.5)!.value).toBe(5)
    expect(() => sketch.add(5, 2 ** 52)).toThrow(/2\^53/)
  })

  it('goes through bytes, and on from there', () => {
    const sketch = filled(Array.from({ length: 5000 }, (_, i) => i))
    const copy = sketchFromBytes(sketch.toBytes(), 'kll')
    expect(textOf(copy.toBytes())).toBe(textOf(sketch.toBytes()))
    for (const one of [sketch, copy]) for (let i = 0; i < 5000; i++) one.add(-i)
    expect(textOf(copy.toBytes())).toBe(textOf(sketch.toBytes()))
    expect(copy.quantile(0.25)).toEqual(sketch.quantile(0.25))
  })

  it('merges whatever the coins, and only with the same k', () => {
    const [one, other] = [createSketch('kll', { bytes: 1500 }), createSketch('kll', { bytes: 1500 })]
    for (let i = 0; i < 3000; i++) {
      one.add(i)
      other.add(i)
    }
    expect(textOf(one.toBytes())).not.toBe(textOf(other.toBytes()))
    one.merge(other)
    expect(one.total).toBe(6000)
    expect(() => one.merge(make(1, 2400))).toThrow(/k \d+ and not/)
    expect(() => one.merge(one)).toThrow(SketchError)
  })

  it('has no answer of nothing, and takes nothing that is no value', () => {
    const sketch = make()
    expect(sketch.quantile(0.5)).toBeUndefined()
    expect(sketch.rank(1)).toEqual({ value: 0, lower: 0, upper: 0, confidence: 1 })
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) expect(() => sketch.add(value)).toThrow(/value/)
    for (const count of [-1, 0.5]) expect(() => sketch.add(1, count)).toThrow(/count/)
    for (const q of [-0.1, 1.1, Number.NaN]) expect(() => sketch.quantile(q)).toThrow(/q:/)
    expect(() => sketch.rank(Number.NaN)).toThrow(/value/)
    expect(() => make(1, 900)).toThrow(/bytes: 900/)
    expect(sketch.total).toBe(0)
  })
})
