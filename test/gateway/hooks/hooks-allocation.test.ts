/** Hooks allocate nothing for a sample. */
import { expect, it } from 'vitest'
import { SampleField, SampleFlag, Verdict } from '../../../src/gateway/index.ts'
import { leastGrowth } from '../../heap.ts'
import { Bench } from './bench.ts'

const samples = 20_000
/** Half of the smallest object there is, for each sample. The figures of `stats` go through functions, which makes three of them objects. */
const allowed = (type: string): number => samples * (type === 'stats' ? 64 : 8)

const all = { signals: ['signal0', 'signal1'] }
const hooks: Readonly<Record<string, object>> = {
  average: { ...all, offset: 0 },
  cast: { signal: 'signal0', new_type: 'integer' },
  decimate: { ratio: 3 },
  dp: { signal: 'signal0', f0: 50, rate: 1000, harmonics: [0, 1] },
  drop: {},
  fix: {},
  frame: { trigger: 'sequence', interval: 10 },
  jitter_calc: {},
  limit_rate: { rate: 1e6, mode: 'origin' },
  limit_value: { ...all, min: -0.5, max: 0.5 },
  ma: { signals: ['signal0'], window_size: 10 },
  rms: { signals: ['signal0'], window_size: 10 },
  round: { ...all, precision: 2 },
  scale: { ...all, scale: 3, offset: 1 },
  shift_seq: { offset: 3 },
  skip_first: { samples: 10 },
  stats: {},
  ts: {},
}

it.each(Object.entries(hooks))('%s', (type, settings) => {
  const bench = new Bench([{ type, ...settings }], '4f')
  const { chain, samples: pool } = bench
  const word = pool.word(0)
  let sequence = 0
  let passed = 0
  const run = (): void => {
    passed = 0
    for (let i = 0; i < samples; i++) {
      sequence++
      pool.setInt64(word + SampleField.sequence, sequence)
      pool.setInt64(word + SampleField.origin, 1000 + Math.floor(sequence / 1000))
      pool.setInt64(word + SampleField.origin + 2, (sequence % 1000) * 1_000_000)
      pool.setInt64(word + SampleField.received, 1000 + Math.floor(sequence / 1000))
      pool.setInt64(word + SampleField.received + 2, (sequence % 1000) * 1_000_000 + 500)
      for (let v = 0; v < 4; v++) pool.f64[(word + SampleField.data + 2 * v) >> 1] = Math.sin(sequence + v)
      pool.u32[word + SampleField.length] = 4
      pool.u32[word + SampleField.flags] =
        SampleFlag.sequence | SampleFlag.tsOrigin | SampleFlag.tsReceived | SampleFlag.data
      if (chain.process(pool, word) === Verdict.ok) passed++
    }
  }
  const least = leastGrowth(run, allowed(type))
  expect(passed).toBeGreaterThan(0)
  expect(least).toBeLessThan(allowed(type))
})
