/** Hooks that compare clocks: jitter_calc and pps_ts. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../property.ts'
import { Bench, type Row } from './bench.ts'

const at = (us: number): [number, number] => [Math.floor(us / 1e6), (us % 1e6) * 1000]

describe('jitter_calc', () => {
  it('has the mean and variance of the last 16 delays, and the jitter of RFC 3550', () => {
    holds(
      fc.property(fc.array(fc.nat(5_000_000), { minLength: 1, maxLength: 60 }), fc.boolean(), (delays, isReceived) => {
        const bench = new Bench({ type: 'jitter_calc' })
        for (const [i, delay] of delays.entries()) {
          const sent = 1e12 + i * 1000
          const received = isReceived ? { received: at(sent + delay) } : {}
          if (!isReceived) bench.now = at(sent + delay)
          bench.one({ origin: at(sent), ...received })
        }
        bench.chain.periodic()
        bench.chain.periodic()
        expect(bench.log).toHaveLength(1)
        const numbers = /jitter (.*) µs, delay of the last (.*): mean (.*) µs, variance (.*) µs²$/.exec(bench.log[0]!)!
        const last = delays.slice(-16)
        const mean = last.reduce((sum, each) => sum + each, 0) / last.length
        const variance =
          last.length < 2 ? 0 : last.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (last.length - 1)
        let jitter = 0
        for (let i = 1; i < delays.length; i++) jitter += (Math.abs(delays[i]! - delays[i - 1]!) - jitter) / 16
        for (const [i, expected] of [jitter, last.length, mean, variance].entries())
          expect(Number(numbers[i + 1])).toBeCloseTo(expected, expected > 1e9 ? -4 : 1)
      }),
    )
  })

  it('needs an origin', () => {
    expect(new Bench({ type: 'jitter_calc' }).one({ received: [1, 0] })).toBe('error')
  })
})

/** Samples of a device, the first of each second with a pulse; this machine's clock is wrong by `offset` seconds. */
function sampled(
  settings: object,
  { perSecond, seconds, offset = 0 }: { perSecond: number; seconds: number; offset?: number },
) {
  const bench = new Bench({ type: 'pps_ts', signal: 0, ...settings }, 'f')
  const found: { time: number; row: Row | 'skip' | 'error' }[] = []
  let last = -1
  for (let sequence = 0; sequence < perSecond * seconds; sequence++) {
    // A third of a second before the first pulse.
    const time = 1000.667 + sequence / perSecond
    bench.now = at(Math.round((time + offset) * 1e6))
    const isPulse = sequence > 0 && Math.floor(time) > last
    last = Math.floor(time)
    found.push({ time, row: bench.one({ sequence, values: [isPulse ? 5 : 0] }) })
  }
  return { bench, found }
}

const errorOf = (time: number, row: Row | string): number => {
  const [seconds, nanoseconds] = (row as Row).origin!
  return seconds - time + nanoseconds / 1e9
}

describe('pps_ts', () => {
  it.each([
    ['simple', 0, 20],
    ['simple', 0.2, 20],
    ['simple', -0.2, 1],
    ['horizon', 0, 20],
    ['horizon', 0.4, 20],
    ['horizon', -0.4, 21],
  ])(
    '%s: has the times of the device, with a clock that is wrong by %d s, and expecting %d samples a second',
    (mode, offset, expected) => {
      const settings = { mode, expected_smp_rate: expected }
      const { found } = sampled(settings, { perSecond: 20, seconds: 60, offset })
      // Nothing passes before the fifth pulse, 4.3 s after the begin.
      expect(found.filter(({ row }) => row === 'skip')).toHaveLength(87)
      const errors = found.filter(({ row }) => row !== 'skip').map(({ time, row }) => Math.abs(errorOf(time, row)))
      const settled = errors.slice(-20 * 10)
      // The pulse is seen by the first sample behind it: up to a period late.
      expect(Math.max(...settled)).toBeLessThan(0.051)
    },
  )

  it('simple: a second is cut into as many parts as the one before had samples', () => {
    const { found } = sampled({}, { perSecond: 8, seconds: 12 })
    const origins = found.flatMap(({ row }) => (typeof row === 'string' ? [] : [row.origin!]))
    expect(origins.slice(0, 9)).toEqual([...[0, 1, 2, 3, 4, 5, 6, 7].map((i) => [1005, i * 125_000_000]), [1006, 0]])
  })

  it('horizon: the clock never jumps', () => {
    const { found } = sampled({ mode: 'horizon', expected_smp_rate: 90 }, { perSecond: 100, seconds: 40 })
    const times = found.flatMap(({ row }) => (typeof row === 'string' ? [] : [row.origin![0] + row.origin![1] / 1e9]))
    for (let i = 1; i < times.length; i++) {
      expect(times[i]! - times[i - 1]!).toBeGreaterThan(0.008)
      expect(times[i]! - times[i - 1]!).toBeLessThan(0.012)
    }
  })

  it('says how many samples are missing', () => {
    const bench = new Bench({ type: 'pps_ts', signal: 0 }, 'f')
    for (let i = 0; i < 12; i++) bench.one({ sequence: i, values: [i % 2 ? 5 : 0] })
    bench.one({ sequence: 15, values: [0] })
    bench.chain.periodic()
    bench.chain.periodic()
    expect(bench.log).toEqual([expect.stringContaining('3 samples are missing')])
    expect(bench.one({ sequence: 16 })).toBe('error')
  })
})
