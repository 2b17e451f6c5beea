import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { terminalHistogram } from '../../src/report/index.ts'
import { holds } from '../property.ts'
import { seeded } from '../random.ts'
import { sampleLatency } from './synthetic.ts'

const next = seeded(7)
const values = Float64Array.from({ length: 5000 }, () => sampleLatency(next, 2300))

describe('terminalHistogram', () => {
  it('draws bars, axis, the mark of the median and the box', () => {
    const even = [...Array(10).fill(1000), ...Array(20).fill(2000), ...Array(5).fill(3000), 40_000]
    expect(`\n${terminalHistogram(even, { width: 72, height: 6, title: 'RC send' })}\n`).toMatchInlineSnapshot(`
      "
      RC send
        55.6 % │            █                           ╭────────────────────╮
               │            █                           │ median 2.00 µs     │
               │            █                           │ 2.78 % above 10 µs │
               │      █     █                           │ maximum 40.0 µs    │
               │      █     █     ▄                     ╰────────────────────╯
               │      █     █     █
               └────────────▲─────────────────────────────────────────────────
               0         2 µs         4 µs        6 µs         8 µs      10 µs
      "
    `)
  })

  it('has no escape sequence without colour, and the same text with it', () => {
    const plain = terminalHistogram(values)
    const coloured = terminalHistogram(values, { colour: true })
    expect(plain).not.toContain('\u001b')
    expect(coloured).toContain('\u001b[31m▲')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is taken out
    const bare = coloured.replace(/\u001b\[\d+m/g, '').split('\n')
    expect(bare.map((line) => line.trimEnd()).join('\n')).toBe(plain)
  })

  it('puts the box above when it would cover bars', () => {
    const flat = Array.from({ length: 10_000 }, (_, i) => i)
    const lines = terminalHistogram(flat, { width: 60 }).split('\n')
    expect(lines[0]).toContain('╭')
    expect(lines).toHaveLength(5 + 8 + 2)
  })

  it('uses a median that is given, and marks none outside the range', () => {
    expect(terminalHistogram(values, { median: 1234 })).toContain('median 1.23 µs')
    expect(terminalHistogram(values, { rangeNs: [0, 100] })).not.toContain('▲')
  })

  it('has units at its ticks where times are long', () => {
    const axis = (high: number) =>
      terminalHistogram(values, { rangeNs: [0, high] })
        .split('\n')
        .at(-1)!
        .trim()
        .split(/ {2,}/)
    expect(axis(15e6)).toEqual(['0', '3 ms', '6 ms', '9 ms', '12 ms', '15 ms'])
    expect(axis(1500)).toEqual(['0', '0.3 µs', '0.6 µs', '0.9 µs', '1.2 µs', '1.5 µs'])
  })

  it('says so when there is nothing to draw', () => {
    expect(terminalHistogram([Number.NaN], { title: 'UD' })).toBe('UD\nno values')
  })

  it('is never wider than asked for', () => {
    const sample = fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1 })
    holds(
      fc.property(sample, fc.integer({ min: 40, max: 200 }), fc.integer({ min: 1, max: 20 }), (list, width, height) => {
        const lines = terminalHistogram(list, { width, height }).split('\n')
        for (const line of lines) expect([...line].length).toBeLessThanOrEqual(width)
      }),
    )
  })
})
