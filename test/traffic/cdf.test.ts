/** Distributions of sizes: what a file may have, what is refused, and the presets against the figures that are published for them. */
import { describe, expect, it } from 'vitest'
import { Cdf, presetCdf, presets, RandomStream } from '../../src/traffic/index.ts'
import { ksDistance, ksLimit } from './statistics.ts'

const parse = (text: string): Cdf => Cdf.parse(text, 'x.txt')

describe('a file of a distribution', () => {
  it.each([
    ['per cent', '0 0\n100 50\n200 100\n'],
    ['fractions', '0 0\n100 .5\n200 1.0\n'],
    ['comments, blank lines, trailing spaces, CRLF', '# sizes\r\n\r\n0 0 \t\r\n100 50 # half\r\n200 100 // all'],
    ['commas, colons, tabs, per cent signs', '0:0%\n100,50%\n200\t100%'],
    ['semicolons, and names of columns', '"flow size (bytes)";share\n0;0\n100;0.5\n200;1'],
    ['names of columns after a comment', '# sizes\nbytes,cdf\n0,0\n100,50\n200,100'],
    ['the mean in its first line', '100\n0 0\n100 0.5\n200 1'],
  ])('has %s', (_, text) => {
    const cdf = parse(text)
    expect(cdf.points).toEqual([
      [0, 0],
      [100, 0.5],
      [200, 1],
    ])
    expect([cdf.mean, cdf.quantile(0.25), cdf.below(150)]).toEqual([100, 50, 0.75])
  })

  it('has rows of three numbers where a unit is said, and sizes with units of their own', () => {
    const packets = Cdf.parse('0 1 0\n2 1 0.5\n20 1 1', 'x.txt', 'linear', 1460)
    expect(packets.points).toEqual([[0, 0], [2920, 0.5], [29_200, 1]]) // biome-ignore format: rows
    expect(Cdf.parse('10\n0 0\n20 1', 'x.txt', 'linear', 1460).statedMean).toBe(14_600)
    expect(parse('0 0\n64KB 50\n1MiB 100').points).toEqual([[0, 0], [64_000, 0.5], [2 ** 20, 1]]) // biome-ignore format: rows
  })

  it('keeps the mean that it states apart from the one that it has', () => {
    expect(parse('120\n0 0\n100 1').statedMean).toBe(120)
    expect(parse('120\n0 0\n100 1').mean).toBe(50)
    expect(parse('0 0\n100 1').statedMean).toBeNull()
  })

  it('gives a first share above 0 to the first size', () => {
    const cdf = parse('64 40\n128 100')
    expect([cdf.quantile(0), cdf.quantile(0.4), cdf.quantile(0.7), cdf.below(63), cdf.below(64)]).toEqual([
      64, 64, 96, 0, 0.4,
    ])
    expect(cdf.mean).toBeCloseTo(0.4 * 64 + 0.6 * 96)
  })

  it('jumps where a size comes twice', () => {
    const cdf = parse('0 0\n100 20\n100 80\n200 100')
    expect([0.2, 0.5, 0.8, 0.9].map((u) => cdf.quantile(u))).toEqual([100, 100, 100, 150])
    expect([cdf.below(99.999), cdf.below(100)].map((share) => Math.round(share * 100) / 100)).toEqual([0.2, 0.8])
    expect(cdf.mean).toBeCloseTo(0.2 * 50 + 0.6 * 100 + 0.2 * 150)
  })

  it('has no size where the share stays', () => {
    const cdf = parse('0 0\n100 50\n300 50\n400 100')
    expect([cdf.quantile(0.5), cdf.below(200)]).toEqual([100, 0.5])
    expect(cdf.quantile(0.5000001)).toBeGreaterThan(300)
    expect(parse('70 0\n100 0\n200 100').min).toBe(100)
  })

  it.each([
    ['0 0\n100 60\n200 50\n300 100', 'x.txt:3: cumulative shares fall: 50 % after 60 %'],
    ['0 0\n# c\n100 60\n50 100', 'x.txt:4: sizes fall: 50 after 100'],
    ['0 0\n100 90', 'x.txt:2: the last share is 90 %, not 100 %'],
    ['0 0\n100 0.9', 'x.txt:2: the last share is 90 %, not 100 %'],
    ['0 0\n100 120', 'x.txt:2: a share of 120 % cannot be'],
    ['-1 0\n100 100', 'x.txt:1: -1 is not a size in bytes'],
    ['0 0\n100 x', "x.txt:2: 'x' is not a number"],
    ['0 1 0\n2 1 0.5\n20 1 1', /^x\.txt:1: three numbers, size, count and share, .* say how many bytes one is .*1460/],
    ['0;0\n100;0,5\n200;1', "x.txt:2: '0,5' is not a number"],
    ['bytes share\nsize share\n0 0\n1 1', "x.txt:2: 'size' is not a number"],
    ['x 0\n100 100', "x.txt:1: 'x' is not a number"],
    ['0 0\n100 50 3\n200 100', 'x.txt:2: expected two numbers, bytes and share, not 3'],
    ['0 0\n77\n200 100', 'x.txt:2: expected two numbers, bytes and share, not 1'],
    ['# nothing', 'x.txt: it has no rows of bytes and share'],
    ['0 0\n100 NaN', "x.txt:2: 'NaN' is not a number"],
  ])('%j is refused', (text, message) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({
        ...{ name: 'TrafficError', code: 'ERR_TRAFFIC_CDF' },
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      }),
    )
  })
})

