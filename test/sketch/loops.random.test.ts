/** Where a sketch adds keys in a loop for the usual case and in one for all cases, both follow the same rules. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, type HeavyKeeper } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { exactTrace, keyBytes } from './traces.ts'

it('CocoSketch with counts of 31 bits has the keys and counts that it has with 53', () => {
  const updates = fc.array(fc.tuple(fc.nat(60), fc.nat(2000)), { maxLength: 400 })
  holds(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom(4, 13, 48),
      fc.nat(1000),
      updates,
      (arrays, length, seed, list) => {
        const words = (length + 3) >> 2
        const made = ([31, 53] as const).map((countBits) =>
          createSketch('coco', {
            ...{ keyBytes: length, seed, arrays, countBits },
            // As many buckets with both: each has its key, its count, and for 53 bits another word.
            bytes: 64 + 4 * arrays * (1 + words + (countBits === 53 ? 1 : 0)) * 8,
          }),
        )
        expect(made.map(({ config }) => config.width)).toEqual([8, 8])
        const keys = new Uint8Array(list.length * length)
        for (const [i, [key]] of list.entries()) keys.fill(key, i * length, (i + 1) * length)
        for (const sketch of made)
          sketch.updateMany(
            keys,
            Uint32Array.from(list, ([, amount]) => amount),
          )
        const [narrow, wide] = made.map((sketch) => sketch.aggregate((key) => key))
        expect(narrow).toEqual(wide)
      },
    ),
  )
})

describe('HeavyKeeper, of single updates', () => {
  /** Adds keys in the loop for all cases, as it does when counts may be above 2^31. */
  const addSlowly = (sketch: HeavyKeeper, keys: Uint8Array): void => {
    Object.defineProperty(sketch, 'isSmall', { value: false })
    sketch.updateMany(keys)
  }

  it('has the same keys and counts where none shares a bucket', () => {
    const alone = fc.array(fc.nat(3), { maxLength: 300 })
    holds(
      fc.property(alone, fc.integer({ min: 1, max: 4 }), fc.nat(20), (list, k, seed) => {
        const made = [0, 1].map(() => createSketch('heavykeeper', { bytes: 200_000, keyBytes: 1, k, seed }))
        made[0]!.updateMany(Uint8Array.from(list))
        addSlowly(made[1]!, Uint8Array.from(list))
        const [fast, slow] = made.map((sketch) => sketch.topK(4).map(({ key, value }) => [key[0], value]))
        expect(fast).toEqual(slow)
      }),
    )
  })

  it('lets counts decay as often, and finds as much', () => {
    const trace = exactTrace({ flows: 1000, packets: 4000, skew: 0.9, seed: 3 })
    const [fast, slow] = [false, true].map((isSlow) => {
      const sums = { large: 0, small: 0, found: 0 }
      for (let seed = 0; seed < 15; seed++) {
        const sketch = createSketch('heavykeeper', { bytes: 1500, keyBytes, k: 20, seed })
        if (isSlow) addSlowly(sketch, trace.keys)
        else sketch.updateMany(trace.keys)
        for (const { key, value } of sketch.topK(20)) {
          sums.large += value
          if (trace.countOf(key) >= trace.countOf(trace.flows[19]!.key)) sums.found++
        }
        for (const { key } of trace.flows.slice(20, 200)) sums.small += sketch.estimate(key).value
      }
      return sums
    })
    for (const name of ['large', 'small', 'found'] as const)
      expect([name, Math.abs(fast![name] / slow![name] - 1) < 0.03]).toEqual([name, true])
  })
})
