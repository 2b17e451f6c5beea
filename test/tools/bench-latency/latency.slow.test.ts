import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { latencies, loadResults, readTimestamps } from '../../../src/report/index.ts'
import { combinations, makePlan } from '../../../src/tools/bench-kit/product.ts'
import { merge, type SetTimestamps, summarizeSet } from '../../../src/tools/bench-latency/run.ts'
import { type LatencySettings, parseLatencyLists } from '../../../src/tools/bench-latency/settings.ts'
import { holds } from '../../property.ts'
import { smallRuns } from './small-runs.ts'

const run = smallRuns()
const settings: LatencySettings = combinations<LatencySettings>(parseLatencyLists({}))[0]!

describe('a small run', () => {
  it('measures every service, operation, poll mode and flag with the poster engine', { timeout: 120_000 }, async () => {
    const { plan, outDir, results } = run([
      { service: ['RC', 'UC', 'UD'], op: ['send-imm', 'write-imm'], size: [8, 512, 4096] },
      {
        service: ['RC', 'UC', 'UD'],
        poll: ['busy', 'event'],
        pollComp: ['busy', 'event'],
        inline: [true, false],
        unsignaled: [true, false],
      },
      { size: [32768], op: ['send-imm', 'write-imm'] },
      { burst: [1] },
      { pause: [3_000_000], burst: [3], pollComp: ['event', 'busy'] },
    ])
    const { sets, complete, machine } = await results
    expect(sets.filter(({ error }) => error !== undefined)).toEqual([])
    expect(complete).toBe(true)
    expect(sets.map(({ id }) => id)).toEqual(plan.sets.map(({ id }) => id))
    for (const set of sets) {
      expect(set.sent).toBe(set.settings.burst)
      expect(set.lost).toBe(0)
      expect(set.lat.count).toBe(set.sent)
      expect(set.lat.min).toBeGreaterThan(0)
      if (set.settings.unsignaled) expect(set.comp).toBeNull()
      else expect(set.comp?.count).toBe(set.sent)
    }
    expect(Object.keys(machine.permitted).sort()).toEqual(['hugePages', 'lockedMemory', 'pinnedThreads'])

    const saved = loadResults(outDir)
    expect(saved.results).toEqual(await results)
    expect(saved.plot.medians.over).toBe('size')
    for (const set of sets) {
      const { number, tSubm, tRecv, tComp } = readTimestamps(join(outDir, `${set.id}.csv`))
      expect(number).toEqual(Float64Array.from({ length: set.sent }, (_, i) => i))
      for (const stamp of tSubm) expect(stamp >= 0 && stamp < 1e9).toBe(true)
      for (const [i, stamp] of tRecv.entries()) expect(stamp).toBeGreaterThan(tSubm[i]!)
      expect(tComp.every(Number.isNaN)).toBe(set.settings.unsignaled)
    }
  })

  it('fills unsignaled bursts that are larger than what one completion releases', { timeout: 60_000 }, async () => {
    const { results } = run([{ unsignaled: [true], burst: [8192] }], { warmup: 0 })
    const { sets } = await results
    expect(sets[0]?.lat.count).toBe(8192)
    expect(sets[0]?.comp).toBeNull()
  })

  it('gives the same payload for the same seed', async () => {
    // The order of sets is the only other thing that the seed decides; see product.test.ts.
    const { Random } = await import('../../../src/tools/bench-kit/random.ts')
    const draw = (seed: number) => {
      const words = new Int32Array(8)
      new Random(seed).fill(words)
      return [...words]
    }
    expect(draw(5)).toEqual(draw(5))
    expect(draw(5)).not.toEqual(draw(6))
  })
})

describe('a run that does not go well', () => {
  it('keeps what it measured, and names the set that failed', { timeout: 60_000 }, async () => {
    const { outDir, results } = run([{ size: [8] }, { device: ['shm0,nowhere'] }, { size: [64] }])
    const { sets, complete } = await results
    expect(complete).toBe(false)
    expect(sets).toHaveLength(3)
    expect(sets[1]?.error).toMatch(/nowhere/)
    expect(sets[1]?.lat.count).toBe(0)
    expect([sets[0]?.lat.count, sets[2]?.lat.count]).toEqual([50, 50])
    expect(JSON.parse(readFileSync(join(outDir, 'run.json'), 'utf8')).complete).toBe(false)
  })

  it('stops when it is told to, with the part that was measured', { timeout: 60_000 }, async () => {
    const controller = new AbortController()
    const { outDir, results } = run([{ size: [8] }, { burst: [8192], pause: [1_000_000], size: [8, 16, 32] }], {
      signal: controller.signal,
      onBegin: () => setTimeout(() => controller.abort(), 300),
      warmup: 0,
      plan: makePlan(
        combinations<LatencySettings>({ ...parseLatencyLists({}), burst: [8192], pause: [1_000_000], size: [8, 16] }),
        () => null,
        1,
        1,
      ),
    })
    const { sets, complete } = await results
    expect(complete).toBe(false)
    expect(sets).toHaveLength(1)
    expect(sets[0]?.error).toBe('interrupted')
    expect(sets[0]?.sent).toBeGreaterThan(0)
    expect(sets[0]?.sent).toBeLessThan(8192)
    expect(readTimestamps(join(outDir, `${sets[0]?.id}.csv`)).number).toHaveLength(sets[0]!.sent)
  })
})

