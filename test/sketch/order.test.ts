/** Where the order of updates must not matter, it does not, nor how they are cut into calls. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createSketch, type KeySketch } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { exactTrace, keyBytes, textOf } from './traces.ts'

const trace = exactTrace({ flows: 200, packets: 600, skew: 1, seed: 8 })
const keys = Array.from({ length: trace.packets }, (_, i) => trace.keys.subarray(i * keyBytes, (i + 1) * keyBytes))

it.each(['count-min', 'count', 'hyperloglog', 'linear-counting', 'mrac'] as const)('%s', (kind) => {
  const make = () => createSketch(kind, { bytes: 3000, keyBytes, seed: 1 }) as KeySketch
  const inOrder = make()
  inOrder.updateMany(trace.keys)
  const bytes = textOf(inOrder.toBytes())
  const order = fc.shuffledSubarray(keys, { minLength: keys.length })
  holds(
    fc.property(order, fc.nat(keys.length), (shuffled, cut) => {
      const packed = Uint8Array.from(shuffled.flatMap((key) => [...key]))
      const sketch = make()
      sketch.updateMany(packed.subarray(0, cut * keyBytes))
      sketch.updateMany(packed.subarray(cut * keyBytes))
      expect(textOf(sketch.toBytes())).toBe(bytes)
    }),
    5,
  )
})
