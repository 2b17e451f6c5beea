/** Hooks that remember many samples, against formulas and against arrays. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Signal, SignalType } from '../../../src/gateway/index.ts'
import { holds } from '../../property.ts'
import { Bench, type Row, through } from './bench.ts'

const value = fc.double({ min: -1000, max: 1000, noNaN: true })
const values = fc.array(value, { minLength: 1, maxLength: 200 })

/** The last `size` before and at `i`; zeros before the first. */
const windowAt = (all: readonly number[], i: number, size: number): number[] =>
  Array.from({ length: size }, (_, back) => all[i - back] ?? 0)
const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0)

describe('round', () => {
  it('halves go away from zero; one digit, if nothing else is said', () => {
    expect(through({ type: 'round', signal: 0, precision: 0 }, [0.5, -0.5, 1.4, -1.6, 2.5])).toEqual([1, -1, 1, -2, 3])
    expect(through({ type: 'round', signal: 0, precision: 0 }, [0.49999999999999994])).toEqual([0])
    expect(through({ type: 'round', signal: 0 }, [0.125, -0.27])).toEqual([0.1, -0.3])
    expect(through({ type: 'round', signal: 0, precision: 2 }, [0.125, Number.POSITIVE_INFINITY])).toEqual([
      0.13,
      Number.POSITIVE_INFINITY,
    ])
  })

  it('both parts of a complex number; integers stay', () => {
    const bench = new Bench({ type: 'round', signals: [0, 1], precision: 0 }, 'ci')
    expect(bench.one({ values: [[1.5, -2.25], 7] })).toEqual({ values: [[2, -2], 7] })
  })
})

describe('ma and rms', () => {
  it('are the mean, and the root of the mean of squares, of the last n values', () => {
    holds(
      fc.property(values, fc.integer({ min: 1, max: 30 }), (all, size) => {
        const mean = through({ type: 'ma', signal: 0, window_size: size }, all)
        const root = through({ type: 'rms', signal: 0, window_size: size }, all)
        all.forEach((_, i) => {
          const window = windowAt(all, i, size)
          expect(mean[i]).toBeCloseTo(sum(window) / size, 8)
          expect(root[i]).toBeCloseTo(Math.sqrt(sum(window.map((each) => each * each)) / size), 4)
        })
      }),
      40,
    )
  })

  it('have ten values in a window, if nothing else is said; rms needs to be told', () => {
    expect(through({ type: 'ma', signal: 0 }, Array(12).fill(10))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10])
    expect(() => through({ type: 'rms', signal: 0 }, [])).toThrow('window_size: is missing')
  })

  it('forget what is not a number when it has left the window, and all at a restart', () => {
    expect(through({ type: 'ma', signal: 0, window_size: 2 }, [1, Number.NaN, 3, 5, 7])).toEqual([
      0.5,
      Number.NaN,
      Number.NaN,
      4,
      6,
    ])
    const bench = new Bench({ type: 'rms', signal: 0, window_size: 1 }, 'f')
    bench.one({ values: [9] })
    bench.chain.restart()
    expect(bench.one({ values: [-3] })).toEqual({ values: [3] })
  })

  it('rounding errors do not grow', () => {
    const all = Array.from({ length: 5000 }, (_, i) => (i < 4000 ? 1e15 + i / 8 : 0.1))
    expect(through({ type: 'ma', signal: 0, window_size: 100 }, all).at(-1)).toBeCloseTo(0.1, 12)
  })
})

const pairs: Signal[] = ['u', 'i'].map((name) => ({ name, unit: '', type: SignalType.float }))

