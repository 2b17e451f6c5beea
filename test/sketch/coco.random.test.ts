/** What a CocoSketch is sure of, because it knows what it may have put down to other keys. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type CocoSketch, createSketch, type Estimate, keyPart, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'

type Stream = (readonly [id: number, amount: number])[]
const streams: fc.Arbitrary<Stream> = fc.array(fc.tuple(fc.nat(255), fc.integer({ min: 1, max: 1000 })), {
  maxLength: 100,
})
const keyOf = (id: number) => Uint8Array.of(id >> 4, id & 15)

function fill(stream: Stream, seed: number, countBits: 31 | 53, bytes: number): CocoSketch {
  const sketch = createSketch('coco', { bytes, keyBytes: 2, seed, countBits })
  for (const [id, amount] of stream) sketch.update(keyOf(id), amount)
  return sketch
}

/** How many of the sure answers are exact. */
function exactAnswers(sketch: CocoSketch, stream: Stream): number {
  let exact = 0
  const check = (truth: number, { lower, upper, confidence }: Omit<Estimate, 'value'>) => {
    if (confidence < 1) return
    expect(lower).toBeLessThanOrEqual(truth)
    expect(upper).toBeGreaterThanOrEqual(truth)
    if (lower === upper) exact++
  }
  const [whole, part] = [new Map<number, number>(), new Map<number, number>()]
  for (const [id, amount] of stream) {
    whole.set(id, (whole.get(id) ?? 0) + amount)
    part.set(id >> 4, (part.get(id >> 4) ?? 0) + amount)
  }
  for (let id = 0; id < 256; id++) check(whole.get(id) ?? 0, sketch.estimate(keyOf(id)))
  const parts = sketch.aggregate(keyPart(0, 1)).map((row) => [row.key[0]!, row] as const)
  for (const [id, row] of parts) check(part.get(id) ?? 0, row)
  return exact
}

it('sure answers are right, after merging and as bytes, too', () => {
  let exact = 0
  holds(
    fc.property(
      streams,
      streams,
      fc.nat(),
      fc.constantFrom(31, 53),
      fc.constantFrom(300, 1500),
      (a, b, seed, bits, bytes) => {
        const [one, other] = [fill(a, seed, bits, bytes), fill(b, seed, bits, bytes)]
        one.merge(other)
        exact += exactAnswers(sketchFromBytes(one.toBytes(), 'coco'), [...a, ...b])
      },
    ),
    200,
  )
  expect(exact).toBeGreaterThan(1000)
})

it('few keys have buckets to themselves: each answer is exact', () => {
  const sketch = fill(
    [7, 1000, 30, 7, 30, 30].map((amount, i) => [i % 3, amount]),
    1,
    31,
    4000,
  )
  expect([0, 1, 2, 3].map((id) => sketch.estimate(keyOf(id)))).toEqual(
    [14, 1030, 60, 0].map((value) => ({ value, lower: value, upper: value, confidence: 1 })),
  )
  expect(sketch.mostOfAbsent).toBe(0)
})
