/** Generated samples, by hand from the formulas: 4 a second, so that the times are 0, 0.25, 0.5, 0.75, 1. */
import { describe, expect, it } from 'vitest'
import { Pool, SampleField, type Settings, SettingsReader } from '../../../src/gateway/index.ts'
import { nodeTypes } from '../../../src/gateway/nodes/index.ts'
import { configOf } from '../config/reading.ts'

const count = 5

/** The first values of each signal, and the names of the signals. */
async function generate(settings: Settings): Promise<{ names: string[]; values: number[][] }> {
  const [config] = configOf({ nodes: { node: { rate: 4, realtime: false, ...settings } } }).nodes
  const type = await nodeTypes[config!.type]!()
  const reader = new SettingsReader('node', config!.settings, ['type'], undefined, { in: [] })
  const parsed = type.parse(reader, { name: 'node', vectorize: { in: 1, out: 1 }, signals: config!.in.signals })
  reader.done()
  const pool = Pool.create(64, 64)
  const signals = { in: parsed.signals!, out: [] }
  const context = {
    name: 'node',
    pool,
    clock: { stamp() {}, nowNs: () => 0 },
    signals,
    readable() {},
    log() {},
    fail(error: Error) {
      throw error
    },
    statistics: () => undefined,
    finish() {},
  }
  const node = await parsed.start(context, { in: true, out: false }, undefined)
  const batch = new Int32Array(count)
  pool.take(batch, 0, count)
  expect(node.source!.read(batch, count)).toBe(count)
  await node.stop()
  const { f64 } = pool.samples
  const at = (sample: number, value: number) =>
    f64[((pool.samples.word(batch[sample]!) + SampleField.data) >> 1) + value]!
  return {
    names: signals.in.map(({ name }) => name),
    values: signals.in.map((_, i) => Array.from({ length: count }, (_, sample) => at(sample, i))),
  }
}

const one = async (settings: Settings): Promise<number[]> =>
  (await generate({ type: 'signal', ...settings })).values[0]!.map((value) => Math.round(value * 1e9) / 1e9 + 0)

describe('signal', () => {
  it.each([
    ['sine', {}, [0, 1, 0, -1, 0]],
    ['sine', { amplitude: 2, frequency: 2, offset: 1, phase: Math.PI / 2 }, [3, -1, 3, -1, 3]],
    ['square', {}, [-1, -1, 1, 1, -1]],
    ['square', { phase: Math.PI, amplitude: 3 }, [3, 3, -3, -3, 3]],
    ['triangle', {}, [1, 0, -1, 0, 1]],
    ['ramp', {}, [0, 0.25, 0.5, 0.75, 0]],
    ['ramp', { frequency: 0.5, amplitude: 2, offset: -1 }, [-1, -0.5, -1, -0.5, -1]],
    ['counter', { amplitude: 2, offset: 10 }, [10, 12, 14, 16, 18]],
    ['constant', { amplitude: 2, offset: 1 }, [3, 3, 3, 3, 3]],
    ['pulse', { pulse_width: 1, pulse_high: 5, pulse_low: 2, offset: 1 }, [6, 6, 3, 3, 6]],
    ['random', { stddev: 0, offset: 4 }, [4, 4, 4, 4, 4]],
  ])('%s with %j', async (signal, settings, expected) => {
    expect(await one({ signal, ...settings })).toEqual(expected)
  })

  it('random walks in steps of its standard deviation', async () => {
    const walks = await Promise.all(
      Array.from(
        { length: 200 },
        async () => (await generate({ type: 'signal', signal: 'random', values: 8, stddev: 3 })).values,
      ),
    )
    const steps = walks.flat().flatMap((walk) => walk.slice(1).map((value, i) => value - walk[i]!))
    const mean = steps.reduce((sum, step) => sum + step, 0) / steps.length
    const deviation = Math.sqrt(steps.reduce((sum, step) => sum + step * step, 0) / steps.length)
    // 6400 steps: twelve standard errors.
    expect(Math.abs(mean)).toBeLessThan(0.45)
    expect(Math.abs(deviation - 3)).toBeLessThan(0.32)
  })

  it('has a setting for each value, or one for all', async () => {
    const settings = { signal: ['constant', 'counter'], values: 2, amplitude: [3, 2], offset: 1 }
    expect((await generate({ type: 'signal', ...settings })).values).toEqual([
      [4, 4, 4, 4, 4],
      [1, 3, 5, 7, 9],
    ])
    await expect(generate({ type: 'signal', values: 3, amplitude: [1, 2] })).rejects.toThrow(
      'node: amplitude has 2 entries for 3 values',
    )
    await expect(generate({ type: 'signal', values: 2, signal: ['sine', 'sinus'] })).rejects.toThrow(
      'node.signal[1]: signal: "sinus" is not valid. Expected one of "random", "sine"',
    )
  })

  it('mixed goes through all shapes but pulse', async () => {
    expect((await generate({ type: 'signal', signal: 'mixed', values: 9 })).names).toEqual([
      ...['random', 'sine', 'square', 'triangle', 'ramp', 'counter', 'constant', 'random', 'sine'],
    ])
  })
})

describe('signal.v2', () => {
  it('has a shape for each signal, and its name', async () => {
    const signals = [
      { name: 'a', signal: 'constant', amplitude: 2 },
      { signal: 'counter' },
      { signal: 'mixed', stddev: 0 },
      { signal: 'mixed', frequency: 2 },
    ]
    const { names, values } = await generate({ type: 'signal.v2', in: { signals } })
    expect(names).toEqual(['a', 'counter', 'random', 'sine'])
    expect(values.slice(0, 3)).toEqual([
      [2, 2, 2, 2, 2],
      [0, 1, 2, 3, 4],
      [0, 0, 0, 0, 0],
    ])
  })

  it('has as many of the same as a count says; mixed goes through all shapes', async () => {
    const { names } = await generate({ type: 'signal.v2', in: { signals: { count: 9, signal: 'mixed' } } })
    expect(names).toEqual([
      ...['random', 'sine', 'square', 'triangle', 'ramp', 'counter', 'constant', 'pulse', 'random'],
    ])
  })
})
