/** Every stated bound holds at its confidence over 100 seeds: for all flows together, and for each of the largest. */
import { describe, expect, it } from 'vitest'
import { createSketch } from '../../src/sketch/index.ts'
import { type AmountKind, amountKinds, entropyBits, exactTrace, keyBytes } from './traces.ts'

const seeds = 100
const largest = 50
const memory: Partial<Record<AmountKind, object>> = { heavykeeper: { bytes: 12_000, k: 50 } }

describe.each([0.8, 1.1, 1.4])('skew %d', (skew) => {
  const trace = exactTrace({ flows: 4000, packets: 20_000, skew, seed: 11 })

  it.each(amountKinds)('%s', (kind) => {
    const failures = new Uint32Array(trace.flows.length)
    const doubt = new Float64Array(trace.flows.length)
    for (let seed = 0; seed < seeds; seed++) {
      const sketch = createSketch(kind, { bytes: 20_000, keyBytes, seed, coins: seed, ...memory[kind] } as never)
      sketch.updateMany(trace.keys)
      for (const [i, { key, count }] of trace.flows.entries()) {
        const { lower, upper, confidence } = sketch.estimate(key)
        if (count < lower || count > upper) failures[i]!++
        doubt[i]! += 1 - confidence
      }
    }
    const sum = (values: Iterable<number>) => [...values].reduce((all, value) => all + value, 0)
    expect(sum(failures)).toBeLessThanOrEqual(sum(doubt))
    // A flow alone may be unlucky: by three standard deviations of so many draws, and one.
    for (let i = 0; i < largest; i++)
      expect(failures[i], `flow ${i}`).toBeLessThanOrEqual(doubt[i]! + 3 * Math.sqrt(doubt[i]!) + 1)
  })

  it.each(['hyperloglog', 'linear-counting'] as const)('%s', (kind) => {
    let [outside, doubt] = [0, 0]
    for (let seed = 0; seed < seeds; seed++) {
      const sketch = createSketch(kind, { bytes: 1200, keyBytes, seed })
      sketch.updateMany(trace.keys)
      const { lower, upper, confidence } = sketch.cardinality()
      if (trace.flows.length < lower || trace.flows.length > upper) outside++
      doubt += 1 - confidence
    }
    expect(outside).toBeLessThanOrEqual(doubt + 3 * Math.sqrt(doubt))
  })

  it.each(['elastic', 'mrac', 'univmon'] as const)('cardinality and entropy of %s', (kind) => {
    const entropy = entropyBits(trace)
    let [few, apart, doubt] = [0, 0, 0]
    for (let seed = 0; seed < seeds; seed++) {
      const sketch = createSketch(kind, { bytes: 20_000, keyBytes, seed })
      sketch.updateMany(trace.keys)
      const [keys, bits] = [sketch.cardinality(), sketch.entropy()]
      if (trace.flows.length < keys.lower || trace.flows.length > keys.upper) few++
      if (entropy < bits.lower || entropy > bits.upper) apart++
      doubt += 1 - keys.confidence
    }
    expect(Math.max(few, apart)).toBeLessThanOrEqual(doubt + 3 * Math.sqrt(doubt))
  })
})
