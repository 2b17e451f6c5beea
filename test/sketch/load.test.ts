/** Every stated bound holds at its confidence whatever the load is, from nothing to many times what the sketch has memory for. */
import { describe, expect, it } from 'vitest'
import { createSketch, type Estimate } from '../../src/sketch/index.ts'
import { amountKinds, keyBytes } from './traces.ts'

const seeds = 4
/** Flows, the packets of each, and of the first one. */
const loads = {
  nothing: [0, 0, 0],
  'one key': [1, 1, 1],
  little: [20, 3, 3],
  'as much as fits': [200, 10, 10],
  'many equal keys': [3000, 2, 2],
  'one among many': [3000, 1, 2000],
  'hopelessly many': [10_000, 1, 1],
} as const

/** Keys of flows from `first` on. */
function keysOf(count: number, first = 0): Uint8Array {
  const keys = new Uint8Array(count * keyBytes)
  const view = new DataView(keys.buffer)
  for (let i = 0; i < count; i++) {
    view.setUint32(i * keyBytes, Math.imul(first + i + 1, 0x9e3779b1))
    view.setUint32(i * keyBytes + 4, first + i)
  }
  return keys
}

/** How many answers were outside of their bounds, and how many may be. */
class Outcome {
  outside = 0
  doubt = 0

  see(truth: number, { lower, upper, confidence }: Estimate): void {
    if (truth < lower || truth > upper) this.outside++
    this.doubt += 1 - confidence
  }

  /** By three standard deviations. */
  expect(): void {
    expect(this.outside).toBeLessThanOrEqual(this.doubt + 3 * Math.sqrt(this.doubt))
  }
}

describe.each(Object.entries(loads))('%s', (_, [flows, packets, ofFirst]) => {
  const keys = keysOf(flows)
  const strangers = keysOf(20, 1e6)

  it.each(amountKinds)('%s', (kind) => {
    const outcome = new Outcome()
    for (let seed = 1; seed <= seeds; seed++) {
      const sketch = createSketch(kind, { bytes: 6000, keyBytes, seed, coins: seed, k: 10 } as never)
      for (let i = 0; i < packets; i++) sketch.updateMany(keys)
      if (flows > 0 && ofFirst > packets) sketch.update(keys.subarray(0, keyBytes), ofFirst - packets)
      for (let i = 0; i < Math.min(flows, 40); i++) {
        const flow = Math.floor((i * flows) / Math.min(flows, 40))
        const key = keys.subarray(flow * keyBytes, (flow + 1) * keyBytes)
        outcome.see(flow === 0 ? ofFirst : packets, sketch.estimate(key))
      }
      for (let i = 0; i < 20; i++) outcome.see(0, sketch.estimate(strangers.subarray(i * keyBytes, (i + 1) * keyBytes)))
    }
    outcome.expect()
  })

  it.each(['hyperloglog', 'linear-counting', 'elastic', 'mrac', 'univmon'] as const)('cardinality of %s', (kind) => {
    const outcome = new Outcome()
    for (let seed = 1; seed <= 4 * seeds; seed++) {
      const bytes = kind === 'hyperloglog' || kind === 'linear-counting' ? 300 : 6000
      const sketch = createSketch(kind, { bytes, keyBytes, seed } as never)
      for (let i = 0; i < packets; i++) sketch.updateMany(keys)
      outcome.see(flows, sketch.cardinality())
    }
    outcome.expect()
  })

  it.each(['kll', 'ddsketch'] as const)('quantiles of %s', (kind) => {
    const outcome = new Outcome()
    for (let seed = 1; seed <= seeds; seed++) {
      const sketch = createSketch(kind, { bytes: 3000, seed } as never)
      for (let i = 1; i <= flows; i++) sketch.add(i, packets)
      if (flows === 0) expect(sketch.quantile(0.5)).toBeUndefined()
      else
        for (const q of [0, 0.1, 0.5, 0.9, 0.99, 1]) outcome.see(Math.max(1, Math.ceil(q * flows)), sketch.quantile(q)!)
    }
    outcome.expect()
  })

  it('spread', () => {
    const outcome = new Outcome()
    for (let seed = 1; seed <= seeds; seed++) {
      // Source 0 reaches as many as there are flows, and 20 others one.
      const sketch = createSketch('spread', { bytes: 12_000, keyBytes, sourceBytes: 4, seed })
      const pairs = keys.slice()
      for (let i = 0; i < flows; i++) pairs.fill(0, i * keyBytes, i * keyBytes + 4)
      if (packets > 0) sketch.updateMany(pairs)
      sketch.updateMany(strangers)
      outcome.see(flows, sketch.estimate(new Uint8Array(4)))
      for (let i = 0; i < 20; i++) outcome.see(1, sketch.estimate(strangers.subarray(i * keyBytes, i * keyBytes + 4)))
    }
    outcome.expect()
  })
})
