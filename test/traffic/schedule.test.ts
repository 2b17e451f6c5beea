/** The schedule has the distributions that the configuration asks for, and nothing but the seed decides what it is. */
import { describe, expect, it } from 'vitest'
import { Choice, joint, presetCdf, RandomStream, requestLine, Schedule, type Verb } from '../../src/traffic/index.ts'
import { readTraffic } from '../../src/traffic/load/index.ts'
import { chiSquare, chiSquareLimit, ksDistance, ksLimit } from './statistics.ts'

const four = 'servers: [a, b, c, d]\n'

interface Drawn {
  time: number
  server: string
  size: number
  verb: Verb
  type: string
  dscp: number
  rate: number
  group: number
}

function lines(yaml: string, overrides = {}): string[] {
  const config = readTraffic(four + yaml, 'x.yaml', overrides)
  const schedule = new Schedule(config)
  const all: string[] = []
  while (schedule.next()) all.push(requestLine(schedule, config.servers))
  return all
}

const draw = (yaml: string, overrides = {}): Drawn[] => lines(yaml, overrides).map((line) => JSON.parse(line) as Drawn)

const gaps = (drawn: readonly Drawn[]): number[] => drawn.map(({ time }, i) => time - (drawn[i - 1]?.time ?? 0))

function counts<T>(values: readonly T[], kinds: readonly T[]): number[] {
  return kinds.map((kind) => values.filter((value) => value === kind).length)
}

const n = 20_000

function byGroup(drawn: readonly Drawn[]): Map<number, Drawn[]> {
  const groups = new Map<number, Drawn[]>()
  for (const request of drawn) groups.set(request.group, [...(groups.get(request.group) ?? []), request])
  return groups
}

describe('a line', () => {
  it('has these keys in this order', () => {
    expect(lines('size: 8\ncount: 1\nrequests: 1k/s\narrival: fixed')).toEqual([
      expect.stringMatching(
        /^\{"time":1000000,"server":"[abcd]:18515","size":8,"verb":"send","type":"RC","dscp":0,"rate":0,"group":0\}$/,
      ),
    ])
  })

  it('is the same for the same seed, and another for another', () => {
    const yaml = 'size: WebSearch\nverbs: {send: 1, read: 1}\nfanout: {1: 1, 3: 1}\n'
    expect(lines(yaml, { count: 500 })).toEqual(lines(yaml, { count: 500 }))
    expect(lines(yaml, { count: 500, seed: 2 })).not.toEqual(lines(yaml, { count: 500 }))
    expect(lines(yaml, { count: 500, client: 1 })).not.toEqual(lines(yaml, { count: 500 }))
    // A longer run begins as a shorter one.
    expect(lines(yaml, { count: 900 }).slice(0, 500)).toEqual(lines(yaml, { count: 500 }))
  })

  it('keeps what another distribution has drawn', () => {
    const sizes = (yaml: string): number[] =>
      draw(`size: WebSearch\nrequests: 1k/s\n${yaml}`, { count: 200 }).map(({ size }) => size)
    expect(sizes('arrival: uniform\nverbs: {send: 1, write: 2}\ndscp: {0: 1, 8: 1}')).toEqual(sizes(''))
  })
})

