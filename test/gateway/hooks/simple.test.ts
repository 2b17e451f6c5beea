/** Hooks that look at one sample, or remember little of the one before. Expected values are worked out by hand. */
import { describe, expect, it } from 'vitest'
import { type Signal, SignalType } from '../../../src/gateway/index.ts'
import { Bench, type Row, through } from './bench.ts'

const named = (...names: string[]): Signal[] => names.map((name) => ({ name, unit: 'V', type: SignalType.float }))
const sequences = (rows: readonly Row[]): unknown[] => rows.map(({ sequence }) => sequence)

describe('fix', () => {
  it('adds what is missing and leaves what is there', () => {
    const bench = new Bench('fix', '2f', { initialSequence: 5 })
    bench.now = [7, 8]
    expect(bench.one({ values: [1, 2] })).toEqual({ sequence: 5, origin: [7, 8], received: [7, 8], values: [1, 2] })
    expect(bench.one({ received: [3, 4] })).toEqual({ sequence: 6, origin: [3, 4], received: [3, 4] })
    expect(bench.one({ sequence: 90, origin: [1, 1] })).toEqual({ sequence: 90, origin: [1, 1], received: [7, 8] })
  })
})

describe('drop', () => {
  const passed = (...numbers: (number | bigint)[]): unknown[] =>
    sequences(new Bench('drop').run(numbers.map((sequence) => ({ sequence }))))

  it('lets pass what is greater than the last one', () => {
    expect(passed(3, 4, 4, 2, 7, 6, 8)).toEqual([3, 4, 7, 8])
  })

  it('numbers have 64 bits, and wrap around', () => {
    expect(passed(0xffffffff, 0x100000000, 0xffffffff)).toEqual([0xffffffff, 0x100000000])
    expect(passed(2n ** 64n - 1n, 0, 2n ** 64n - 1n, 1)).toEqual([2n ** 64n - 1n, 0, 1])
  })

  it('begins afresh at a restart', () => {
    const bench = new Bench('drop')
    bench.run([{ sequence: 9 }])
    bench.chain.restart()
    expect(bench.one({ sequence: 0 })).toEqual({ sequence: 0 })
    expect(bench.chain.skipped).toBe(0)
  })
})

describe('restart', () => {
  it('a sequence number of 0 restarts all hooks, and is marked', () => {
    const bench = new Bench(['restart', 'drop', { type: 'skip_first', samples: 2 }])
    const rows = [5, 6, 7, 8, 0, 1, 2].map((sequence) => ({ sequence }))
    expect(bench.run(rows.slice(0, 4))).toEqual([{ sequence: 7 }, { sequence: 8 }])
    expect(bench.run(rows.slice(4))).toEqual([{ sequence: 2 }])
    expect(bench.restarts).toBe(1)
    expect(bench.log).toEqual(['warn: the simulation has started again: sequence number 0 behind 8'])
    expect(new Bench('restart').run(rows).map(({ newSimulation = false }) => newSimulation)).toEqual([
      false,
      false,
      false,
      false,
      true,
      false,
      false,
    ])
  })

  it('a sample that comes with the mark restarts all hooks, without a word, and once', () => {
    const bench = new Bench(['restart', 'drop'])
    const rows = [7, 8, 5, 6].map((sequence, i) => ({ sequence, ...(i === 2 && { newSimulation: true }) }))
    expect(sequences(bench.run(rows))).toEqual([7, 8, 5, 6])
    const always = [9, 10, 11].map((sequence) => ({ sequence, newSimulation: true }))
    bench.run(always)
    expect([bench.restarts, bench.log]).toEqual([2, []])
  })

  it('the first 0, a second one, and one that wraps around are no restart', () => {
    const bench = new Bench('restart')
    for (const sequence of [0, 0, 2n ** 64n - 1n, 0])
      expect(bench.one({ sequence })).toEqual({ sequence: Number(sequence) === 2 ** 64 ? sequence : 0 })
    expect(bench.restarts).toBe(0)
  })
})

describe('ts', () => {
  it('the origin becomes the time of receipt', () => {
    const bench = new Bench('ts')
    expect(bench.one({ origin: [1, 2], received: [3, 4] })).toEqual({ origin: [3, 4], received: [3, 4] })
    expect(bench.one({ received: [3, 4] })).toEqual({ origin: [3, 4], received: [3, 4] })
    expect(bench.one({ origin: [1, 2] })).toEqual({ origin: [1, 2] })
  })
})

