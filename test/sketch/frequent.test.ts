/** Space-Saving and Misra-Gries: what is certain, for every stream. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'

const streams = fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 20 })), { maxLength: 200 })

describe.each(['space-saving', 'misra-gries'] as const)('%s', (kind) => {
  const make = () => createSketch(kind, { bytes: 500, keyBytes: 1, seed: 1 })
  const { capacity } = make().config

  function check(sketch: ReturnType<typeof make>, stream: readonly (readonly [number, number])[]): void {
    const counts = new Map<number, number>()
    for (const [id, amount] of stream) counts.set(id, (counts.get(id) ?? 0) + amount)
    for (let id = 0; id <= 30; id++) {
      const count = counts.get(id) ?? 0
      const { value, lower, upper, confidence } = sketch.estimate(Uint8Array.of(id))
      expect(confidence).toBe(1)
      expect(lower).toBeLessThanOrEqual(count)
      expect(upper).toBeGreaterThanOrEqual(count)
      expect(upper - lower).toBeLessThanOrEqual(sketch.total / capacity)
      // Every key above N / k is kept.
      if (count > sketch.total / capacity) expect(value).toBeGreaterThan(0)
    }
  }
  const fill = (stream: readonly (readonly [number, number])[]) => {
    const sketch = make()
    for (const [id, amount] of stream) sketch.update(Uint8Array.of(id), amount)
    return sketch
  }

  it('keeps fewer keys than there are', () => expect(capacity).toBeLessThan(20))

  it('has bounds that always hold', () => {
    holds(
      fc.property(streams, (stream) => check(fill(stream), stream)),
      60,
    )
  })

  it('has them for both streams after merging', () => {
    holds(
      fc.property(streams, streams, (a, b) => {
        const [first, second] = [fill(a), fill(b)]
        first.merge(second as never)
        expect(first.total).toBe([...a, ...b].reduce((sum, [, amount]) => sum + amount, 0))
        check(first, [...a, ...b])
      }),
      60,
    )
  })
})