describe('rules between rows', () => {
  it.each(['linear', 'log', 'inverse'] as const)(
    '%s: quantile and share undo each other, and the mean is that of both',
    (rule) => {
      const cdf = new Cdf('x', [[10, 0.1], [1000, 0.5], [1000, 0.6], [50_000, 1]], rule) // biome-ignore format: rows
      let sum = 0
      const n = 20_000
      for (let i = 0; i < n; i++) {
        const u = (i + 0.5) / n
        const size = cdf.quantile(u)
        sum += size
        if (size !== 10 && size !== 1000) expect(cdf.below(size)).toBeCloseTo(u, 9)
      }
      expect(sum / n / cdf.mean).toBeCloseTo(1, 4)
    },
  )

  it('the middle of a segment is the arithmetic, geometric or harmonic mean of its ends', () => {
    const middle = (rule: 'linear' | 'log' | 'inverse') => new Cdf('x', [[10, 0], [1000, 1]], rule).quantile(0.5) // biome-ignore format: rows
    expect([middle('linear'), middle('log'), middle('inverse')].map((x) => Number(x.toFixed(6)))).toEqual([
      505, 100, 19.80198,
    ])
  })
})

describe('presets', () => {
  // The means of full tables under linear interpolation; thinned ones are within 1.5 % of theirs.
  it.each([
    ['WebSearch', 1_711_250, 1e-9],
    ['FbHdp', 120_421, 1e-5],
    ['AliStorage2019', 40_870, 1e-5],
    ['Solar2022', 39_424, 1e-4],
    ['GoogleRPC2008', 2892, 2e-3],
    ['FbHdp2015', 121_849, 1.5e-2],
    ['VL2', 12_660_000, 1e-3],
  ])('%s has its mean', (name, mean, tolerance) => {
    expect(Math.abs(presetCdf(name)!.mean / mean - 1)).toBeLessThan(tolerance)
  })

  it('have their percentiles', () => {
    const at = (name: string, u: number): number => Math.round(presetCdf(name)!.quantile(u))
    expect([at('WebSearch', 0.5), at('GoogleRPC2008', 0.5)]).toEqual([73_077, 257])
    expect(at('WebSearch', 0.99) / 23.3e6).toBeCloseTo(1, 2)
    expect(at('GoogleRPC2008', 0.99) / 30_614).toBeCloseTo(1, 3)
  })

  it('are found by any of their names, in any case', () => {
    for (const { name, aliases } of presets)
      for (const other of aliases) expect(presetCdf(other.toUpperCase())).toBe(presetCdf(name))
    expect(presetCdf('nothing')).toBeUndefined()
  })

  it.each(presets.map(({ name }) => name))('%s: sizes that are drawn from it have it', (name) => {
    const cdf = presetCdf(name)!
    const random = new RandomStream(1, '0/sizes')
    const sizes = Array.from({ length: 20_000 }, () => Math.ceil(cdf.quantile(random.unit())))
    expect(ksDistance(sizes, (size) => cdf.below(size), true)).toBeLessThan(ksLimit(sizes.length))
  })
})
