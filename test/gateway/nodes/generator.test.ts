/** Generators in a time of the test's own. */
import { expect, it } from 'vitest'
import { type Clock, type NodeContext, Pool, SampleField } from '../../../src/gateway/index.ts'
import { Generator, type GeneratorSettings } from '../../../src/gateway/nodes/signal/generator.ts'

const usual: GeneratorSettings = {
  ...{ rateHz: 100, limit: 2, realtime: true, monitorMissed: false, firstSequence: 0, timer: 'timerfd' },
  warmUp: { samples: 0, rateHz: 1000, pauseSeconds: 0.01 },
}

/** Milliseconds and sequence numbers of all samples, for somebody who reads so often. */
async function generated(settings: GeneratorSettings, everyMs: number): Promise<[number, number][]> {
  const pool = Pool.create(64, 1)
  let ms = 0
  const clock = { nowNs: () => ms * 1e6, stamp: () => {} } as unknown as Clock
  const context = { name: 'source', pool, clock, log: () => {} } as unknown as NodeContext
  const generator = new Generator(context, settings, [])
  const { source } = generator
  const samples = new Int32Array(1)
  pool.take(samples, 0, 1)
  const found: [number, number][] = []
  for (; !source.ended && ms < 1000; ms += everyMs)
    if (source.read(samples, 1) === 1)
      found.push([ms, pool.samples.int64(pool.samples.word(samples[0]!) + SampleField.sequence)])
  await generator.stop()
  return found
}

it('a generator follows its grid, up to its limit', async () => {
  expect(await generated(usual, 1)).toEqual([
    [10, 0],
    [20, 1],
  ])
})

it('a warm-up comes first, at its own rate, and counts in sequence numbers but not in the limit', async () => {
  const warmUp = { ...usual.warmUp, samples: 3 }
  expect(await generated({ ...usual, warmUp }, 0.5)).toEqual([
    [1, 0],
    [2, 1],
    [3, 2],
    // The next step of the warm-up, at 4 ms, is its end; then come the pause and a period.
    [24.5, 3],
    [34.5, 4],
  ])
})

it('steps of a warm-up that were missed are no steps of what follows', async () => {
  const warmUp = { ...usual.warmUp, samples: 3 }
  const found = await generated({ ...usual, warmUp }, 2.5)
  const sequences = found.map(([, sequence]) => sequence)
  expect(sequences.slice(-2)).toEqual([3, 4])
  expect(found.at(-1)![0] - found.at(-2)![0]).toBe(10)
})

it('a generator that keeps to no rate has no warm-up', async () => {
  const found = await generated({ ...usual, realtime: false, warmUp: { ...usual.warmUp, samples: 3 } }, 1)
  expect(found.map(([, sequence]) => sequence)).toEqual([0, 1])
})

it('without a rate to keep, times are on the grid to the nanosecond', async () => {
  const pool = Pool.create(64, 1)
  const clock = { nowNs: () => 0, stamp: () => {} } as unknown as Clock
  const context = { name: 'source', pool, clock, log: () => {} } as unknown as NodeContext
  for (const [rateHz, periods] of [
    [1000, [1_000_000, 2_000_000]],
    [3, [333_333_333, 666_666_667]],
    [1e6, [1000, 2000]],
  ] as const) {
    const generator = new Generator(context, { ...usual, rateHz, limit: 1000, realtime: false }, [])
    const indices = new Int32Array(32)
    pool.take(indices, 0, 32)
    const times: bigint[] = []
    for (let read = 1; read > 0; ) {
      read = generator.source.read(indices, 32)
      for (const index of indices.subarray(0, read)) {
        const at = pool.samples.word(index) + SampleField.origin
        times.push(BigInt(pool.samples.int64(at)) * 1_000_000_000n + BigInt(pool.samples.int64(at + 2)))
      }
    }
    const since = times.map((time) => Number(time - times[0]!))
    expect(since.slice(1, 3)).toEqual(periods)
    expect(since).toEqual(since.map((_, i) => Math.round((i * 1e9) / rateHz)))
    pool.release(indices, 0, 32)
    await generator.stop()
  }
})