describe('scale', () => {
  it('floats, integers cut twice, complex numbers in 32 bits', () => {
    const bench = new Bench({ type: 'scale', signals: ['signal0', 'signal1', 2], scale: 1.5, offset: 0.75 }, 'ficf')
    // 3 × 1.5 = 4.5, cut to 4, + 0.75 = 4.75, cut to 4.
    expect(bench.one({ values: [-2, 3, [2, 4], 9] })).toEqual({ values: [-2.25, 4, [3.75, 6], 9] })
    expect(bench.one({ values: [1, -3] })).toEqual({ values: [2.25, -3] })
  })

  it('integers beyond 64 bits stay at the limit; NaN stays NaN', () => {
    const bench = new Bench({ type: 'scale', signals: [0, 1], scale: -1e10 }, 'if')
    expect(bench.one({ values: [10 ** 15, Number.NaN] })).toEqual({ values: [-(2n ** 63n), Number.NaN] })
    expect(bench.one({ values: [-(10 ** 15), 0.5] })).toEqual({ values: [2n ** 63n - 1n, -5e9] })
  })

  it('gain is another word for scale', () => {
    expect(through({ type: 'scale', signal: 0, gain: 2 }, [1.5])).toEqual([3])
    expect(() => new Bench({ type: 'scale', signal: 0, gain: 2, scale: 2 })).toThrow("'gain' and 'scale' say the same")
  })
})

describe('decimate', () => {
  it('lets the first of every n pass', () => {
    const rows = Array.from({ length: 11 }, (_, i) => ({ sequence: i + 20 }))
    expect(sequences(new Bench({ type: 'decimate', ratio: 4 }).run(rows))).toEqual([20, 24, 28])
    expect(sequences(new Bench({ type: 'decimate', ratio: 4, renumber: true }).run(rows))).toEqual([5, 6, 7])
    expect(sequences(new Bench({ type: 'decimate', ratio: 1 }).run(rows))).toHaveLength(11)
  })

  it('divides numbers of 64 bits', () => {
    const bench = new Bench({ type: 'decimate', ratio: 1, renumber: true })
    expect(bench.one({ sequence: 2n ** 64n - 1n })).toEqual({ sequence: 2n ** 64n - 1n })
    const third = new Bench({ type: 'decimate', ratio: 3, renumber: true })
    expect(third.one({ sequence: 2n ** 64n - 1n })).toEqual({ sequence: (2n ** 64n - 1n) / 3n })
    const large = new Bench({ type: 'decimate', ratio: 2 ** 31 - 1, renumber: true })
    expect(large.one({ sequence: 2n ** 63n + 12345678901n })).toEqual({
      sequence: Number((2n ** 63n + 12345678901n) / (2n ** 31n - 1n)),
    })
  })
})

describe('skip_first', () => {
  it('by sequence numbers, from that of the first sample on', () => {
    const bench = new Bench({ type: 'skip_first', samples: 3 })
    const rows = [7, 8, 12, 9, 10].map((sequence) => ({ sequence }))
    expect(sequences(bench.run(rows))).toEqual([12, 10])
    bench.chain.restart()
    expect(sequences(bench.run(rows))).toEqual([12, 10])
  })

  it('by the time of origin', () => {
    const bench = new Bench({ type: 'skip_first', seconds: 1.25 })
    const rows = [
      [10, 900_000_000],
      [11, 0],
      [12, 149_999_999],
      [12, 150_000_000],
      [13, 0],
    ] as [number, number][]
    expect(bench.run(rows.map((origin) => ({ origin })))).toEqual([{ origin: [12, 150_000_000] }, { origin: [13, 0] }])
  })
})

describe('limit_rate', () => {
  const at = (ms: number): [number, number] => [Math.floor(ms / 1000), (ms % 1000) * 1e6]

  it('by origin or receipt: the first passes, then one that is 1/rate behind the last', () => {
    const times = [0, 5, 9, 10, 19, 21, 30, 31]
    const origins = new Bench({ type: 'limit_rate', rate: 100, mode: 'origin' }).run(
      times.map((ms) => ({ origin: at(ms) })),
    )
    expect(origins).toEqual([0, 10, 21, 31].map((ms) => ({ origin: at(ms) })))
    const received = new Bench({ type: 'limit_rate', rate: 100, mode: 'received' }).run(
      times.map((ms) => ({ received: at(ms) })),
    )
    expect(received).toEqual([0, 10, 21, 31].map((ms) => ({ received: at(ms) })))
  })

  it('by the clock, if nothing else is said', () => {
    const bench = new Bench({ type: 'limit_rate', rate: 2 })
    const passed = [0, 400, 500, 999, 1001].map((ms) => {
      bench.now = at(ms)
      return bench.one({ origin: [1, 1] }) !== 'skip'
    })
    expect(passed).toEqual([true, false, true, false, true])
  })
})

describe('limit_value', () => {
  it('floats and integers', () => {
    const bench = new Bench({ type: 'limit_value', signals: [0, 1, 2], min: -1.5, max: 2.5 }, '2fif')
    expect(bench.one({ values: [-2, 3, 7, 99] })).toEqual({ values: [-1.5, 2.5, 2, 99] })
    expect(bench.one({ values: [Number.NaN, 1, -7, 99] })).toEqual({ values: [Number.NaN, 1, -1, 99] })
  })
})