describe('power', () => {
  const size = 100
  /** Two periods in a window: u = 325·cos(ωt), i = 10·cos(ωt − 60°). */
  const rows = Array.from({ length: 2 * size }, (_, n): Row => {
    const angle = (2 * Math.PI * 2 * n) / size
    return { origin: [n, 5], sequence: n, values: [325 * Math.cos(angle), 10 * Math.cos(angle - Math.PI / 3)] }
  })
  const settings = { type: 'power', pairings: [{ voltage: 'u', current: 'i' }], window_size: size }

  it('of sines: P = û·î/2·cos φ, S = û·î/2, Q = S·sin φ', () => {
    const out = new Bench({ ...settings, angle_unit: 'degree' }, pairs).run(rows)
    expect(out).toHaveLength(size)
    const apparent = (325 * 10) / 2
    const [p, q, s, angle] = out.at(-1)!.values as number[]
    expect(p).toBeCloseTo(apparent / 2, 8)
    expect(q).toBeCloseTo(apparent * Math.sin(Math.PI / 3), 8)
    expect(s).toBeCloseTo(apparent, 8)
    expect(angle).toBeCloseTo(60, 8)
  })

  it.each([
    ['left', size + 1 - size],
    ['center', size - size / 2],
    ['right', size],
  ])('the origin is that of the %s of the window', (timestamp_align, expected) => {
    const [first] = new Bench({ ...settings, timestamp_align }, pairs).run(rows)
    expect([first!.origin, first!.sequence]).toEqual([[expected, 5], size])
  })

  it('of what was asked for, named after the voltage', () => {
    const bench = new Bench({ ...settings, cos_phi: false, reactive_power: false, add_channel_name: true }, pairs)
    expect(bench.chain.signals.map(({ name, unit }) => `${name} ${unit}`)).toEqual(['active_u W', 'apparent_u VA'])
    expect(bench.run(rows)[0]!.values).toHaveLength(2)
  })

  it.each([
    [{ pairings: [] }, 'pairings'],
    [{ pairings: [{ voltage: 'u', current: 'j' }] }, "there is no signal 'j'. Did you mean 'u'"],
    [{ pairings: [{ voltage: 'u', current: 'i', neutral: 'n' }] }, "has no setting 'neutral'"],
    [{ window_size: 0 }, 'window_size: 0'],
  ])('%j is refused', (change, expected) => {
    expect(() => new Bench({ ...settings, ...change }, pairs)).toThrow(expected)
  })
})

describe('dp', () => {
  const rate = 1000
  const f0 = 50
  const signal = (n: number): number =>
    1.5 + 3 * Math.cos((2 * Math.PI * f0 * n) / rate + 0.7) + 0.5 * Math.cos((2 * Math.PI * 3 * f0 * n) / rate - 1.2)
  const harmonics = [0, 1, 3]
  const settings = { type: 'dp', signal: 'signal1', f0, rate, harmonics }
  const rows = Array.from({ length: 65 }, (_, n): Row => ({ values: [n, signal(n), -n] }))

  it('a phasor has half the amplitude and the phase of its harmonic, and stands still', () => {
    const bench = new Bench(settings, '3f')
    expect(bench.chain.signals.map(({ name, type }) => [name, type])).toEqual([
      ['signal0', SignalType.float],
      ['signal1_harm0', SignalType.complex],
      ['signal1_harm1', SignalType.complex],
      ['signal1_harm2', SignalType.complex],
      ['signal2', SignalType.float],
    ])
    const out = bench.run(rows)
    // From the 20th sample on, the window is full.
    for (const n of [19, 20, 37, 64]) {
      const [before, dc, first, third, behind] = out[n]!.values as [number, ...[number, number][], number]
      expect([before, behind]).toEqual([n, -n])
      const expected = [
        [1.5, 0],
        [1.5 * Math.cos(0.7), 1.5 * Math.sin(0.7)],
        [0.25 * Math.cos(-1.2), 0.25 * Math.sin(-1.2)],
      ]
      for (const [i, phasor] of [dc, first, third].entries())
        for (const [j, part] of (phasor as [number, number]).entries()) expect(part).toBeCloseTo(expected[i]![j]!, 5)
    }
  })

  it('the inverse gives the signal back, its alternating part halved', () => {
    const inverse = { ...settings, signal: 'signal1_harm0', inverse: true }
    const bench = new Bench([settings, inverse], '3f')
    const out = bench.run(rows)
    for (const n of [19, 40, 64]) {
      const [before, back, behind] = out[n]!.values as number[]
      expect([before, behind]).toEqual([n, -n])
      expect(back).toBeCloseTo(1.5 + (signal(n) - 1.5) / 2, 5)
    }
  })

  it('is the same when it begins again, and forgets what is not a number', () => {
    const bench = new Bench({ ...settings, signal: 0 }, 'f')
    const run = (from: number) =>
      bench.run(Array.from({ length: 60 }, (_, n) => ({ values: [n + from === 5 ? Number.NaN : signal(n)] })))
    const first = run(100)
    bench.chain.restart()
    expect(run(100)).toEqual(first)
    bench.chain.restart()
    const re = (run(0).at(-1)!.values as [number, number][])[1]![0]
    expect(re).toBeCloseTo(1.5 * Math.cos(0.7), 5)
  })

  it.each([
    [{ harmonics: [1.5] }, 'harmonics'],
    [{ harmonics: undefined }, 'harmonics: is missing'],
    [{ dt: 0.1 }, "needs either 'rate' (samples per second) or 'dt'"],
    [{ f0: 2000 }, 'a period of f0 has 0 samples'],
    [{ inverse: true }, 'signal1 is float, and must be complex'],
  ])('%j is refused', (change, expected) => {
    expect(() => new Bench({ ...settings, ...change }, '3f')).toThrow(expected)
  })
})

