/** Keys that somebody chose so that they collide, and bytes that somebody damaged. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, SketchError, type SketchKind, sketchFromBytes, sketchKinds } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { seeded } from '../random.ts'
import { addTo, answersOf } from './any.ts'
import { textOf } from './traces.ts'

describe('keys that collide under one seed', () => {
  const target = new Uint8Array(8)
  const make = (seed: number) => createSketch('count-min', { bytes: 64 + 4 * 128 * 2, keyBytes: 8, rows: 2, seed })

  /** Keys that share all counters of the target, found as an attacker would who knows the seed. */
  function colliding(seed: number): Uint8Array[] {
    const [marked, random] = [make(seed), seeded(seed)]
    marked.update(target)
    const found: Uint8Array[] = []
    for (let i = 0; i < 120_000; i++) {
      const key = new Uint8Array(Float64Array.of(random()).buffer)
      if (marked.estimate(key).value > 0) found.push(key)
    }
    return found
  }

  it('do not under another', () => {
    const keys = colliding(1)
    expect(keys.length).toBeGreaterThan(3)
    const polluted = (seed: number): number => {
      const sketch = make(seed)
      for (const key of keys) sketch.update(key)
      return sketch.estimate(target).value
    }
    expect(polluted(1)).toBe(keys.length)
    const others = Array.from({ length: 50 }, (_, i) => polluted(i + 2))
    expect(others.reduce((sum, value) => sum + value, 0) / 50).toBeLessThan(keys.length / 20)
  })
})

describe('damaged bytes', () => {
  const key = new Uint8Array(5)
  const own: Partial<Record<SketchKind, object>> = {
    heavykeeper: { k: 20 },
    univmon: { levels: 4 },
    spread: { sourceBytes: 2, bits: 64, candidates: 10 },
    wave: { rows: 1, windows: 32, coefficients: 8 },
  }
  const whole = sketchKinds.map((kind) => {
    const sketch = createSketch(kind, { bytes: 3000, keyBytes: 5, seed: 9, ...own[kind] } as never)
    for (let i = 0; i < 200; i++) {
      key[0] = i % 50
      addTo(sketch, key, 1 + (i % 7), i)
    }
    return sketch.toBytes()
  })
  const sources = fc.integer({ min: 0, max: whole.length - 1 })
  const codeOf = (bytes: Uint8Array): string => {
    try {
      sketchFromBytes(bytes)
    } catch (error) {
      if (error instanceof SketchError) return error.code
      throw error
    }
    return 'no error'
  }

  it('of any kind are an error: flipped, cut, lengthened', () => {
    holds(
      fc.property(sources, fc.nat(), fc.integer({ min: 1, max: 255 }), (source, where, flip) => {
        const bytes = whole[source]!.slice()
        bytes[where % bytes.length]! ^= flip
        expect(codeOf(bytes)).toBe('ERR_SKETCH_BYTES')
        expect(codeOf(whole[source]!.slice(0, where % bytes.length))).toBe('ERR_SKETCH_BYTES')
        expect(codeOf(Uint8Array.of(...whole[source]!, flip))).toBe('ERR_SKETCH_BYTES')
      }),
      100,
    )
  })

  /** As somebody does it on purpose. */
  function withChecksum(bytes: Uint8Array): Uint8Array {
    let crc = -1
    for (const byte of bytes.subarray(0, -4)) {
      crc ^= byte
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
    }
    new DataView(bytes.buffer).setInt32(bytes.length - 4, ~crc, true)
    return bytes
  }

  it('with a right checksum are an error, or a sketch that works and has these bytes', () => {
    let [errors, sketches] = [0, 0]
    holds(
      fc.property(sources, fc.nat(), fc.integer({ min: 1, max: 255 }), fc.boolean(), (source, where, flip, head) => {
        const bytes = whole[source]!.slice()
        bytes[head ? where % 130 : where % bytes.length]! ^= flip
        withChecksum(bytes)
        try {
          const sketch = sketchFromBytes(bytes)
          expect(textOf(sketch.toBytes())).toBe(textOf(bytes))
          const some = new Uint8Array((sketch.config as { keyBytes?: number }).keyBytes ?? 5)
          addTo(sketch, some, 3, 300)
          for (const answer of answersOf(sketch, some)) expect(answer).not.toBeNaN()
          sketches++
        } catch (error) {
          expect(error).toBeInstanceOf(SketchError)
          expect((error as SketchError).code).toBe('ERR_SKETCH_BYTES')
          errors++
        }
      }),
      300,
    )
    expect(Math.min(errors, sketches)).toBeGreaterThan(10)
  })
})
