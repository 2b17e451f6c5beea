/** What is not bytes is no key, what is not a number no value: nothing is counted as something else. */
import { describe, expect, it } from 'vitest'
import {
  AmountSketch,
  createSketch,
  type KeySketch,
  KeySketch as KeySketchClass,
  type Sketch,
  SketchError,
  type SketchKind,
  sketchKinds,
  WaveSketch,
  Workers,
} from '../../src/sketch/index.ts'

const keyBytes = 4
const own: Partial<Record<SketchKind, object>> = { spread: { sourceBytes: 2 }, wave: { windows: 64, windowNs: 1000 } }
const make = (kind: SketchKind): Sketch =>
  createSketch(kind, { bytes: 30_000, keyBytes, seed: 1, ...own[kind] } as never) as Sketch

const notBytes: readonly (readonly [what: string, value: unknown])[] = [
  ['text', 'abcd'],
  ['a Uint32Array', new Uint32Array(4)],
  ['a Uint16Array', new Uint16Array(4)],
  ['a BigUint64Array', new BigUint64Array(4)],
  ['a Float64Array', new Float64Array(4)],
  ['an array', [1, 2, 3, 4]],
  ['something with a length', { length: 4 }],
  ['a DataView', new DataView(new ArrayBuffer(4))],
  ['an ArrayBuffer', new ArrayBuffer(4)],
  ['a number', 4],
  ['a bigint', 4n],
  ['null', null],
  ['nothing', undefined],
]
const refuses = (call: () => unknown, message: RegExp): void => {
  expect(call).toThrow(SketchError)
  expect(call).toThrow(message)
  expect(call).toThrow(expect.objectContaining({ code: 'ERR_SKETCH_VALUE' }))
}

describe.each(sketchKinds.filter((kind) => kind !== 'ddsketch' && kind !== 'kll'))('%s', (kind) => {
  const sketch = make(kind)
  const update = (key: never): void =>
    sketch instanceof WaveSketch ? sketch.update(key, 1, 0) : (sketch as KeySketch).update(key)
  const updateMany = (keys: never, amounts: never = 1 as never): void =>
    sketch instanceof WaveSketch
      ? sketch.updateMany(keys, amounts, new Float64Array(1))
      : (sketch as KeySketch).updateMany(keys, amounts)

  it.each(notBytes)('%s is no key', (_, value) => {
    refuses(() => update(value as never), /^key: .* is not a Uint8Array/)
    refuses(() => updateMany(value as never), /^keys: .* is not a Uint8Array/)
    if (sketch instanceof AmountSketch) refuses(() => sketch.estimate(value as never), /^key: .* is not a Uint8Array/)
    expect(sketch.total).toBe(0)
  })

  it.each([
    ['a Float64Array', new Float64Array([1.5])],
    ['an array', [1]],
    ['a Uint8Array', new Uint8Array(1)],
    ['text', '1'],
    ['1.5', 1.5],
    ['a bigint', 1n],
  ])('%s is no amount', (_, amounts) => {
    refuses(() => updateMany(new Uint8Array(keyBytes) as never, amounts as never), /^amounts?: /)
    expect(sketch.total).toBe(0)
  })

  it('a Buffer and an Int8Array are bytes', () => {
    const fresh = make(kind)
    for (const key of [Buffer.from('abcd'), new Int8Array([97, 98, 99, 100]), new Uint8ClampedArray(4)] as never[])
      if (fresh instanceof WaveSketch) fresh.update(key, 1, 0)
      else if (fresh instanceof KeySketchClass) fresh.update(key)
    expect(fresh.total).toBe(3)
  })
})

it('says how text and numbers become bytes', () => {
  const sketch = createSketch('space-saving', { bytes: 10_000, keyBytes })
  refuses(
    () => sketch.update('abcd' as never),
    /'abcd' is not a Uint8Array; of text: new TextEncoder\(\)\.encode\(key\)/,
  )
  refuses(() => sketch.updateMany(new Uint32Array(4) as never), /a Uint32Array .*new Uint8Array\(keys\.buffer, keys/)
})

describe.each(['ddsketch', 'kll'] as const)('%s', (kind) => {
  it.each([null, '5', 5n, Number.NaN, Number.POSITIVE_INFINITY, undefined, {}])('%s is no value', (value) => {
    const sketch = createSketch(kind, { bytes: 8000 })
    refuses(() => sketch.add(value as never), /^value: .* is not a finite number/)
    sketch.add(1)
    refuses(() => sketch.quantile((typeof value === 'number' ? 2 : value) as never), /^q: .* from 0 to 1/)
    expect(sketch.total).toBe(1)
  })
})

it('a distribution over workers, seeds and thresholds take what they are for', () => {
  const workers = new Workers({ workers: 4, copies: 2, keyBytes, seed: 1 })
  refuses(() => workers.of('abcd' as never), /^key: 'abcd' is not a Uint8Array/)
  const options = { bytes: 10_000, keyBytes }
  refuses(
    () => createSketch('coco', { ...options, seed: 'abcdefghijklmnop' as never }),
    /^seed: 'abc.* is not a Uint8Array/,
  )
  const sketch = createSketch('coco', options)
  refuses(() => sketch.heavyHitters('5' as never), /^threshold: '5' is not a number above 0/)
  refuses(() => sketch.heavyHitters(5n as never), /^threshold: 5n/)
})

it('kinds and options that are misspelt', () => {
  refuses(() => createSketch('elastik' as never, { bytes: 1000, keyBytes } as never), /Did you mean 'elastic'\?/)
  refuses(
    () => createSketch('elastic', { byte: 1000, keyBytes } as never),
    /^bytes: missing\. Is 'byte' meant to be it\?/,
  )
})
