/** Paths with several sources: how many values a sample has, which number, and what hooks see, as in VILLASnode (lib/path_source.cpp). */
import { expect, it } from 'vitest'
import {
  type HookChain,
  Pool,
  parseMapping,
  SampleField,
  SampleFlag,
  signalsOf,
  Verdict,
} from '../../../src/gateway/index.ts'
import { Counts } from '../../../src/gateway/runtime/counts.ts'
import { Path } from '../../../src/gateway/runtime/path.ts'
import { Remap } from '../../../src/gateway/runtime/remap.ts'
import type { Writer } from '../../../src/gateway/runtime/writer.ts'

/** A path with one value of each of three sources. */
class Mux {
  readonly pool = Pool.create(64, 3)
  /** Of the samples that were sent, and of those that the hooks saw: the number, and the values. */
  readonly sent: [number, ...number[]][] = []
  readonly seen: [number, ...number[]][] = []
  readonly path: Path

  constructor({ all = false, originalSequence = false, hooks = false, counting = [true, true, true] } = {}) {
    const signals = signalsOf('3f').map((signal, i) => ({ ...signal, init: i === 0 ? 0 : -i }))
    const note = (to: [number, ...number[]][], index: number): void => {
      const { samples } = this.pool
      const word = samples.word(index)
      const length = samples.u32[word + SampleField.length]!
      const data = (word + SampleField.data) >> 1
      to.push([samples.int64(word + SampleField.sequence), ...samples.f64.subarray(data, data + length)])
    }
    const writer = {
      put: (index: number) => {
        note(this.sent, index)
        this.pool.drop(index)
      },
    }
    const chain = {
      length: hooks ? 1 : 0,
      process: (samples: Pool['samples'], word: number) => {
        note(this.seen, word / samples.word(1))
        return Verdict.ok
      },
    }
    const remaps = [0, 1, 2].map((i) => {
      const remap = new Remap()
      remap.add(parseMapping('node[0]'), { first: 0, signals: [signals[i]!] }, i, () => Number.NaN)
      return remap
    })
    this.path = new Path({
      pool: this.pool,
      signals,
      hooks: chain as unknown as HookChain,
      writers: [writer as unknown as Writer],
      counts: new Counts(1),
      set: 0,
      remaps,
      all,
      counting,
      originalSequence,
    })
  }

  /** A sample of a source. */
  take(source: number, sequence: number, value: number, flags: number = 0): this {
    const { samples } = this.pool
    const one = new Int32Array(1)
    this.pool.take(one, 0, 1)
    const word = samples.word(one[0]!)
    samples.clear(word)
    samples.setInt64(word + SampleField.sequence, sequence)
    samples.u32[word + SampleField.length] = 1
    samples.u32[word + SampleField.flags] = SampleFlag.sequence | SampleFlag.data | flags
    samples.f64[(word + SampleField.data) >> 1] = value
    this.path.take(source, one[0]!)
    return this
  }
}

it('a sample has as many values as sources have brought, what is between them as the signals say', () => {
  const mux = new Mux().take(0, 7, 10).take(0, 8, 11).take(2, 9, 30).take(1, 9, 20)
  expect(mux.sent).toEqual([
    [0, 10],
    [1, 11],
    [2, 11, -1, 30],
    [3, 11, 20, 30],
  ])
})

it('mode all: each sample of a source has a number, whether it goes or not', () => {
  const mux = new Mux({ all: true })
  for (let i = 0; i < 2; i++)
    mux
      .take(0, i, 10 + i)
      .take(0, i, 15 + i)
      .take(1, i, 20 + i)
      .take(2, i, 30 + i)
  expect(mux.sent).toEqual([
    [3, 15, 20, 30],
    [7, 16, 21, 31],
  ])
})

it('hooks see each of them, and what they do to one that does not go stays with it', () => {
  const mux = new Mux({ all: true, hooks: true, counting: [true, false, true] })
  mux.take(0, 0, 10).take(1, 0, 20).take(2, 0, 30)
  expect(mux.seen).toEqual([
    [0, 10],
    [1, 10, 20],
    [2, 10, 20, 30],
  ])
  expect(mux.sent).toEqual([[2, 10, 20, 30]])
  mux.path.close()
  expect(mux.pool.available).toBe(mux.pool.capacity)
})

it('a simulation that starts again begins with no values; what is repeated is no other start', () => {
  const mux = new Mux({ originalSequence: true }).take(2, 5, 30).take(0, 0, 10, SampleFlag.newSimulation)
  mux.path.repeat(0)
  mux.take(1, 1, 20)
  expect(mux.sent).toEqual([
    [5, 0, -1, 30],
    [0, 10],
    [0, 10],
    [1, 10, 20],
  ])
})
