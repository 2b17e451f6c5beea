import { describe, expect, it } from 'vitest'
import { type Limits, makePlan } from '../../../src/tools/bench-kit/product.ts'
import { exclusion, planLatency } from '../../../src/tools/bench-latency/plan.ts'
import { parseLatencyLists } from '../../../src/tools/bench-latency/settings.ts'
import { UsageError } from '../../../src/tools/kit/index.ts'

const limits: Limits = { mtu: 4096, maxInlineData: 512 }

function plan(given: Record<string, string[]>, repeat = 1, seed = 1) {
  return planLatency(parseLatencyLists(given), limits, repeat, seed)
}

describe('the product of settings', () => {
  it('has every combination once, with ids of three digits', () => {
    const { sets, leftOut } = plan({ service: ['RC,UC'], op: ['send-imm,write-imm'], size: ['8,64,512'] })
    expect(sets).toHaveLength(12)
    expect(leftOut).toEqual([])
    expect(sets.map(({ id }) => id).slice(0, 3)).toEqual(['001', '002', '003'])
    expect(new Set(sets.map(({ settings }) => JSON.stringify(settings))).size).toBe(12)
  })

  it('leaves out what cannot be and says why', () => {
    const { sets, leftOut } = plan({
      service: ['RC,UD'],
      op: ['send-imm,write-imm'],
      size: ['8,8192'],
      inline: ['on,off'],
    })
    for (const { settings } of sets) expect(exclusion(settings, limits)).toBeNull()
    const reasons = Object.fromEntries(leftOut.map(({ reason, combinations }) => [reason, combinations]))
    expect(Object.values(reasons).reduce((a, b) => a + b)).toBe(16 - sets.length)
    expect(Object.keys(reasons).join('\n')).toMatch(/UD carries no RDMA WRITE/)
    expect(Object.keys(reasons).join('\n')).toMatch(/MTU of 4096/)
    expect(Object.keys(reasons).join('\n')).toMatch(/--inline takes at most 512 bytes/)
  })

  it('keeps UD messages up to the MTU and inline ones up to the limit', () => {
    expect(plan({ service: ['UD'], size: ['4096'] }).sets).toHaveLength(1)
    expect(plan({ inline: ['on'], size: ['512'] }).sets).toHaveLength(1)
  })

  it('refuses a plan with nothing in it: send stamps need an engine thread', () => {
    expect(() => plan({ stamp: ['send'] })).toThrow(UsageError)
    expect(() => plan({ stamp: ['send'] })).toThrow(/--stamp: .*--stamp send needs --engine thread/)
    expect(() => plan({ service: ['UD'], op: ['write-imm'] })).toThrow(/--op: .*RC or UC/)
    expect(plan({ stamp: ['send'], engine: ['thread'] }).sets).toHaveLength(1)
  })

  it('refuses a product that would never end', () => {
    expect(() => plan({ size: ['8,16,32,64'], pause: ['0,1,2,3,4'] }, 10_000)).toThrow(UsageError)
  })

  it('repeats, and shuffles the order by the seed', () => {
    const first = plan({ size: ['8,16,32,64,128'] }, 3, 7)
    expect(first.sets).toHaveLength(15)
    expect(first.sets.filter(({ settings }) => settings.size === 16).map(({ repeat }) => repeat)).toEqual([1, 2, 3])
    expect([...first.order].sort((a, b) => a - b)).toEqual(first.sets.map((_, i) => i))
    expect(plan({ size: ['8,16,32,64,128'] }, 3, 7).order).toEqual(first.order)
    expect(plan({ size: ['8,16,32,64,128'] }, 3, 8).order).not.toEqual(first.order)
  })

  it('counts ids past three digits', () => {
    const { sets } = makePlan(
      Array.from({ length: 1001 }, (_, size) => ({ size })),
      () => null,
      1,
      1,
    )
    expect(sets[999]?.id).toBe('1000')
  })
})
