import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, type LdSketch, sketchFromBytes, Workers } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { exactTrace, heavy, keyBytes, nameOf } from './traces.ts'

type Stream = (readonly [number, number])[]
const streams: fc.Arbitrary<Stream> = fc.array(fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 20 })), {
  maxLength: 300,
})

function fill(stream: Stream, threshold: number, seed = 1): LdSketch {
  const sketch = createSketch('ld', { bytes: 900, keyBytes: 1, seed, threshold })
  for (const [id, amount] of stream) sketch.update(Uint8Array.of(id), amount)
  return sketch
}

function check(sketch: LdSketch, stream: Stream): void {
  const counts = new Map<number, number>()
  for (const [id, amount] of stream) counts.set(id, (counts.get(id) ?? 0) + amount)
  const kept = new Set(sketch.topK(1000).map(({ key }) => key[0]))
  for (let id = 0; id <= 40; id++) {
    const truth = counts.get(id) ?? 0
    const { value, lower, upper } = sketch.estimate(Uint8Array.of(id))
    expect(lower).toBeLessThanOrEqual(truth)
    expect(upper).toBeGreaterThanOrEqual(truth)
    expect(value).toBe(upper)
    if (truth > sketch.missable) expect(kept.has(id)).toBe(true)
  }
}

describe('LD-Sketch', () => {
  it('has bounds that always hold and misses nothing above its error, also after merging and bytes', () => {
    holds(
      fc.property(streams, streams, fc.constantFrom(0, 30, 200), (a, b, threshold) => {
        const [first, second] = [fill(a, threshold), fill(b, threshold)]
        check(first, a)
        first.merge(second)
        check(sketchFromBytes(first.toBytes(), 'ld'), [...a, ...b])
      }),
      20,
    )
  })

  it('finds every heavy hitter, and reports none that is more than T = threshold / 2 below', () => {
    const trace = exactTrace({ flows: 10_000, packets: 100_000, skew: 1, seed: 3 })
    const threshold = 300
    const sketch = createSketch('ld', { bytes: 80_000, keyBytes, seed: 1, threshold })
    sketch.updateMany(trace.keys)
    expect(sketch.missable).toBeLessThanOrEqual(threshold / 2)
    const found = new Set(sketch.heavyHitters(threshold).map(({ key }) => nameOf(key)))
    for (const name of heavy(trace, threshold)) expect(found.has(name)).toBe(true)
    for (const { key, count } of trace.flows)
      if (found.has(nameOf(key))) expect(count).toBeGreaterThanOrEqual(threshold / 2)
  })
})

describe('workers', () => {
  const trace = exactTrace({ flows: 5000, packets: 60_000, skew: 1, seed: 3 })
  const packetAt = (i: number) => trace.keys.subarray(i * keyBytes, (i + 1) * keyBytes)

  it.each([1, 2, 4])('confirm each other: %d for each key', (copies) => {
    const threshold = 300
    const workers = new Workers({ workers: 8, copies, keyBytes, seed: 5, coins: 1 })
    const sketches = Array.from({ length: 8 }, (_, i) => createSketch('ld', { bytes: 8000, keyBytes, seed: i }))
    for (let i = 0; i < trace.packets; i++) sketches[workers.next(packetAt(i))]!.update(packetAt(i))
    expect(sketches.reduce((sum, { total }) => sum + total, 0)).toBe(trace.packets)
    for (const { key, count } of trace.flows.slice(0, 200)) {
      const { lower, upper } = workers.estimate(sketches, key)
      expect(lower).toBeLessThanOrEqual(count)
      expect(upper).toBeGreaterThanOrEqual(count)
    }
    const found = new Set(workers.heavyHitters(sketches, threshold).map(({ key }) => nameOf(key)))
    const local = new Set(
      sketches.flatMap((sketch) => sketch.heavyHitters(threshold / copies / 2).map(({ key }) => nameOf(key))),
    )
    expect(found).toEqual(heavy(trace, threshold))
    expect(local.size).toBeGreaterThan(1.5 * found.size)
  })

  it('of a key are d different ones, the same everywhere, and spread evenly', () => {
    const make = (seed: number) => new Workers({ workers: 5, copies: 3, keyBytes, seed })
    const loads = new Array<number>(5).fill(0)
    for (const { key } of trace.flows.slice(0, 2000)) {
      const chosen = make(1).of(key)
      expect(new Set(chosen).size).toBe(3)
      expect(chosen.every((worker) => worker >= 0 && worker < 5)).toBe(true)
      for (const worker of chosen) loads[worker]!++
    }
    for (const load of loads) expect(Math.abs(load / (2000 * 0.6) - 1)).toBeLessThan(0.1)
    expect(make(1).of(packetAt(0))).toEqual(make(1).of(packetAt(0)))
    expect(() => make(1).of(new Uint8Array(2))).toThrow(/key: 2/)
    expect(() => make(1).heavyHitters([], 5)).toThrow(/0 of 5/)
    expect(() => new Workers({ workers: 2, copies: 3, keyBytes, seed: 1 })).toThrow(/copies/)
  })
})
