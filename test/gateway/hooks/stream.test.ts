/** Hooks that open and close, sort, mark and count what comes by. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Samples, Statistics } from '../../../src/gateway/index.ts'
import { holds } from '../../property.ts'
import { Bench, fill, type Row, through } from './bench.ts'

const at = (ms: number): [number, number] => [Math.floor(ms / 1000), (ms % 1000) * 1e6]

describe('limit_rate', () => {
  it('never lets more pass than the rate, and no sample waits longer than it must', () => {
    holds(
      fc.property(fc.array(fc.nat(50), { maxLength: 100 }), fc.integer({ min: 1, max: 200 }), (gaps, rate) => {
        let ms = 5000
        const times = gaps.map((gap) => (ms += gap))
        const bench = new Bench({ type: 'limit_rate', rate, mode: 'origin' })
        const passed = times.filter((time) => bench.one({ origin: at(time) }) !== 'skip')
        const expected: number[] = []
        for (const time of times) {
          const last = expected.at(-1)
          if (last === undefined || (time - last) * rate >= 1000) expected.push(time)
        }
        for (let i = 1; i < passed.length; i++)
          expect((passed[i]! - passed[i - 1]!) * rate).toBeGreaterThanOrEqual(999.999)
        expect(passed).toEqual(expected)
      }),
    )
  })
})

describe('decimate', () => {
  it('keeps each nth', () => {
    holds(
      fc.property(fc.nat(200), fc.integer({ min: 1, max: 50 }), (count, ratio) => {
        const all = Array.from({ length: count }, (_, i) => i)
        expect(through({ type: 'decimate', ratio }, all)).toEqual(all.filter((i) => i % ratio === 0))
      }),
    )
  })
})

describe('gate', () => {
  const passed = (settings: object, rows: readonly (Row | number)[]): unknown[] =>
    new Bench({ type: 'gate', signal: 0, ...settings }, 'f')
      .run(rows.map((row, i) => (typeof row === 'number' ? { sequence: i, values: [row] } : row)))
      .map(({ sequence }) => sequence)

  it('above, below, rising, falling', () => {
    const all = [0.6, 0.5, 0.7, 0.7, 0.2, 0.4]
    expect(passed({ mode: 'above' }, all)).toEqual([0, 2, 3])
    expect(passed({ mode: 'below', threshold: 0.45 }, all)).toEqual([4, 5])
    expect(passed({}, all)).toEqual([2, 5])
    expect(passed({ mode: 'falling_edge' }, all)).toEqual([1, 4])
  })

  it('stays open for a number of samples, or of seconds', () => {
    expect(passed({ samples: 3 }, [1, 2, 1, 1, 1, 2, 1])).toEqual([1, 2, 3, 5, 6])
    const rows = [0, 400, 1100, 1399, 1400, 3000].map(
      (ms, i): Row => ({ sequence: i, origin: at(ms), values: [i === 1 ? 1 : 0] }),
    )
    expect(passed({ mode: 'above', duration: 1 }, rows)).toEqual([1, 2, 3])
  })

  it('is closed again by a restart', () => {
    const bench = new Bench({ type: 'gate', signal: 0, samples: 10 }, 'f')
    bench.run([
      { sequence: 0, values: [0] },
      { sequence: 1, values: [1] },
    ])
    bench.chain.restart()
    expect(bench.one({ sequence: 2, values: [1] })).toBe('skip')
  })
})

describe('shift', () => {
  it('sequence numbers modulo 2^64', () => {
    const bench = new Bench({ type: 'shift_seq', offset: -3 })
    expect(bench.run([{ sequence: 5 }, { sequence: 0x100000001 }, { sequence: 1 }])).toEqual([
      { sequence: 2 },
      { sequence: 0xfffffffe },
      { sequence: 2n ** 64n - 2n },
    ])
    expect(new Bench({ type: 'shift_seq', offset: 5 }).one({ sequence: 2n ** 64n - 2n })).toEqual({ sequence: 3 })
  })

  it('times, forwards and backwards', () => {
    expect(new Bench({ type: 'shift_ts', offset: 1.75 }).one({ origin: [3, 500_000_000] })).toEqual({
      origin: [5, 250_000_000],
    })
    const received = new Bench({ type: 'shift_ts', mode: 'received', offset: -0.75 })
    expect(received.one({ origin: [1, 1], received: [3, 500_000_000] })).toEqual({
      origin: [1, 1],
      received: [2, 750_000_000],
    })
  })
})

describe('frame', () => {
  const begins = (settings: object, rows: readonly Row[]): number[] =>
    new Bench({ type: 'frame', ...settings }).run(rows).flatMap(({ newFrame }, i) => (newFrame ? [i] : []))

  it('by sequence numbers', () => {
    const rows = [1, 2, 3, 4, 9, 10, 12, 0x100000000].map((sequence) => ({ sequence, newFrame: true }))
    expect(begins({ trigger: 'sequence', interval: 3 }, rows)).toEqual([0, 2, 4, 6, 7])
  })

  it('by time: a second, a duration, milliseconds', () => {
    const rows = [100, 900, 1000, 1999, 2500, 6000].map((ms) => ({ origin: at(ms) }))
    expect(begins({}, rows)).toEqual([0, 2, 4, 5])
    expect(begins({ interval: '2s500ms' }, rows)).toEqual([0, 4, 5])
    expect(begins({ interval: 500 }, rows)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('when the simulation begins again; without its field a sample is an error', () => {
    const rows = [{ sequence: 1 }, { sequence: 2, newSimulation: true }, { sequence: 3 }]
    expect(begins({ trigger: 'sequence', interval: 1000 }, rows)).toEqual([0, 1])
    expect(new Bench('frame').one({ sequence: 1 })).toBe('error')
  })

  it.each(['1x', '', '500us', 0, -1, 1.5])('interval %j is refused', (interval) => {
    expect(() => new Bench({ type: 'frame', interval })).toThrow('interval: ')
  })
})

describe('digest', () => {
  const settings = { type: 'digest', algorithm: 'sha256', uri: 'out.digest' }

  it('hashes what VILLASnode hashes: its own integration test (hook-digest.sh) has these', () => {
    const rows: Row[] = [
      { sequence: 0, origin: [1548104309, 33621000], values: [0.022245, 0.590769, -1, 0.597649, 0.100588] },
      { sequence: 1, origin: [1548104309, 133998900], values: [0.015339, 0.952914, -1, 0.196137, 0.200966] },
      { sequence: 2, origin: [1548104309, 233542500], values: [0.0275, 0.950063, -1, -0.202037, 0.300509] },
      { sequence: 3, origin: [1548104309, 334019400], values: [0.04032, 0.582761, -1, -0.603945, 0.400986] },
      { sequence: 4, origin: [1548104309, 433952200], values: [0.026079, -0.005774, 1, -0.996324, 0.500919] },
    ]
    const bench = new Bench([settings, { type: 'frame', trigger: 'sequence', interval: 2 }], '5f')
    expect(bench.run(rows)).toHaveLength(5)
    bench.chain.stop()
    expect(bench.files.get('out.digest')).toBe(
      '1548104309.033621000-0 1548104309.133998900-1 sha256 A8952855F24A39BCB3F907E4623400B91E74F22B0B748C6012B4B0176AF6F3DB\n' +
        '1548104309.233542500-2 1548104309.334019400-3 sha256 7EDE5DCA0207FBABD20F4914324FA85A1BB13116EB7E84B64ACD124F81DC771B\n',
    )
    expect(bench.closed).toEqual(['out.digest'])
  })

  it('all types, whatever a sample lacks, frames of any length', () => {
    const row = fc.record({
      sequence: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { nil: undefined }),
      origin: fc.option(fc.tuple(fc.nat(2 ** 31 - 1), fc.nat(999_999_999)), { nil: undefined }),
      float: fc.double(),
      integer: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      boolean: fc.boolean(),
      complex: fc.tuple(fc.float(), fc.float()),
      length: fc.nat(4),
    })
    holds(
      fc.property(
        fc.array(fc.array(row, { minLength: 1, maxLength: 20 }), { minLength: 2, maxLength: 4 }),
        (frames) => {
          const bench = new Bench({ ...settings, algorithm: 'md5' }, 'fibc')
          const hashes = frames.map((rows) => {
            const hash = createHash('md5')
            rows.forEach(({ sequence, origin, float, integer, boolean, complex, length }, i) => {
              const values = [float, integer, boolean, complex].slice(0, length)
              const sample = {
                newFrame: i === 0,
                values,
                ...(sequence !== undefined && { sequence }),
                ...(origin && { origin }),
              }
              expect(bench.one(sample)).not.toBe('error')
              if (origin) hash.update(new BigUint64Array(origin.map(BigInt)))
              if (sequence !== undefined) hash.update(new BigUint64Array([sequence]))
              const parts = [
                new Float64Array([float]),
                new BigInt64Array([integer]),
                Uint8Array.of(boolean ? 1 : 0),
                new Float32Array(complex),
              ]
              for (const part of parts.slice(0, length)) hash.update(part)
            })
            return hash.digest('hex').toUpperCase()
          })
          const written = (bench.files.get('out.digest') ?? '').split('\n').slice(0, -1)
          // The last frame has no end.
          expect(written.map((line) => line.split(' ')[3])).toEqual(hashes.slice(0, -1))
        },
      ),
      30,
    )
  })

  it('what comes before the first frame is in none; an unknown algorithm is refused', () => {
    const bench = new Bench(settings)
    bench.run([{ values: [9, 9] }, { newFrame: true, values: [1, 2] }, { newFrame: true }])
    const expected = createHash('sha256')
      .update(new Float64Array([1, 2]))
      .digest('hex')
      .toUpperCase()
    expect(bench.files.get('out.digest')).toContain(expected)
    expect(() => new Bench({ ...settings, algorithm: 'sha257' })).toThrow('algorithm: "sha257" is not valid')
  })
})

describe('reorder_ts', () => {
  const sort = (ms: readonly number[], window_size: number): { passed: number[]; drained: number[] } => {
    const bench = new Bench({ type: 'reorder_ts', window_size }, 'f')
    const rows = ms.map((time): Row => ({ origin: at(time), values: [time] }))
    const firsts = (out: Row[]): number[] => out.map(({ values }) => values![0] as number)
    return { passed: firsts(bench.run(rows)), drained: firsts(bench.drained()) }
  }

  it('a sample passes when as many came behind it as the window holds', () => {
    expect(sort([3, 1, 2, 5, 4, 6], 2)).toEqual({ passed: [1, 2, 3, 4], drained: [5, 6] })
  })

  it('what comes too late is dropped, and said', () => {
    const bench = new Bench({ type: 'reorder_ts', window_size: 1 })
    expect(bench.run([5, 6, 4, 7].map((ms) => ({ origin: at(ms) }))).map(({ origin }) => origin)).toEqual([
      at(5),
      at(6),
    ])
    bench.chain.periodic()
    expect(bench.log).toEqual(['warn: reorder_ts: 1 samples came too late to be sorted, and were dropped'])
  })

  it('sorts, keeps samples of the same time in their order, and loses nothing of what is displaced by less than the window', () => {
    holds(
      fc.property(
        fc.array(fc.nat(1000), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        (shuffle, size) => {
          // Blocks of size + 1 samples in any order, so that none is displaced by more than size.
          const order = shuffle.map((key, i) => ({ i, block: Math.floor(i / (size + 1)), key }))
          const ms = order.toSorted((a, b) => a.block - b.block || a.key - b.key).map(({ i }) => i)
          const bench = new Bench({ type: 'reorder_ts', window_size: size }, '2f')
          const out = bench.run(
            ms.map((time, order): Row => ({ origin: at(Math.floor(time / 2)), values: [time, order] })),
          )
          const all = [...out, ...bench.drained()]
          expect(all.map(({ values }) => values![0]).toSorted((a, b) => (a as number) - (b as number))).toEqual(
            shuffle.map((_, i) => i),
          )
          const keys = all.map(({ origin, values }) => [origin![0] * 1000 + origin![1] / 1e6, values![1] as number])
          expect(keys).toEqual(keys.toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]!))
        },
      ),
    )
  })

  it('what is drained passes the hooks behind it', () => {
    const bench = new Bench(
      [
        { type: 'reorder_ts', window_size: 3 },
        { type: 'decimate', ratio: 2 },
      ],
      'f',
    )
    expect(bench.run([4, 3, 2, 1].map((ms): Row => ({ origin: at(ms), values: [ms] })))).toHaveLength(1)
    expect(bench.drained().map(({ values }) => values![0])).toEqual([3])
  })
})

describe('print', () => {
  it('to standard output, with prefix and owner; without them to a file, in any format', () => {
    const row: Row = { origin: [1, 5], sequence: 3, values: [0.5, 2] }
    const bench = new Bench([
      { type: 'print', prefix: '> ' },
      { type: 'print', output: 'a.json', format: 'json' },
    ])
    bench.run([row])
    bench.chain.stop()
    expect(bench.files.get('stdout')).toBe('> bench 1.000000005(3)\t0.50000000000000000\t2.00000000000000000\n')
    expect(bench.files.get('a.json')).toBe('{"ts": {"origin": [1, 5]}, "sequence": 3, "data": [0.5, 2.0]}\n')
    expect(bench.closed).toEqual(['stdout', 'a.json'])
    expect(() => new Bench({ type: 'print', prefix: 'a', output: 'b' })).toThrow('exclude each other')
    expect(() => new Bench({ type: 'print', format: 'jsn' })).toThrow("Did you mean 'json'")
  })

  it('a file has the header of its format', () => {
    const bench = new Bench({ type: 'print', output: 'a.csv', format: { type: 'csv', real_precision: 1 } }, 'f')
    bench.run([{ sequence: 1, values: [2] }])
    expect(bench.files.get('a.csv')).toBe('# secs,nsecs,offset,sequence,signal0\nnan,nan,nan,1,2.0\n')
  })
})

describe('dump', () => {
  it('says all fields', () => {
    const bench = new Bench('dump', 'ficb')
    const row: Row = {
      sequence: 2n ** 63n,
      origin: [1, 5],
      received: [-1, 7],
      newFrame: true,
      values: [0.5, -7, [1, -2], true],
    }
    expect(bench.run([row])).toEqual([row])
    expect(bench.log).toEqual([
      'info: sample: flags=tsOrigin|tsReceived|sequence|data|newFrame length=4 sequence=9223372036854775808 origin=1.000000005 received=-1.000000007',
      'info:   signal0 float: 0.5',
      'info:   signal1 integer: -7',
      'info:   signal2 complex: 1-2i',
      'info:   signal3 boolean: true',
    ])
  })
})

describe('ebm', () => {
  it('integrates the power of all phases', () => {
    const bench = new Bench(
      {
        type: 'ebm',
        phases: [
          [0, 1],
          [2, 3],
        ],
      },
      '4f',
    )
    // 2·3 + 1·1 = 7 W, then 10·1 + 1·3 = 13 W half a second later, then 1 W a second later.
    bench.run([
      { origin: [1, 0], values: [2, 3, 1, 1] },
      { origin: [1, 500_000_000], values: [10, 1, 1, 3] },
      { origin: [2, 500_000_000], values: [1, 1, 0, 5] },
    ])
    bench.chain.periodic()
    expect(bench.log).toEqual([`info: energy: ${((7 + 13) / 2) * 0.5 + (13 + 1) / 2}`])
    expect(() => new Bench({ type: 'ebm', phases: [[0, 9]] }, '4f')).toThrow('phases: [[0,9]] is not valid')
  })
})

describe('stats', () => {
  /** A sample each 10 ms, received after 1, 2, …, 100 ms; every tenth number is missing. */
  const rows = Array.from({ length: 100 }, (_, i): Row => {
    const ms = 10 * i
    return { sequence: i + Math.floor(i / 10), origin: at(ms), received: at(ms + i + 1), values: [1, 2] }
  })

  function collected(settings: object): { bench: Bench; statistics: Statistics } {
    let statistics: Statistics | undefined
    const bench = new Bench({ type: 'stats', ...settings }, '2f', { publish: (each) => (statistics = each) })
    bench.run(rows)
    return { bench, statistics: statistics! }
  }

  it('knows gaps, delays, steps and values', () => {
    const { statistics } = collected({})
    expect(statistics.get('gap_sent', 'total')).toBe(99)
    expect(statistics.get('gap_sent', 'mean')).toBeCloseTo(0.01, 12)
    expect(statistics.get('gap_received', 'lowest')).toBeCloseTo(0.011, 12)
    // The delay of the first sample is not counted, as in VILLASnode.
    expect(statistics.get('owd', 'total')).toBe(99)
    expect(statistics.get('owd', 'lowest')).toBeCloseTo(0.002, 12)
    expect(statistics.get('owd', 'highest')).toBeCloseTo(0.1, 12)
    expect(statistics.get('owd', 'last')).toBeCloseTo(0.1, 12)
    expect(statistics.get('owd', 'mean')).toBeCloseTo(0.051, 12)
    // Of 2, …, 100 the variance is (99² − 1) / 12 · 99 / 98.
    expect(statistics.get('owd', 'var')).toBeCloseTo(((99 ** 2 - 1) / 12 / 98) * 99 * 1e-6, 12)
    expect(statistics.percentile('owd', 50) / 0.051).toBeCloseTo(1, 2)
    expect(statistics.percentile('owd', 99) / 0.1).toBeCloseTo(1, 1)
    expect([statistics.get('reordered', 'total'), statistics.get('reordered', 'mean')]).toEqual([9, 2])
    expect(statistics.get('signal_cnt', 'last')).toBe(2)
    expect(statistics.get('age', 'last')).toBe(Number.NaN)
  })

  it('written at the end, as text or JSON', () => {
    const { bench } = collected({ output: 'a.json', format: 'json', warmup: 10, buckets: 4 })
    bench.chain.stop()
    const { owd, age } = JSON.parse(bench.files.get('a.json')!)
    expect(owd).toMatchObject({ total: 99, percentiles: { 50: expect.closeTo(0.051, 3) } })
    expect(owd.histogram.buckets).toHaveLength(4)
    // The value that ends the warm-up is not in the histogram, as in VILLASnode.
    const { lower, higher, buckets } = owd.histogram
    expect(lower + higher + buckets.reduce((sum: number, each: number) => sum + each, 0)).toBe(99 - 11)
    expect(age).toMatchObject({ total: 0, mean: null, histogram: null })
    const text = collected({ verbose: true, warmup: 10 }).bench
    text.chain.stop()
    expect(text.files.get('stdout')).toContain(
      'owd: one-way delay, in seconds\n  values 99, last 0.1, lowest 0.002, highest 0.1\n',
    )
    expect(text.files.get('stdout')).toContain('  buckets from ')
  })

  it('says a line about once a second; forgets at a restart', () => {
    const { bench, statistics } = collected({})
    const line = (): string | undefined => {
      bench.now = [bench.now[0] + 2, 0]
      bench.chain.periodic()
      return bench.log.splice(0)[0]
    }
    expect(line()).toMatch(/^info: 100 samples, 50 per second, one-way delay: median 0\.051\d* s, 99 % 0\.1 s$/)
    expect(line()).toBeUndefined()
    bench.one({ sequence: 200 })
    expect(line()).toMatch(/^info: 101 samples, 0\.25 per second, /)
    bench.chain.restart()
    // Nothing that is not known, as NaN; and no line before the first sample.
    expect(line()).toBeUndefined()
    bench.one({ sequence: 0 })
    expect(line()).toMatch(/^info: 1 samples, 0\.25 per second$/)
    expect(statistics.get('owd', 'total')).toBe(0)
  })

  it('what is written to a node has an age', () => {
    let statistics: Statistics | undefined
    const bench = new Bench('stats', '2f', { place: 'out', publish: (each) => (statistics = each) })
    bench.now = [5, 250_000_000]
    bench.run([{ received: [5, 0] }, {}])
    expect([statistics!.get('age', 'total'), statistics!.get('age', 'last')]).toEqual([1, 0.25])
  })

  it('percentiles of any values, negative ones too, are at most 1/256 off', () => {
    holds(
      fc.property(
        fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 100 }),
        fc.integer({ min: 1, max: 100 }),
        (all, percent) => {
          const statistics = new Statistics({ buckets: 0, warmup: 0 })
          for (const each of all) statistics.update('reordered', each)
          const exact = all.toSorted((a, b) => a - b)[Math.ceil((all.length * percent) / 100) - 1]!
          expect(Math.abs(statistics.percentile('reordered', percent) - exact)).toBeLessThanOrEqual(
            Math.abs(exact) / 256,
          )
        },
      ),
    )
  })
})

