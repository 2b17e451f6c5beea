/** What holds for every kind that answers by key: forms of update, bytes, refusals, bounds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AmountSketch, createSketch, KeySketch, SketchError, sketchFromBytes } from '../../src/sketch/index.ts'
import { holds } from '../property.ts'
import { type AmountKind, amountKinds, exactTrace, keyBytes, textOf } from './traces.ts'

const own: Partial<Record<AmountKind, object>> = {
  'count-min': { candidates: 20 },
  conservative: { candidates: 20 },
  count: { candidates: 20 },
  heavykeeper: { k: 20 },
  nitro: { candidates: 20, sampling: 1 },
  univmon: { levels: 4 },
}
const sketch = <K extends AmountKind>(kind: K, seed = 1, bytes = 8000) =>
  createSketch(kind, { bytes, keyBytes, seed, ...own[kind] } as never)
const amounts = (bytes: Uint8Array): AmountSketch => {
  const sketch = sketchFromBytes(bytes)
  if (sketch instanceof AmountSketch) return sketch
  throw new Error(`${sketch.kind} does not answer by key`)
}
const trace = exactTrace({ flows: 300, packets: 3000, skew: 1.1, seed: 5 })
const wide = exactTrace({ flows: 3000, packets: 6000, skew: 0.9, seed: 6 })

function codeOf(body: () => unknown): string {
  try {
    body()
  } catch (error) {
    expect(error).toBeInstanceOf(SketchError)
    return (error as SketchError).code
  }
  return 'nothing was thrown'
}

describe.each(amountKinds)('%s', (kind) => {
  it('takes no more memory than it was given', () => {
    for (const bytes of [1500, 8000, 100_003]) expect(sketch(kind, 1, bytes).bytes).toBeLessThanOrEqual(bytes)
  })

  it('is the same by single updates and by packed keys, amounts included', () => {
    const [single, packed] = [sketch(kind), sketch(kind)]
    const amounts = Uint32Array.from({ length: 600 }, (_, i) => i % 5)
    packed.updateMany(trace.keys.subarray(0, 600 * keyBytes), amounts)
    for (let i = 0; i < 600; i++) single.update(trace.keys.subarray(i * keyBytes, (i + 1) * keyBytes), amounts[i])
    expect(single.total).toBe(amounts.reduce((sum, amount) => sum + amount, 0))
    expect(packed.total).toBe(single.total)
    // Tables of candidates look at estimates after a block of keys; counters are the same.
    const asked = (which: typeof single) => trace.flows.map(({ key }) => which.estimate(key).value)
    expect(asked(packed)).toEqual(asked(single))
  })

  it('goes through bytes, and on from there', () => {
    const original = sketch(kind)
    original.updateMany(wide.keys)
    const bytes = original.toBytes()
    const copy = amounts(bytes)
    expect(copy.constructor).toBe(original.constructor)
    expect(textOf(copy.toBytes())).toBe(textOf(bytes))
    expect(copy.config).toEqual(original.config)
    expect(copy.topK(10)).toEqual(original.topK(10))
    for (const one of [original, copy]) one.updateMany(trace.keys)
    expect(copy.topK(10)).toEqual(original.topK(10))
    expect(copy.total).toBe(9000)
  })

  it('is read as the kind that is asked for, and as no other', () => {
    const bytes = sketch(kind).toBytes()
    expect(sketchFromBytes(bytes, kind).kind).toBe(kind)
    expect(codeOf(() => sketchFromBytes(bytes, 'ddsketch'))).toBe('ERR_SKETCH_MISMATCH')
  })

  it('knows a few keys exactly', () => {
    const few = sketch(kind, 3, 40_000)
    const keys = [1, 2, 3].map((i) => new Uint8Array(keyBytes).fill(i))
    for (const [i, key] of keys.entries()) few.update(key, 10 * (i + 1))
    expect(keys.map((key) => few.estimate(key).value)).toEqual([10, 20, 30])
    expect(few.topK(2).map(({ key, value }) => [key, value])).toEqual([
      [keys[2], 30],
      [keys[1], 20],
    ])
    expect(few.heavyHitters(20).map(({ value }) => value)).toEqual([30, 20])
    expect(few.estimate(new Uint8Array(keyBytes).fill(9)).value).toBe(0)
  })

  it('holds its bounds for at least as many flows as its confidence says', () => {
    const filled = sketch(kind)
    filled.updateMany(wide.keys)
    let [outside, allowed] = [0, 0]
    for (const { key, count } of wide.flows) {
      const { value, lower, upper, confidence } = filled.estimate(key)
      expect(lower).toBeLessThanOrEqual(value)
      expect(upper).toBeGreaterThanOrEqual(value)
      if (count < lower || count > upper) outside++
      allowed += 1 - confidence
    }
    expect(outside).toBeLessThanOrEqual(allowed)
  })

  it('does not wrap around', () => {
    const large = sketch(kind)
    const key = new Uint8Array(keyBytes)
    for (let i = 0; i < 4; i++) large.update(key, 0xffffffff)
    const { lower, upper } = large.estimate(key)
    expect(large.total).toBe(4 * 0xffffffff)
    expect(lower).toBeLessThanOrEqual(large.total)
    expect(upper).toBe(large.total)
  })

  it('rejects keys, amounts, options and thresholds that are not right', () => {
    const some = sketch(kind)
    expect(codeOf(() => some.update(new Uint8Array(12)))).toBe('ERR_SKETCH_VALUE')
    expect(codeOf(() => some.estimate(new Uint8Array(14)))).toBe('ERR_SKETCH_VALUE')
    expect(codeOf(() => some.updateMany(new Uint8Array(14)))).toBe('ERR_SKETCH_VALUE')
    expect(codeOf(() => some.updateMany(new Uint8Array(26), new Uint32Array(3)))).toBe('ERR_SKETCH_VALUE')
    for (const amount of [-1, 0.5, 2 ** 32, Number.NaN])
      expect(codeOf(() => some.update(new Uint8Array(13), amount))).toBe('ERR_SKETCH_VALUE')
    expect(some.total).toBe(0)
    for (const options of [{ bytes: 20 }, { bytes: Number.NaN }, { keyBytes: 0 }, { keyBytes: 257 }, { seed: -1 }])
      expect(codeOf(() => createSketch(kind, { bytes: 8000, keyBytes: 13, ...options }))).toBe('ERR_SKETCH_VALUE')
    expect(codeOf(() => some.heavyHitters(0))).toBe('ERR_SKETCH_VALUE')
  })

  it('has keys of every length', () => {
    for (const length of [1, 2, 3, 4, 5, 16, 256]) {
      const some = createSketch(kind, { bytes: 60_000, keyBytes: length, seed: 2, ...own[kind] } as never)
      const keys = [1, 2].map((i) => new Uint8Array(length).fill(0x80 + i))
      some.update(keys[0]!, 5)
      some.update(keys[1]!, 7)
      expect(keys.map((key) => some.estimate(key).value)).toEqual([5, 7])
      expect(amounts(some.toBytes()).topK(2)).toEqual(some.topK(2))
    }
  })
})

describe('seeds', () => {
  it('are random by default, and 16 bytes or a number otherwise', () => {
    const options = { bytes: 1000, keyBytes: 4 }
    const seeds = [1, 2].map(() => createSketch('coco', options).seed)
    expect(seeds[0]).not.toEqual(seeds[1])
    expect(createSketch('coco', { ...options, seed: seeds[0]! }).seed).toEqual(seeds[0])
    expect(codeOf(() => createSketch('coco', { ...options, seed: new Uint8Array(15) }))).toBe('ERR_SKETCH_VALUE')
  })
})

describe('sketches that are updated together', () => {
  const make = (seed = 1, length = keyBytes) => createSketch('coco', { bytes: 8000, keyBytes: length, seed })

  it('are as if each was updated alone', () => {
    const amounts = Uint32Array.from({ length: wide.packets }, (_, i) => i % 5)
    const [first, second] = [make(), createSketch('elastic', { bytes: 8000, keyBytes, seed: 1 })]
    KeySketch.updateAll([first, second], wide.keys, [amounts, 1])
    const [one, other] = [make(), createSketch('elastic', { bytes: 8000, keyBytes, seed: 1 })]
    one.updateMany(wide.keys, amounts)
    other.updateMany(wide.keys)
    expect(textOf(first.toBytes())).toBe(textOf(one.toBytes()))
    expect(textOf(second.toBytes())).toBe(textOf(other.toBytes()))
  })

  it('have keys of one length, one seed, and take them as they come', () => {
    const sampled = createSketch('nitro', { bytes: 8000, keyBytes, seed: 1 })
    const keyless = createSketch('count-min', { bytes: 8000, keyBytes, seed: 1 })
    for (const other of [make(2), make(1, 14), sampled, keyless])
      expect(codeOf(() => KeySketch.updateAll([make(), other], trace.keys, [1, 1]))).toBe('ERR_SKETCH_MISMATCH')
    expect(codeOf(() => KeySketch.updateAll([make(), make()], trace.keys, [1]))).toBe('ERR_SKETCH_VALUE')
    KeySketch.updateAll([], trace.keys, [])
  })
})

describe('merging and subtracting', () => {
  const merging = [
    ...(['count-min', 'conservative', 'count', 'coco', 'elastic', 'space-saving', 'misra-gries'] as const),
    ...(['fast-path', 'sketchvisor', 'nitro', 'univmon', 'ld', 'sketchlearn'] as const),
  ]
  it.each(merging)('%s: what does not fit is rejected, and nothing changes', (kind) => {
    const some = sketch(kind) as unknown as { merge(other: unknown): void; toBytes(): Uint8Array }
    const before = some.toBytes()
    const others = [sketch(kind, 2), sketch(kind, 1, 9000), sketch(kind === 'coco' ? 'elastic' : 'coco'), some]
    for (const other of others) expect(codeOf(() => some.merge(other))).toBe('ERR_SKETCH_MISMATCH')
    expect(textOf(some.toBytes())).toBe(textOf(before))
  })

  it.each(['count-min', 'count'] as const)('%s: merging is the union, subtracting takes it back', (kind) => {
    holds(
      fc.property(fc.nat(2999), (cut) => {
        const make = () => createSketch(kind, { bytes: 3000, keyBytes, seed: 1 })
        const [first, second, both] = [make(), make(), make()]
        first.updateMany(trace.keys.subarray(0, cut * keyBytes))
        second.updateMany(trace.keys.subarray(cut * keyBytes))
        both.updateMany(trace.keys)
        const before = first.toBytes()
        first.merge(second as never)
        expect(textOf(first.toBytes())).toBe(textOf(both.toBytes()))
        if (kind === 'count-min') {
          first.subtract(second as never)
          expect(textOf(first.toBytes())).toBe(textOf(before))
        }
      }),
      5,
    )
  })

  it.each(merging.filter((kind) => kind !== 'count-min' && kind !== 'count'))(
    '%s: the merged sketch keeps total and bounds',
    (kind) => {
      const [first, second] = [sketch(kind), sketch(kind)]
      first.updateMany(wide.keys)
      second.updateMany(trace.keys)
      first.merge(second as never)
      expect(first.total).toBe(9000)
      let [outside, allowed] = [0, 0]
      for (const { key, count } of [...wide.flows, ...trace.flows]) {
        const truth = count + (wide.countOf(key) === count ? trace.countOf(key) : wide.countOf(key))
        const { lower, upper, confidence } = first.estimate(key)
        if (truth < lower || truth > upper) outside++
        allowed += 1 - confidence
      }
      expect(outside).toBeLessThanOrEqual(allowed)
      expect(amounts(first.toBytes()).topK(5)).toEqual(first.topK(5))
    },
  )

  it('count-min: only an earlier state is subtracted; conservative: nothing', () => {
    const [one, other] = [sketch('count-min'), sketch('count-min')]
    other.updateMany(trace.keys)
    expect(codeOf(() => (one as unknown as { subtract(a: unknown): void }).subtract(other))).toBe('ERR_SKETCH_MISMATCH')
    const make = () => createSketch('conservative', { bytes: 4000, keyBytes, seed: 1 })
    expect(codeOf(() => make().subtract(make()))).toBe('ERR_SKETCH_UNSUPPORTED')
  })

  it('count: a difference estimates changes of either sign', () => {
    const make = () => createSketch('count', { bytes: 40_000, keyBytes, seed: 1, candidates: 10 })
    const [before, after] = [make(), make()]
    const keys = [1, 2, 3].map((i) => new Uint8Array(keyBytes).fill(i))
    for (const [i, key] of keys.entries()) {
      before.update(key, 100)
      after.update(key, 50 * (i + 1))
    }
    after.subtract(before)
    expect(keys.map((key) => after.estimate(key).value)).toEqual([-50, 0, 50])
  })
})