describe('arrivals', () => {
  const requests = `size: 8\nrequests: 10k/s\ncount: ${n}\n`
  const mean = 1e5

  it.each([
    ['poisson', 'poisson', (gap: number) => 1 - Math.exp(-gap / mean)],
    ['uniform', 'uniform', (gap: number) => Math.min(1, gap / (2 * mean))],
    ['lognormal', '{type: lognormal, sigma: 0.8}', (gap: number) => normalBelow((Math.log(gap / mean) + 0.32) / 0.8)],
  ])('%s', (_, arrival, below) => {
    const found = gaps(draw(`${requests}arrival: ${arrival}`, { seed: 7 }))
    expect(ksDistance(found, below)).toBeLessThan(ksLimit(n))
    expect(Math.abs(found.reduce((sum, gap) => sum + gap, 0) / n / mean - 1)).toBeLessThan(0.02)
  })

  it.each(['poisson', 'fixed', 'uniform', 'lognormal', 'onoff'] as const)('none at a rate of 0: %s', (type) => {
    const config = readTraffic(`${four}arrival: { type: onoff, on: 1ms, off: 1ms }`, 'x.yaml')
    const arrival = type === 'onoff' ? config.phases[0]!.arrival : type === 'lognormal' ? { type, sigma: 1 } : { type }
    const phases = [{ ...config.phases[0]!, arrival, load: null, requestsPerSecond: 0 }]
    expect(new Schedule({ ...config, phases }).next()).toBe(false)
  })

  it('fixed', () => {
    expect(new Set(gaps(draw(`${requests}arrival: fixed`)))).toEqual(new Set([mean]))
  })

  it('onoff has the rate asked for, and pauses', () => {
    const found = gaps(draw(`${requests}arrival: {type: onoff, on: 1ms, off: 3ms}`))
    expect(Math.abs(found.reduce((sum, gap) => sum + gap, 0) / n / mean - 1)).toBeLessThan(0.05)
    // Within a burst four times as fast: more of the gaps are short than without bursts.
    const short = found.filter((gap) => gap < mean / 4).length / n
    expect(short).toBeGreaterThan(0.55)
    expect(found.filter((gap) => gap > 1e6).length / n).toBeGreaterThan(0.01)
  })

  it('load times bandwidth over the mean size is the rate', () => {
    const drawn = draw(`size: FbHdp\nload: 0.4\nbandwidth: 25Gbps\ncount: ${5 * n}`)
    const rate = drawn.length / (drawn.at(-1)!.time / 1e9)
    const asked = (0.4 * 25e9) / (8 * presetCdf('FbHdp')!.mean)
    expect(Math.abs(rate / asked - 1)).toBeLessThan(0.02)
  })
})

describe('mixes', () => {
  const many = `requests: 1M/s\nsize: WebSearch\ncount: ${n}\n`

  it('sizes have their distribution', () => {
    const sizes = draw(many).map(({ size }) => size)
    expect(ksDistance(sizes, (size) => presetCdf('WebSearch')!.below(size), true)).toBeLessThan(ksLimit(n))
  })

  it('verbs and types both have the shares asked for, and only pairs that exist', () => {
    const drawn = draw(
      `${many}verbs: {send: 30, write: 25, read: 20, fetch_add: 10, write_with_imm: 15}\ntypes: {RC: 65, UC: 20, UD: 15}`,
    )
    const verbs = drawn.map(({ verb }) => verb)
    expect(
      chiSquare(counts(verbs, ['send', 'write', 'read', 'fetch_add', 'write_with_imm']), [0.3, 0.25, 0.2, 0.1, 0.15]),
    ).toBeLessThan(chiSquareLimit(4))
    expect(
      chiSquare(
        counts(
          drawn.map(({ type }) => type),
          ['RC', 'UC', 'UD'],
        ),
        [0.65, 0.2, 0.15],
      ),
    ).toBeLessThan(chiSquareLimit(2))
    for (const { verb, type, size } of drawn) {
      if (type === 'UD') expect(verb).toBe('send')
      if (type === 'UC') expect(['send', 'write', 'write_with_imm']).toContain(verb)
      if (verb === 'fetch_add') expect(size).toBe(8)
    }
  })

  it('says which shares no pairs can have', () => {
    const shares = (verb: Verb, ...types: ['RC' | 'UC' | 'UD', number][]) =>
      joint(
        [{ value: verb, weight: 1 }],
        types.map(([value, weight]) => ({ value, weight })),
      )
    expect(shares('read', ['UC', 1], ['RC', 3])).toMatch(/25 % .* UC, which can only do SENDs and WRITEs, and 0 %/)
    expect(shares('write', ['UD', 1])).toMatch(/100 % .* UD/)
    expect(shares('send', ['UD', 1])).toEqual([{ value: { verb: 'send', type: 'UD' }, weight: 1 }])
  })

  it.each([
    [
      'servers',
      '',
      (d: Drawn) => d.server,
      ['a', 'b', 'c', 'd'].map((host) => `${host}:18515`),
      [0.25, 0.25, 0.25, 0.25],
    ],
    ['DSCPs', 'dscp: {0: 75, 26: 25}', (d: Drawn) => d.dscp, [0, 26], [0.75, 0.25]],
    ['rates', 'rate: {500Mbps: 30, 1Gbps: 70}', (d: Drawn) => d.rate, [5e8, 1e9], [0.3, 0.7]],
    [
      'a hot server',
      'destinations: {hotspot: c, share: 0.7}',
      (d: Drawn) => d.server === 'c:18515',
      [true, false],
      [0.7, 0.3],
    ],
  ])('%s', (_, yaml, of: (drawn: Drawn) => unknown, kinds, shares) => {
    const found = counts(draw(`${many}${yaml}`).map(of), kinds)
    expect(found.reduce((sum, count) => sum + count, 0)).toBe(n)
    expect(chiSquare(found, shares)).toBeLessThan(chiSquareLimit(kinds.length - 1))
  })

  it('rates and sizes of a verb count for it alone', () => {
    const drawn = draw(`${many}verbs: {send: 1, read: {weight: 1, rate: 1Gbps, size: 64}}`)
    for (const { verb, rate, size } of drawn) {
      expect(rate).toBe(verb === 'read' ? 1e9 : 0)
      expect(size === 64).toBe(verb === 'read')
    }
  })
})

