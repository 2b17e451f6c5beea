import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadResults, readTimestamps } from '../../../src/report/index.ts'
import { combinations, makePlan } from '../../../src/tools/bench-kit/product.ts'
import { merge, summarizeSet } from '../../../src/tools/bench-latency/run.ts'
import { type LatencySettings, parseLatencyLists } from '../../../src/tools/bench-latency/settings.ts'
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
      for (const stamp of [...tSubm, ...tRecv]) expect(stamp >= 0 && stamp < 1e9).toBe(true)
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
  const sent = {
    posted: 4,
    stamps: Int32Array.of(999_999_990, 5, 100, 200),
    comps: Int32Array.of(10, -1, 150, 260),
  }
  const got = {
    received: 3,
    // Out of order, and with a stamp that was rewritten after posting.
    numbers: Int32Array.of(2, 0, 3),
    stamps: Int32Array.of(100, 999_999_995, 200),
    times: Int32Array.of(130, 20, 290),
  }

  it('goes by message number, and counts what did not arrive as lost', () => {
    const merged = merge(sent, got)
    expect([...merged.tSubm]).toEqual([999_999_995, 5, 100, 200])
    expect([...merged.tRecv]).toEqual([20, Number.NaN, 130, 290])
    expect([...merged.tComp]).toEqual([10, Number.NaN, 150, 260])
    const set = summarizeSet('001', { ...settings, repeat: 1 }, merged, undefined)
    expect(set.sent).toBe(4)
    expect(set.lost).toBe(1)
  })

  it('adds a second to a time that is smaller than its stamp', () => {
    const { lat, comp } = summarizeSet('001', { ...settings, repeat: 1 }, merge(sent, got), undefined)
    expect([lat.min, lat.max]).toEqual([25, 90])
    expect(comp?.min).toBe(15)
  })

  it('has no t_comp for unsignaled messages, whatever drained the queue', () => {
    const merged = merge(sent, got)
    const set = summarizeSet('001', { ...settings, unsignaled: true, repeat: 1 }, merged, undefined)
    expect(set.comp).toBeNull()
    expect(merged.tComp.every(Number.isNaN)).toBe(true)
  })

  it('is empty when an end did not report', () => {
    const set = summarizeSet('001', { ...settings, repeat: 1 }, merge(undefined, undefined), 'it failed')
    expect(set).toMatchObject({ sent: 0, lost: 0, error: 'it failed', lat: { count: 0 } })
    expect(merge(sent, undefined).tRecv.every(Number.isNaN)).toBe(true)
  })
})
