/** Readings of counters that wrap, saturate, are reset or come from a cache, against what was really counted. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type CounterRules, change, largest, perSecond, Series } from '../../src/counters/index.ts'
import { holds } from '../property.ts'

const wrapping: CounterRules = { bits: 32, overflow: 'wrap', lifespanMs: 0 }
/** What comes to a counter between two readings that are a second apart: less than half its range. */
const increments = fc.array(fc.nat(2 ** 31 - 1), { minLength: 1, maxLength: 30 })

it('a counter of 32 bits that wraps loses nothing', () => {
  holds(
    fc.property(fc.nat(2 ** 32 - 1), increments, (start, steps) => {
      const series = new Series()
      let truth = BigInt(start)
      series.add(truth, 0, wrapping)
      steps.forEach((step, i) => {
        truth += BigInt(step)
        const { delta } = series.add(truth % 2n ** 32n, (i + 1) * 2000, wrapping)
        expect(delta).toBe(step)
      })
      expect(series.total).toBe(steps.reduce((sum, step) => sum + step, 0))
    }),
  )
})

it('a counter that saturates says what it counted, and from its end on that there is more', () => {
  holds(
    fc.property(fc.constantFrom(4, 8, 16, 32), fc.array(fc.nat(40_000), { minLength: 1 }), (bits, steps) => {
      const rules: CounterRules = { bits, overflow: 'saturate', lifespanMs: 0 }
      const full = largest(bits)
      const series = new Series()
      series.add(0n, 0, rules)
      let truth = 0n
      steps.forEach((step, i) => {
        truth += BigInt(step)
        const found = series.add(truth < full ? truth : full, (i + 1) * 1000, rules)
        expect(found.step).toBe(truth >= full ? 'saturated' : 'counted')
        if (truth < full) expect(found.delta).toBe(step)
        else expect(found.delta).toBeLessThanOrEqual(step)
      })
      expect(BigInt(series.total)).toBe(truth < full ? truth : full)
    }),
  )
})

it('a reading from the cache is no rate, and nothing is lost by it', () => {
  const cached: CounterRules = { bits: 64, overflow: 'wrap', lifespanMs: 10 }
  holds(
    fc.property(
      fc.array(fc.tuple(fc.nat(1000), fc.integer({ min: 1, max: 30 })), { minLength: 1, maxLength: 40 }),
      (steps) => {
        const series = new Series()
        let [now, truth, given, refreshed] = [0, 0n, 0n, 0]
        series.add(given, now, cached)
        for (const [count, waitMs] of steps) {
          now += waitMs
          truth += BigInt(count)
          // As the kernel does: a value is kept until it is older than the lifespan.
          if (now - refreshed >= cached.lifespanMs) {
            given = truth
            refreshed = now
          }
          const found = series.add(given, now, cached)
          if (perSecond(found) === 0) expect(found.elapsedMs).toBeGreaterThanOrEqual(cached.lifespanMs)
        }
        expect(BigInt(series.total)).toBe(given)
      },
    ),
  )
})

it('a counter that is reset never counts backwards', () => {
  holds(
    fc.property(
      fc.constantFrom<CounterRules>(wrapping, { bits: 64, overflow: 'wrap', lifespanMs: 0 }),
      fc.bigInt(1n, 2n ** 31n),
      fc.nat(1000),
      (rules, before, after) => {
        const found = change(before, before > BigInt(after) ? BigInt(after) : 0n, 1000, rules)
        expect(found.step).toBe('reset')
        expect(found.delta).toBeGreaterThanOrEqual(0)
        expect(found.delta).toBeLessThanOrEqual(1000)
      },
    ),
  )
})

it('any two readings give a change that is not negative, and a rate that is a number or none', () => {
  holds(
    fc.property(
      fc.bigInt(0n, 2n ** 64n - 1n),
      fc.bigInt(0n, 2n ** 64n - 1n),
      fc.nat(100_000),
      fc.record<CounterRules>({
        bits: fc.constantFrom(4, 8, 16, 32, 64),
        overflow: fc.constantFrom('wrap', 'saturate'),
        lifespanMs: fc.constantFrom(0, 10, 1000),
      }),
      (before, after, elapsedMs, rules) => {
        const found = change(before, after, elapsedMs, rules)
        expect(found.delta).toBeGreaterThanOrEqual(0)
        expect(perSecond(found) ?? 0).toSatisfy((rate: number) => Number.isFinite(rate) && rate >= 0)
      },
    ),
    300,
  )
})
