import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadResults } from '../../../src/report/index.ts'
import { makePlan } from '../../../src/tools/bench-kit/product.ts'
import { groupsOf } from '../../../src/tools/bench-throughput/groups.ts'
import { runThroughput, type ThroughputRun } from '../../../src/tools/bench-throughput/run.ts'
import {
  parseThroughputLists,
  techniques,
  throughputCombinations,
  throughputExclusion,
} from '../../../src/tools/bench-throughput/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'verbena-throughput-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let runs = 0

function run(given: Record<string, string[]>, options: Partial<ThroughputRun> = {}) {
  const all = throughputCombinations(parseThroughputLists(given), given)
  const plan = makePlan(all, (settings) => throughputExclusion(settings, { mtu: 4096, maxInlineData: 512 }), 1, 1)
  const outDir = join(folder, String(++runs))
  return {
    plan,
    outDir,
    results: runThroughput({ plan, seconds: 20, messages: 300, warmup: 64, command: ['test'], outDir, ...options }),
  }
}

describe('the echo', () => {
  it('runs with every technique and number of concurrent messages', async () => {
    const { plan, outDir, results } = run({
      technique: techniques.slice(),
      concurrent: ['1,5,16'],
      qps: ['3'],
      batch: ['4'],
    })
    const { sets, complete } = await results
    expect(sets.filter(({ error }) => error !== undefined)).toEqual([])
    expect(complete).toBe(true)
    expect(sets).toHaveLength(plan.sets.length)
    for (const set of sets) {
      expect(set.messages).toBeGreaterThanOrEqual(300)
      expect(set.messagesPerSecond).toBeGreaterThan(0)
      expect(set.bytesPerSecond).toBeCloseTo(set.messagesPerSecond * 8)
    }
    expect(loadResults(outDir).results).toEqual(await results)
  })

  it('runs on every service type that a technique has', async () => {
    const { plan, results } = run({
      technique: techniques.slice(),
      service: ['UC', 'UD'],
      concurrent: ['4'],
      size: ['8,1024'],
    })
    expect(plan.leftOut.map(({ reason }) => reason).join('\n')).toMatch(/UD has only send-recv/)
    expect(plan.leftOut.map(({ reason }) => reason).join('\n')).toMatch(/write-inline takes at most 512/)
    const { sets, complete } = await results
    expect(sets.filter(({ error }) => error !== undefined)).toEqual([])
    expect(complete).toBe(true)
  })

  it('runs with an engine thread', async () => {
    const { results } = run(
      { technique: ['send-recv,write-batch,srq'], engine: ['thread'], concurrent: ['8'] },
      { messages: 100, warmup: 0 },
    )
    const { sets, complete } = await results
    expect(sets.filter(({ error }) => error !== undefined)).toEqual([])
    expect(complete).toBe(true)
  })

  it('keeps what it measured when it is stopped', async () => {
    const controller = new AbortController()
    const { results } = run(
      { technique: ['write'], concurrent: ['1,2'] },
      {
        messages: 1e12,
        seconds: 30,
        signal: controller.signal,
        onBegin: () => setTimeout(() => controller.abort(), 300),
      },
    )
    const { sets, complete } = await results
    expect(complete).toBe(false)
    expect(sets).toHaveLength(1)
    expect(sets[0]?.error).toBe('interrupted')
    expect(sets[0]?.messages).toBeGreaterThan(0)
  })
})

describe('groups of linked requests', () => {
  it('cover all slots, the last one with the rest', () => {
    expect([...groupsOf(10, 4)]).toEqual([0, 4, 8, 10])
    expect([...groupsOf(3, 1)]).toEqual([0, 1, 2, 3])
    expect([...groupsOf(4, 4)]).toEqual([0, 4])
  })
})
