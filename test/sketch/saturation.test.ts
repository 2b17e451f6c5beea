/** What sketches answer when counters reached their end, and other keys came after that. */
import { describe, expect, it } from 'vitest'
import { type AmountSketch, createSketch, type Estimate, keyPart, sketchFromBytes } from '../../src/sketch/index.ts'
import { type AmountKind, amountKinds, keyBytes } from './traces.ts'

const most = 0xffffffff
const large = new Uint8Array(keyBytes).fill(0x5a)
const keyOf = (i: number) => new Uint8Array(keyBytes).fill(i, 0, 1).fill(i >> 8, 1, 2)

/** One key far above 2^31, and then small ones, of which some share its counters. */
function fill<S extends AmountSketch>(sketch: S): S {
  for (let i = 0; i < 4; i++) sketch.update(large, most)
  for (let i = 0; i < 600; i++) sketch.update(keyOf(i), 1000)
  return sketch
}

function expectInside(truth: number, { value, lower, upper }: Estimate): void {
  expect(lower).toBeLessThanOrEqual(truth)
  expect(upper).toBeGreaterThanOrEqual(truth)
  expect(lower).toBeLessThanOrEqual(value)
  expect(upper).toBeGreaterThanOrEqual(value)
}

const own: Partial<Record<AmountKind, object>> = {
  nitro: { sampling: 1, candidates: 5, rows: 1 },
  univmon: { levels: 1, rows: 1 },
  count: { rows: 1, candidates: 5 },
  heavykeeper: { k: 5 },
}
const make = (kind: AmountKind, seed: number) =>
  createSketch(kind, { bytes: 3000, keyBytes, seed, ...own[kind] } as never)

describe.each(amountKinds)('%s with a saturated counter', (kind) => {
  it.each([1, 5])(
    'has bounds that hold, also when others moved the counter, after merging and as bytes (%d)',
    (seed) => {
      const sketch = fill(make(kind, seed)) as unknown as AmountSketch
      expectInside(4 * most, sketch.estimate(large))
      const copy = sketchFromBytes(sketch.toBytes()) as unknown as AmountSketch & { merge?(other: AmountSketch): void }
      expect(copy.estimate(large)).toEqual(sketch.estimate(large))
      if (copy.merge === undefined || kind === 'heavykeeper' || kind === 'flowradar') return
      const into = make(kind, seed) as unknown as typeof copy
      into.merge!(copy)
      expectInside(4 * most, into.estimate(large))
    },
  )
})

describe('one key far above 2^31', () => {
  const only = <K extends 'univmon' | 'mrac'>(kind: K) => {
    const sketch = createSketch(kind, { bytes: 3000, keyBytes, seed: 4, ...(kind === 'univmon' && { levels: 1 }) })
    for (let i = 0; i < 4; i++) sketch.update(large, most)
    return sketch
  }

  it.each(['univmon', 'mrac'] as const)('%s: its entropy of zero is within the bounds', (kind) => {
    const { lower, upper } = only(kind).entropy()
    expect(lower).toBe(0)
    expect(upper).toBeGreaterThanOrEqual(0)
  })

  it('univmon: sums have no upper bound, cardinality the total', () => {
    expect(only('univmon').sum((f) => f ** 2).upper).toBe(Number.POSITIVE_INFINITY)
    expectInside(1, only('univmon').cardinality())
  })
})

it('coco: a key whose saturated count was replaced has no certain bound', () => {
  let replaced = 0
  for (let seed = 0; seed < 20; seed++) {
    const sketch = createSketch('coco', { bytes: 512, keyBytes: 4, arrays: 1, seed })
    const add = (id: number, times: number) => {
      for (let i = 0; i < times; i++) sketch.update(Uint8Array.of(id, 0, 0, 0), 2 ** 30)
    }
    add(1, 30)
    for (let id = 2; id < 40; id++) add(id, 1)
    const { value, lower, upper, confidence } = sketch.estimate(Uint8Array.of(1, 0, 0, 0))
    if (value === 0) expect([lower, upper >= 30 * 2 ** 30 || confidence < 1]).toEqual([0, true])
    if (value === 0) replaced++
  }
  expect(replaced).toBeGreaterThan(0)
})

describe('coco with counts of 53 bits', () => {
  const make = (seed = 1, bytes = 20_000) => createSketch('coco', { bytes, keyBytes, seed, countBits: 53 })

  it('counts far above 2^31, also of partial keys, after merging and as bytes', () => {
    const [first, second] = [fill(make()), fill(make())]
    expect(first.estimate(large).value / (4 * most)).toBeCloseTo(1, 4)
    first.merge(second)
    const copy = sketchFromBytes(first.toBytes(), 'coco')
    for (const sketch of [first, copy]) {
      const [top] = sketch.aggregate(keyPart(0, 1))
      expect(top!.key[0]).toBe(0x5a)
      expect(top!.value / (8 * most)).toBeCloseTo(1, 4)
      expectInside(8 * most, top!)
    }
    expect(copy.config.countBits).toBe(53)
  })

  it('counts as with 31 bits what those can hold: in as many buckets, the same', () => {
    const [wide, narrow] = [
      make(3, 8 * 8 + 2 * 24 * 100),
      createSketch('coco', { bytes: 64 + 4000, keyBytes, seed: 3 }),
    ]
    expect(wide.config.width).toBe(narrow.config.width)
    for (const sketch of [wide, narrow]) for (let i = 0; i < 3000; i++) sketch.update(keyOf((i * i) % 700), 1 + (i % 9))
    expect(wide.topK(300)).toEqual(narrow.topK(300))
  })

  it('does not merge with one of 31 bits, and takes no other number', () => {
    expect(() =>
      make().merge(createSketch('coco', { bytes: 64 + 40 * make().config.width, keyBytes, seed: 1 })),
    ).toThrow(/countBits/)
    expect(() => createSketch('coco', { bytes: 20_000, keyBytes, countBits: 32 as never })).toThrow(/countBits/)
  })

  it('saturates at 2^53, and says so', () => {
    const sketch = make()
    sketch.update(large, most)
    const other = make()
    for (let i = 0; i < 22; i++) {
      // Each doubles: beyond 2^53 after 22 of them.
      const copy = sketchFromBytes(sketch.toBytes(), 'coco')
      sketch.merge(copy)
    }
    other.merge(sketch)
    const { value, upper } = other.estimate(large)
    expect(value).toBe(Number.MAX_SAFE_INTEGER)
    expect(upper).toBe(other.total)
  })
})