describe('fan-out', () => {
  it('goes to distinct servers at one time, which share the size', () => {
    const drawn = draw(`size: 1001\nrequests: 1k/s\nfanout: {1: 50, 3: 50}\ncount: ${n}`)
    const groups = byGroup(drawn)
    groups.delete(drawn.at(-1)!.group)
    for (const flows of groups.values()) {
      expect(new Set(flows.map(({ server }) => server)).size).toBe(flows.length)
      expect(new Set(flows.map(({ time }) => time)).size).toBe(1)
      expect(flows.reduce((sum, { size }) => sum + size, 0)).toBe(1001)
    }
    const sizes = [...groups.values()].map((flows) => flows.length)
    expect(chiSquare(counts(sizes, [1, 3]), [0.5, 0.5])).toBeLessThan(chiSquareLimit(1))
  })

  it('of more flows than servers goes round', () => {
    const drawn = draw('size: 8\nfanout: 10\nfanoutSize: each\nrequests: 1k/s\ncount: 10')
    expect(
      counts(
        drawn.map(({ server }) => server),
        ['a:18515', 'b:18515', 'c:18515', 'd:18515'],
      ).sort(),
    ).toEqual([2, 2, 3, 3])
    expect(drawn.every(({ size }) => size === 8)).toBe(true)
  })

  it('of an incast is its degree', () => {
    const drawn = draw('size: 4KiB\ndestinations: {incast: 4}\nrequests: 1k/s\ncount: 40')
    expect(new Set(drawn.map(({ size }) => size))).toEqual(new Set([1024]))
    expect(drawn.at(-1)!.group).toBe(9)
  })
})

it('a permutation gives each of the clients a server of its own', () => {
  const servers = [0, 1, 2, 3].map((client) => {
    const to = new Set(draw('destinations: permutation\ncount: 50\nclients: 4', { client }).map(({ server }) => server))
    expect(to.size).toBe(1)
    return [...to][0]
  })
  expect(new Set(servers).size).toBe(4)
})

it('requests stay in the rack as often as asked', () => {
  const yaml = `servers: [{host: a, rack: r1}, {host: b, rack: r1}, {host: c, rack: r2}]
destinations: {rack: r1, share: 0.8}\nsize: 8\nrequests: 1k/s\ncount: ${n}`
  const config = readTraffic(yaml, 'x.yaml')
  const schedule = new Schedule(config)
  const found = [0, 0, 0]
  while (schedule.next()) found[schedule.server]!++
  expect(chiSquare(found, [0.4, 0.4, 0.2])).toBeLessThan(chiSquareLimit(2))
})