describe('bringing both ends together', () => {
  const second = 5e9
  const sent = {
    posted: 4,
    times: Float64Array.of(second - 10, second + 5, second + 100, second + 200),
    comps: Float64Array.of(second + 10, Number.NaN, second + 150, second + 260),
  }
  const got = {
    received: 3,
    // Out of order.
    numbers: Int32Array.of(2, 0, 3),
    stamps: Int32Array.of(100, 999_999_990, 200),
    times: Float64Array.of(second + 130, second + 20, second + 290),
  }
  const summary = (merged: SetTimestamps) => summarizeSet('001', { ...settings, repeat: 1 }, merged, undefined)

  it('goes by message number, counts from the second of the stamp, and what did not arrive as lost', () => {
    const merged = merge(sent, got, 'submit')
    expect([...merged.tSubm]).toEqual([999_999_990, 5, 100, 200])
    expect([...merged.tRecv]).toEqual([1_000_000_020, Number.NaN, 130, 290])
    expect([...merged.tComp]).toEqual([1_000_000_010, Number.NaN, 150, 260])
    const set = summary(merged)
    expect([set.sent, set.lost, set.untimed]).toEqual([4, 1, undefined])
    expect([set.lat.min, set.lat.max, set.comp?.min]).toEqual([30, 90, 20])
  })

  it('knows every latency of submit stamps, however many seconds it took', () => {
    const latency = fc.oneof(
      fc.nat(2e9),
      fc.maxSafeNat().map((n) => n / 8 - (n % 8) / 8),
    )
    holds(
      fc.property(fc.nat(2 ** 51), latency, latency, (start, lat, comp) => {
        const one = { posted: 1, times: Float64Array.of(start), comps: Float64Array.of(start + comp) }
        const there = { received: 1, numbers: Int32Array.of(0), stamps: Int32Array.of(start % 1e9) }
        const merged = merge(one, { ...there, times: Float64Array.of(start + lat) }, 'submit')
        const set = summary(merged)
        expect([set.lat.max, set.comp?.max, set.untimed]).toEqual([lat, comp, undefined])
        expect([...latencies(merged.tSubm, merged.tRecv)]).toEqual([lat])
      }),
    )
  })

  it('takes a stamp that was rewritten for what it says where that can be only one time, and counts the others', () => {
    const times = Float64Array.of(second + 500)
    const one = { posted: 1, times, comps: Float64Array.of(second + 3e9) }
    const arrival = (stamp: number, receivedNs: number) =>
      summary(
        merge(
          one,
          { received: 1, numbers: Int32Array.of(0), stamps: Int32Array.of(stamp), times: Float64Array.of(receivedNs) },
          'send',
        ),
      )
    expect(arrival(700, second + 1000).lat.max).toBe(300)
    // Rewritten in the next second.
    expect(arrival(400, second + 1e9 + 900).lat.max).toBe(500)
    // It may be from either of two seconds.
    expect(arrival(700, second + 1e9 + 700)).toMatchObject({ lat: { count: 0 }, lost: 0, untimed: 1 })
    // After the receipt.
    expect(arrival(1001, second + 1000)).toMatchObject({ lat: { count: 0 }, lost: 0, untimed: 1 })
  })

  it('does not believe a submit stamp that is not the time of posting', () => {
    const set = summary(merge(sent, { ...got, stamps: Int32Array.of(101, 999_999_990, 200) }, 'submit'))
    expect([set.lat.count, set.lost, set.untimed]).toEqual([2, 1, 1])
  })

  it('has no t_comp for unsignaled messages, whatever drained the queue', () => {
    const merged = merge(sent, got, 'submit')
    const set = summarizeSet('001', { ...settings, unsignaled: true, repeat: 1 }, merged, undefined)
    expect(set.comp).toBeNull()
    expect(merged.tComp.every(Number.isNaN)).toBe(true)
  })

  it('is empty when an end did not report', () => {
    const set = summarizeSet('001', { ...settings, repeat: 1 }, merge(undefined, undefined, 'submit'), 'it failed')
    expect(set).toMatchObject({ sent: 0, lost: 0, error: 'it failed', lat: { count: 0 } })
    expect(merge(sent, undefined, 'submit').tRecv.every(Number.isNaN)).toBe(true)
  })
})
