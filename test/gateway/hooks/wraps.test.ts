/** Sequence numbers where they wrap around: at 2^32, which is what several formats carry, and at 2^64. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Samples, type Statistics } from '../../../src/gateway/index.ts'
import { sequenceDistance } from '../../../src/gateway/words.ts'
import { holds } from '../../property.ts'
import { converted } from '../streams.ts'
import { Bench, type Row } from './bench.ts'

const two32 = 2n ** 32n
const two64 = 2n ** 64n

/** The numbers of samples around a wrap, as they come with so many bits. */
const around = (bits: bigint, ...steps: number[]): Row[] =>
  steps.map((step) => ({
    sequence: BigInt.asUintN(64, (bits === two32 ? 0n : -two64) + ((bits + BigInt(step)) % bits)),
  }))

const passed = (hook: unknown, rows: readonly Row[]): (bigint | undefined)[] =>
  new Bench(hook).run(rows).map(({ sequence }) => (sequence === undefined ? undefined : BigInt(sequence)))

const numbers = (rows: readonly Row[]): bigint[] => rows.map(({ sequence }) => BigInt(sequence!))

describe.each([
  ['32', two32],
  ['64', two64],
])('at 2^%s', (_, bits) => {
  it('drop goes on, without a sample of number 0, too, and drops what is late', () => {
    const rows = around(bits, -5, -2, 1, 4)
    expect(passed('drop', rows)).toEqual(numbers(rows))
    const late = around(bits, -2, 1, -1, 0, 2)
    expect(passed('drop', late)).toEqual([0, 1, 4].map((i) => numbers(late)[i]))
  })

  it('restart sees no other start of the simulation', () => {
    for (const steps of [
      [-1, 0, 1],
      [-3000, 0, 1],
    ]) {
      const bench = new Bench('restart')
      bench.run(around(bits, ...steps))
      expect([bench.restarts, bench.log]).toEqual([0, []])
    }
  })

  it('skip_first ends', () => {
    const rows = around(bits, -2, -1, 0, 1, 2, 3, 4)
    expect(passed({ type: 'skip_first', samples: 4 }, rows)).toEqual(numbers(rows).slice(4))
  })

  it('gate stays open for as many samples', () => {
    const rows = around(bits, -1, 0, 1, 2, 3).map((row, i) => ({ ...row, values: [i === 0 ? 1 : 0] }))
    expect(passed({ type: 'gate', signal: 0, mode: 'above', samples: 3 }, rows)).toEqual(numbers(rows).slice(0, 3))
  })

  it('stats counts what is missing', () => {
    let statistics: Statistics | undefined
    const bench = new Bench('stats', '2f', { publish: (each) => (statistics = each) })
    bench.run(around(bits, -2, -1, 0, 1, 4))
    expect([statistics!.get('reordered', 'total'), statistics!.get('reordered', 'last')]).toEqual([1, 3])
  })
})

it('decimate numbers on behind a wrap at 2^32, so that the next gateway takes what it sends', () => {
  const rows = around(two32, ...Array.from({ length: 40 }, (_, i) => i - 20))
  const found = passed({ type: 'decimate', ratio: 10, renumber: true }, rows)
  expect(found).toEqual([429_496_727n, 429_496_728n, 429_496_729n, 429_496_730n])
})

it('pps_ts counts what is missing', () => {
  const bench = new Bench({ type: 'pps_ts', signal: 0 })
  // Five pulses, then one sample is missing where the numbers wrap.
  const steps = [-14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2]
  bench.run(around(two32, ...steps).map((row, i) => ({ ...row, values: [2 * (i % 2)] })))
  bench.chain.periodic()
  expect(bench.log).toEqual(['warn: 1 samples are missing, and the times of those behind are too early'])
})

it('limit_rate goes by the monotonic clock with local, and lets a source of its very rate pass', () => {
  const origins = Array.from({ length: 300 }, (_, i) => ({
    origin: [1000 + Math.floor(i / 300), Math.round(((i % 300) / 300) * 1e9)] as [number, number],
  }))
  expect(new Bench({ type: 'limit_rate', rate: 300, mode: 'origin' }).run(origins)).toHaveLength(300)
})

it('distances are those of integers, modulo 2^64, and modulo 2^32 for numbers that have no more', () => {
  const of = (a: bigint, b: bigint): number => {
    const samples = new Samples(1, 0)
    const words = new BigInt64Array(samples.u32.buffer, 0, 2)
    words[0] = BigInt.asIntN(64, a)
    words[1] = BigInt.asIntN(64, b)
    return sequenceDistance(samples, 0, samples, 2)
  }
  const near = fc.bigInt({ min: -(2n ** 30n), max: 2n ** 30n })
  holds(
    fc.property(fc.constantFrom(0n, two32, 2n ** 63n, two64), near, near, (at, a, b) => {
      expect(of(BigInt.asUintN(64, at + a), BigInt.asUintN(64, at + b))).toBe(Number(a - b))
    }),
  )
  holds(
    fc.property(near, fc.integer({ min: -(2 ** 20) + 1, max: 2 ** 31 - 1 }), (from, distance) => {
      expect(of(BigInt.asUintN(32, from + BigInt(distance)), BigInt.asUintN(32, from))).toBe(distance)
    }),
  )
  // A source that begins anew with a large number is no late one.
  expect(of(3_000_000_000n, 5n)).toBe(2_999_999_995)
})

it.each(['villas.binary', 'villas.web', 'opal.asyncip'])('%s carries the lower 32 bits', async (format) => {
  const { bytes } = await converted('1.0(4294967295)\t1\n1.0(4294967297)\t1\n', 'villas.human', format, '1f')
  const { text } = await converted(bytes, format, { type: 'villas.human', header: false }, '1f')
  expect(text.match(/\(\d+\)/g)).toEqual(['(4294967295)', '(1)'])
})