describe('pmu_dft', () => {
  const sampleRate = 1000
  const rowsOf = (frequency: number, amplitude: number, phase: number, count = 1000): Row[] =>
    Array.from({ length: count }, (_, n) => ({
      sequence: n,
      origin: [10 + Math.floor(n / sampleRate), (n % sampleRate) * 1e6],
      values: [amplitude * Math.cos((2 * Math.PI * frequency * n) / sampleRate + phase)],
    }))
  const settings = {
    type: 'pmu_dft',
    signal: 0,
    sample_rate: sampleRate,
    dft_rate: 10,
    start_frequency: 40,
    end_frequency: 60,
    frequency_resolution: 10,
  }

  it('a sine that fits the window: frequency, effective value, phase at its begin, no change of frequency', () => {
    const out = new Bench(settings, 'f').run(rowsOf(50, 325, 0.4))
    // The window is full with sample 99; the first interval of 0.1 s that begins behind it does so with sample 101.
    expect(out.map(({ sequence }) => sequence)).toEqual([101, 201, 301, 401, 501, 601, 701, 801, 901])
    out.forEach(({ sequence, origin, values }) => {
      const begin = (sequence as number) - 99
      const phase = (0.4 + (2 * Math.PI * 50 * begin) / sampleRate) % (2 * Math.PI)
      const expected = [50, 325 / Math.SQRT2, phase > Math.PI ? phase - 2 * Math.PI : phase, 0]
      for (const [i, each] of expected.entries()) expect(values![i]).toBeCloseTo(each, 6)
      expect(origin).toEqual([10, ((sequence as number) - 50) * 1e6])
    })
  })

  it('holds for any amplitude and phase, in every window', () => {
    holds(
      fc.property(
        fc.double({ min: 0.1, max: 1e5, noNaN: true }),
        fc.double({ min: -3, max: 3, noNaN: true }),
        fc.constantFrom('none', 'hann', 'hamming', 'flattop'),
        fc.constantFrom(40, 50, 60),
        (amplitude, phase, window_type, frequency) => {
          const wide = { ...settings, start_frequency: 30, end_frequency: 70, window_type, timestamp_align: 'left' }
          const [first] = new Bench(wide, 'f').run(rowsOf(frequency, amplitude, phase, 102))
          const [f, a, p] = first!.values as number[]
          expect(f).toBe(frequency)
          expect(a! / amplitude).toBeCloseTo(Math.SQRT1_2, 7)
          const turns = (p! - phase - (2 * Math.PI * frequency * 2) / sampleRate) / (2 * Math.PI)
          expect(turns - Math.round(turns)).toBeCloseTo(0, 8)
          expect(first!.origin).toEqual([10, 2e6])
        },
      ),
      30,
    )
  })

  it('estimates between the frequencies: ipdft with a Hann window', () => {
    const ip = { ...settings, start_frequency: 20, end_frequency: 80, window_type: 'hann', estimate_type: 'ipdft' }
    const [first] = new Bench(ip, 'f').run(rowsOf(51.3, 100, 0))
    expect(first!.values![0]).toBeCloseTo(51.3, 1)
    expect((first!.values![1] as number) * Math.SQRT2).toBeCloseTo(100, 0)
    const begin = (2 * Math.PI * 51.3 * 2) / sampleRate
    expect(first!.values![2]).toBeCloseTo(begin, 1)
  })

  it('estimates between the frequencies: a parabola, with a fine resolution', () => {
    const fine = {
      ...settings,
      start_freqency: 48,
      end_freqency: 54,
      frequency_resolution: 0.5,
      estimate_type: 'quadratic',
      window_type: 'hann',
    }
    const { start_frequency: _, end_frequency: __, ...rest } = fine
    const [first] = new Bench(rest, 'f').run(rowsOf(50.9, 100, 1))
    expect(first!.values![0]).toBeCloseTo(50.9, 1)
    expect((first!.values![1] as number) * Math.SQRT2).toBeCloseTo(100, 0)
  })

  it('a window that is repeated has the same peak', () => {
    const repeated = {
      ...settings,
      start_frequency: 45,
      end_frequency: 55,
      frequency_resolution: 2.5,
      padding_type: 'signal_repeat',
    }
    const [first] = new Bench(repeated, 'f').run(rowsOf(50, 8, 0.25))
    expect(first!.values![0]).toBe(50)
    expect((first!.values![1] as number) * Math.SQRT2).toBeCloseTo(8, 8)
  })

  it('says how the frequency changes, in Hz per second; offsets are added; degrees', () => {
    const rows = [...rowsOf(50, 1, 0, 102), ...rowsOf(40, 1, 0, 302).slice(102)]
    const offsets = { frequency_offset: 1, amplitude_offset: 2, phase_offset: 1000, rocof_offset: 3 }
    const bench = new Bench({ ...settings, ...offsets, angle_unit: 'degree' }, 'f')
    const out = bench.run(rows)
    expect(out.map(({ values }) => values![0])).toEqual([51, 41, 41])
    expect(out.map(({ values }) => values![3])).toEqual([3, (40 - 50) * 10 + 3, 3])
    expect(out[0]!.values![1]).toBeCloseTo(Math.SQRT1_2 + 2, 8)
    // Two samples behind 0: 36 degrees.
    expect(out[0]!.values![2]).toBeCloseTo(1036, 8)
    expect(bench.chain.signals.map(({ name, unit }) => `${name} ${unit}`)).toEqual([
      'frequency_signal0 Hz',
      'amplitude_signal0 V',
      'phase_signal0 deg',
      'rocof_signal0 Hz/s',
    ])
  })

  it.each([
    [{ frequency_resolution: 20 }, 'windows of 100 samples resolve 10 Hz: 20 Hz is too much'],
    [{ frequency_resolution: 5, estimate_type: 'ipdft' }, 'ipdft needs a frequency_resolution of 10 Hz'],
    [{ end_frequency: 30 }, 'end_frequency: 30 is not valid'],
    [{ dft_rate: 2000 }, 'dft_rate is greater than sample_rate'],
    [{ start_freqency: 40 }, "'start_frequency' and 'start_freqency' say the same"],
    [{ sample_rate: undefined }, 'sample_rate: is missing'],
    [{ frequency_resolution: 1e-5 }, 'are too many'],
  ])('%j is refused', (change, expected) => {
    expect(() => new Bench({ ...settings, ...change }, 'f')).toThrow(expected)
  })
})