it('no hook touches what is beyond its sample', () => {
  const settings: Record<string, object> = {
    average: { signals: [0, 1], offset: 2 },
    dp: { signal: 0, f0: 50, rate: 1000, harmonics: [0, 1, 2] },
    pmu_dft: {
      signal: 0,
      sample_rate: 10,
      dft_rate: 10,
      start_frequency: 0,
      end_frequency: 1,
      frequency_resolution: 1,
    },
    power: { pairings: [{ voltage: 0, current: 1 }], window_size: 1 },
    reorder_ts: { window_size: 1 },
  }
  for (const [type, each] of Object.entries(settings)) {
    const bench = new Bench({ type, ...each }, '2f', { room: 4 })
    const samples = new Samples(3, 4)
    const word = samples.word(1)
    for (let n = 0; n < 20; n++) {
      // With more values than there are signals.
      fill(samples, word, { sequence: n, origin: at(100 * n + 1), values: [n, n] }, bench.signals)
      samples.u32[word] = 4
      const outside = [samples.u32.subarray(0, word), samples.u32.subarray(samples.word(2))]
      for (const part of outside) part.fill(0x12345678)
      bench.chain.process(samples, word)
      for (const part of outside) expect([type, part.every((each) => each === 0x12345678)]).toEqual([type, true])
    }
  }
})
