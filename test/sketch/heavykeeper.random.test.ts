/** HeavyKeeper's bounds hold at their confidence, from an empty sketch to one that has a hundred keys for each bucket. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createSketch } from '../../src/sketch/index.ts'
import { Random, seedFrom } from '../../src/sketch/seed.ts'
import { holds, seeds } from '../property.ts'

const keyBytes = 4
/** How many sketches a configuration is judged by: its 40 keys have a fifth of the failures that one sketch allows. */
const runs = 10

interface Load {
  keys: number
  each: number
  skew: number
  bytes: number
  arrays: number
  base: number
}
const loads: fc.Arbitrary<Load> = fc.record({
  keys: fc.constantFrom(1, 5, 20, 40, 100, 400),
  each: fc.constantFrom(1, 10, 300),
  skew: fc.constantFrom(0, 0.2, 0.7, 1.2),
  bytes: fc.constantFrom(450, 700, 3000),
  arrays: fc.integer({ min: 1, max: 4 }),
  base: fc.constantFrom(1.08, 1.15, 1.5, 2),
})

it('whatever the load', () => {
  holds(
    fc.property(loads, seeds, ({ keys, each, skew, bytes, arrays, base }, seed) => {
      const amounts = Array.from({ length: keys }, (_, i) => Math.max(1, Math.round(each / (i + 1) ** skew)))
      let [outside, allowed] = [0, 0]
      for (let run = 0; run < runs; run++) {
        const random = new Random(seedFrom(seed + run))
        const sketch = createSketch('heavykeeper', { bytes, keyBytes, k: 2, arrays, base, seed: seed + run })
        const stream = amounts.flatMap((amount, key) => new Array<number>(amount).fill(key))
        // In random order.
        for (let i = stream.length - 1; i > 0; i--) {
          const j = Math.floor(random.unit() * (i + 1))
          const [a, b] = [stream[i]!, stream[j]!]
          stream[i] = b
          stream[j] = a
        }
        const packed = new DataView(new ArrayBuffer(stream.length * keyBytes))
        for (const [i, key] of stream.entries()) packed.setUint32(i * keyBytes, key)
        sketch.updateMany(new Uint8Array(packed.buffer))
        const asked = new DataView(new ArrayBuffer(keyBytes))
        for (const [key, amount] of amounts.entries()) {
          asked.setUint32(0, key)
          const { lower, upper, confidence } = sketch.estimate(new Uint8Array(asked.buffer))
          if (amount < lower || amount > upper) outside++
          allowed += 1 - confidence
        }
      }
      // Keys of one sketch share its buckets, so that they fail together: as many more as a sketch has keys.
      expect(outside).toBeLessThanOrEqual(allowed + 3 * Math.sqrt(allowed * Math.min(keys, 8)) + 1)
    }),
    12,
    60,
  )
})
