import { describe, expect, it } from 'vitest'
import { createSketch, sketchFromBytes, sketchLike } from '../../src/sketch/index.ts'
import { crcUpdate } from '../../src/wire/index.ts'

describe('bytes of a sketch', () => {
  const coco = (seed: number, bytes = 4096) => createSketch('coco', { bytes, keyBytes: 4, seed })

  it('are refused with a total above 2^53, whose sums would be no numbers', () => {
    const sketch = coco(1)
    for (const total of [2 ** 53, 1e300]) {
      const bytes = sketch.toBytes()
      const view = new DataView(bytes.buffer)
      // Behind the head of a kind with four letters and three dimensions, and the seed.
      const dimensions = bytes[10]!
      view.setFloat64(11 + 8 * dimensions + 16, total, true)
      view.setInt32(bytes.length - 4, ~crcUpdate(-1, bytes, 0, bytes.length - 4), true)
      expect(() => sketchFromBytes(bytes)).toThrow('the total is impossible')
    }
  })

  it('can be asked to be like another sketch', () => {
    const sketch = coco(1)
    sketch.update(Uint8Array.of(1, 2, 3, 4), 5)
    expect(sketchLike(sketch.toBytes(), coco(1)).total).toBe(5)
    expect(() => sketchLike(sketch.toBytes(), coco(2))).toThrow('have another seed')
    expect(() => sketchLike(sketch.toBytes(), coco(1, 8192))).toThrow('are of width')
    expect(() => sketchLike(createSketch('kll', { bytes: 4096 }).toBytes(), coco(1))).toThrow('of kind kll, not coco')
    const damaged = sketch.toBytes()
    damaged[20]! ^= 1
    expect(() => sketchLike(damaged, coco(1))).toThrow('the checksum is wrong')
  })
})