describe('average', () => {
  it('is a new signal where it was asked for', () => {
    const bench = new Bench({ type: 'average', signals: ['a', 'c'], offset: 1 }, named('a', 'b', 'c'))
    expect(bench.one({ values: [1, 5, 4] })).toEqual({ values: [1, 2.5, 5, 4] })
    expect(bench.chain.signals.map(({ name }) => name)).toEqual(['a', 'average', 'b', 'c'])
    expect(bench.one({ values: [1, 5] })).toBe('error')
    expect(bench.chain.errors).toBe(1)
  })

  it('behind the last one, too; of integers, too', () => {
    const bench = new Bench({ type: 'average', signals: [0, 1], offset: 2 }, 'fi')
    expect(bench.one({ values: [1, 4] })).toEqual({ values: [1, 4, 2.5] })
  })

  it('needs room', () => {
    const settings = { type: 'average', signal: 0, offset: 0 }
    expect(() => new Bench(settings, '2f', { room: 2 })).toThrow('samples have 3 values, and there is room for 2')
  })
})

describe('cast', () => {
  const to = (new_type: string) => new Bench({ type: 'cast', signals: [0, 1, 2, 3], new_type }, 'fibc')
  const row: Row = { values: [-2.75, 3, true, [1.5, 0]] }

  it.each([
    ['float', [-2.75, 3, 1, 1.5]],
    ['integer', [-2, 3, 1, 1]],
    ['boolean', [true, true, true, false]],
    [
      'complex',
      [
        [-2.75, 0],
        [3, 0],
        [1, 0],
        [1.5, 0],
      ],
    ],
  ])('to %s', (type, expected) => {
    expect(to(type).one(row)).toEqual({ values: expected })
  })

  it('what C has no rule for: NaN is 0, and what is too large the largest', () => {
    const bench = new Bench({ type: 'cast', signals: [0, 1, 2], new_type: 'integer' }, '3f')
    const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n]
    expect(bench.one({ values: [Number.NaN, -1e30, 1e30] })).toEqual({ values: [0, least, most] })
  })

  it('name and unit, of the chosen signal only', () => {
    const bench = new Bench({ type: 'cast', signal: 'b', new_name: 'current', new_unit: 'A' }, named('a', 'b'))
    expect(bench.chain.signals).toEqual([
      { name: 'a', unit: 'V', type: SignalType.float },
      { name: 'current', unit: 'A', type: SignalType.float },
    ])
  })
})

describe('chains', () => {
  it('run by priority, then in their order; the next hook sees the signals of the one before', () => {
    const bench = new Bench(
      [
        { type: 'scale', signal: 'mean', scale: 10, priority: 7 },
        { type: 'cast', signal: 'average', new_name: 'mean', priority: 6 },
        { type: 'average', signals: ['a', 'b'], offset: 0, priority: 5 },
        { type: 'scale', signal: 'a', scale: 0, enabled: false },
      ],
      named('a', 'b'),
    )
    expect(bench.one({ values: [1, 2] })).toEqual({ values: [15, 1, 2] })
    expect(bench.chain.values).toBe(3)
  })

  it('built-in hooks are there unless the list has them', () => {
    const bench = new Bench([{ type: 'drop', enabled: false }], '2f', { builtin: true })
    expect(bench.chain.length).toBe(2)
    expect(sequences(bench.run([{}, { sequence: 0 }, {}]))).toEqual([0, 0, 1])
  })

  it.each([
    ['scal', "bench: there is no hook 'scal'. Did you mean 'scale'?"],
    [
      { type: 'scale', signal: 'signa0' },
      "there is no signal 'signa0'. Did you mean 'signal0'? There are: signal0, signal1",
    ],
    [{ type: 'scale', signal: 2 }, '2 is no signal. Expected a name, or an index from 0 to 1'],
    [{ type: 'lua', script: 'a.lua' }, 'bench: hook lua: Lua was not loaded'],
    ['ip-dft-pmu', "the hook 'pmu_dft' does the same"],
    [{ type: 'scale' }, 'bench: hook scale: signals: is missing. Expected a list of names of signals'],
    [{ type: 'scale', signal: 0, signals: [1] }, "'signals' and 'signal' say the same"],
    [{ type: 'scale', signal: 0, fctor: 2 }, "bench: hook scale has no setting 'fctor'"],
    [{ type: 'decimate' }, 'ratio: is missing'],
    [{ type: 'decimate', ratio: 0 }, 'ratio: 0 is not valid'],
    [{ type: 'skip_first' }, "needs either 'samples' or 'seconds'"],
    [{ type: 'skip_first', samples: 1, seconds: 1 }, "needs either 'samples' or 'seconds'"],
    [{ type: 'limit_rate', rate: 0 }, 'rate: 0 is not valid'],
    [{ type: 'limit_rate', rate: 1, mode: 'orign' }, 'one of "local", "received", "origin"'],
    [{ type: 'limit_value', signal: 0, min: 2, max: 1 }, 'min (2) is greater than max (1)'],
    [{ type: 'average', signal: 0, offset: 3 }, 'a whole number from 0 to 2'],
  ])('%j is refused', (hook, expected) => {
    expect(() => new Bench(hook)).toThrow(expected)
  })

  it('a signal of the wrong type is refused', () => {
    expect(() => new Bench({ type: 'average', signal: 0, offset: 0 }, 'b')).toThrow(
      'signal0 is boolean, and must be float or integer: the hook cast changes it',
    )
  })
})