describe('phases', () => {
  it('follow each other, each with what it has of its own', () => {
    const drawn = draw(
      'size: 8\nphases:\n- {duration: 1s, requests: 1k/s}\n- {duration: 500ms, requests: 4k/s, size: 64, verbs: read}',
    )
    const [first, second] = [drawn.filter(({ time }) => time < 1e9), drawn.filter(({ time }) => time >= 1e9)]
    expect([first.length / 1000, second.length / 2000].every((share) => Math.abs(share - 1) < 0.1)).toBe(true)
    expect(new Set(first.map(({ size, verb }) => `${verb} ${size}`))).toEqual(new Set(['send 8']))
    expect(new Set(second.map(({ size, verb }) => `${verb} ${size}`))).toEqual(new Set(['read 64']))
    expect(second.at(-1)!.time).toBeLessThan(1.5e9)
  })
})

describe('collectives', () => {
  const collective = (rest: string, overrides = {}): Drawn[] =>
    draw(`bandwidth: 8Gbps\ncollective: {${rest}}`, overrides)

  it('ring all-reduce: 2(N − 1) steps of S/N to the next rank, 2(N − 1)/N · S in all', () => {
    const drawn = collective('name: ring-all-reduce, size: 4000')
    expect(drawn.map(({ server, size, time, group }) => [server, size, time, group])).toEqual(
      Array.from({ length: 6 }, (_, step) => ['b:18515', 1000, step * 1000, step]),
    )
  })

  it('halving-doubling: partners at distance 1, 2, and back', () => {
    const drawn = collective('name: halving-doubling, size: 4000', { client: 1 })
    expect(drawn.map(({ server, size }) => [server[0], size])).toEqual([
      ['a', 2000],
      ['d', 1000],
      ['d', 1000],
      ['a', 2000],
    ])
  })

  it('all-to-all: S/N to each other rank, at once', () => {
    const drawn = collective('name: all-to-all, size: 4001, channels: 2', { client: 2 })
    expect(drawn.map(({ server }) => server[0]).join('')).toBe('ddaabb')
    expect(new Set(drawn.map(({ time }) => time)).size).toBe(1)
    expect(drawn.reduce((sum, { size }) => sum + size, 0)).toBe(4001 - 1000)
  })

  it('MoE: skewed, dispatch and combine of S each', () => {
    const drawn = collective('name: moe, size: 9000, iterations: 3, compute: 1ms, skew: 1')
    const totals = [...byGroup(drawn).values()].map((part) => part.reduce((sum, { size }) => sum + size, 0))
    expect(totals).toEqual([9000, 9000, 9000, 9000, 9000, 9000])
    expect(Math.max(...drawn.map(({ size }) => size)) / Math.min(...drawn.map(({ size }) => size))).toBeGreaterThan(2.5)
    // 18 µs of sending and a pause of 1 ms.
    expect(drawn[6]!.time).toBe(1_018_000)
  })
})

describe('random numbers', () => {
  it('are even, and streams of one seed are apart', () => {
    const random = new RandomStream(0, 'x')
    const values = Array.from({ length: n }, () => random.unit())
    expect(ksDistance(values, (value) => value)).toBeLessThan(ksLimit(n))
    const other = new RandomStream(0, 'y')
    expect(other.unit()).not.toBe(values[0])
    const correlation = values.reduce((sum, value) => sum + (value - 0.5) * (other.unit() - 0.5), 0) / n / (1 / 12)
    expect(Math.abs(correlation)).toBeLessThan(0.03)
  })

  it('choose by weight, and never what has none', () => {
    const choice = new Choice([{ value: 'x', weight: 0 }, { value: 'y', weight: 3 }, { value: 'z', weight: 1 }]) // biome-ignore format: row
    const random = new RandomStream(3, 'x')
    const drawn = Array.from({ length: n }, () => choice.pick(random))
    expect(chiSquare(counts(drawn, ['y', 'z']), [0.75, 0.25])).toBeLessThan(chiSquareLimit(1))
    expect(drawn).not.toContain('x')
  })
})

/** The normal distribution (Zelen and Severo 26.2.17, error below 7.5e-8). */
function normalBelow(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x))
  const tail =
    (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) *
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))) // biome-ignore format: polynomial
  return x >= 0 ? 1 - tail : tail
}
