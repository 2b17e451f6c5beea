import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch, type FlowRadar, SketchError, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { exactTrace, keyBytes, nameOf, textOf } from './traces.ts'

const make = (bytes = 60_000, seed = 1) => createSketch('flowradar', { bytes, keyBytes, seed })
const flowsOf = (sketch: FlowRadar) => sketch.topK(1e6).map(({ key, value }) => [nameOf(key), value])
const trace = exactTrace({ flows: 1300, packets: 20_000, skew: 0.9, seed: 3 })
const packetAt = (i: number) => trace.keys.subarray(i * keyBytes, (i + 1) * keyBytes)

describe('FlowRadar', () => {
  it('decodes every flow and its amount up to its capacity, and few beyond', () => {
    const sketch = make()
    expect(sketch.capacity).toBeGreaterThan(trace.flows.length)
    expect(sketch.capacity).toBeLessThan(1.15 * trace.flows.length)
    sketch.updateMany(trace.keys)
    expect(sketch.isComplete).toBe(true)
    expect(new Map(flowsOf(sketch) as [string, number][])).toEqual(
      new Map(trace.flows.map(({ key, count }) => [nameOf(key), count])),
    )
    const { confidence } = sketch.topK(1)[0]!
    expect(confidence).toBeGreaterThan(0.999)
    const small = make(40_000)
    small.updateMany(trace.keys)
    expect(small.isComplete).toBe(false)
    expect(small.topK(1e6).length).toBeLessThan(trace.flows.length / 2)
    for (const { key, count } of trace.flows) {
      const { lower, upper } = small.estimate(key)
      expect(lower).toBeLessThanOrEqual(count)
      expect(upper).toBeGreaterThanOrEqual(count)
    }
    expect(small.cardinality().value).toBe(trace.flows.length)
  })

  it('does not depend on the order, and goes through bytes', () => {
    holds(
      fc.property(fc.array(fc.tuple(fc.nat(15), fc.nat(9)), { maxLength: 60 }), (stream) => {
        const fill = (list: typeof stream) => {
          const sketch = make(5000)
          for (const [id, amount] of list) sketch.update(new Uint8Array(keyBytes).fill(id), amount)
          return sketch
        }
        const bytes = fill(stream).toBytes()
        expect(textOf(fill([...stream].reverse()).toBytes())).toBe(textOf(bytes))
        const truth = new Map<number, number>()
        for (const [id, amount] of stream) if (amount > 0) truth.set(id, (truth.get(id) ?? 0) + amount)
        const found = sketchFromBytes(bytes, 'flowradar').topK(100)
        expect(new Map(found.map(({ key, value }) => [key[0], value]))).toEqual(truth)
      }),
      30,
    )
  })

  /** Two points; of every packet from `first` on one in `every` is lost in between. */
  function points(bytes: number, every: number): { before: FlowRadar; behind: FlowRadar; lost: Map<string, number> } {
    const [before, behind] = [make(bytes), make(bytes)]
    const lost = new Map<string, number>()
    for (let i = 0; i < trace.packets; i++) {
      before.update(packetAt(i))
      if (i % every === 0) lost.set(nameOf(packetAt(i)), (lost.get(nameOf(packetAt(i))) ?? 0) + 1)
      else behind.update(packetAt(i))
    }
    return { before, behind, lost }
  }

  it('finds what was lost of each flow between two points', () => {
    const { before, behind, lost } = points(60_000, 50)
    const { complete, flows } = before.lossTo(behind)
    expect(complete).toBe(true)
    const found = flows.filter(({ value }) => value !== 0)
    expect(new Map(found.map(({ key, value }) => [nameOf(key), value]))).toEqual(lost)
    expect(flows[0]!.value).toBe(Math.max(...lost.values()))
  })

  it('has bounds for what does not decode, and points help each other', () => {
    // Behind, other flows come together with these: there are too many to decode alone.
    const { before, behind, lost } = points(60_000, 50)
    const others = exactTrace({ flows: 400, packets: 400, skew: 0, seed: 99 })
    behind.updateMany(others.keys)
    expect(behind.isComplete).toBe(false)
    const { complete, flows } = before.lossTo(behind)
    expect(complete).toBe(true)
    expect(flows.length).toBe(trace.flows.length + others.flows.length)
    for (const { key, lower, upper } of flows) {
      const truth = (lost.get(nameOf(key)) ?? 0) - others.countOf(key)
      expect(lower).toBeLessThanOrEqual(truth)
      expect(upper).toBeGreaterThanOrEqual(truth)
    }
  })

  it('rejects points with another seed or size', () => {
    expect(() => make().lossTo(make(60_000, 2))).toThrow(SketchError)
    expect(() => make().lossTo(make(50_000))).toThrow(SketchError)
    expect(() => make(200)).toThrow(/bytes: 200/)
  })
})
