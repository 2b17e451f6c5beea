import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type GraphModel, graphDot, graphOf, graphSvg, graphText } from '../../src/gateway/graph/index.ts'
import { layoutOf } from '../../src/gateway/graph/layout.ts'
import { holds } from '../property.ts'
import { configOf } from './config/reading.ts'

const config = configOf({
  nodes: {
    source: { type: 'signal', signals: '8f' },
    other: { type: 'signal', in: { hooks: ['ts'] } },
    loop: { type: 'loopback' },
    sink: { type: 'file' },
    spare: { type: 'file', enabled: false },
  },
  paths: [
    { in: ['source[0-2]', 'other'], out: 'loop', mask: ['source'], mode: 'all', hooks: [{ type: 'scale' }] },
    { in: 'loop', out: ['sink'], rate: 10 },
  ],
})

/** The texts of a picture in order, and its arrows. */
function read(svg: string): { texts: string[]; arrows: number } {
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text!)
  return { texts, arrows: svg.match(/<path class="edge/g)?.length ?? 0 }
}

describe('a graph of a gateway', () => {
  it('as text', () => {
    expect(graphText(graphOf(config))).toBe(
      'path 0: source (signal) + other (signal) [masked] ─→ [source.data[0-2]; other; mode all; scale] ─→ loop (loopback)\n' +
        'path 1: loop (loopback) ─→ [10 per second] ─→ sink (file)\n' +
        'in no path: spare (file)\n',
    )
  })

  it('for Graphviz', () => {
    const dot = graphDot(graphOf(config))
    expect(dot).toContain('"source" [label="source\\nsignal\\n8 signals", shape=box, style="solid"]')
    expect(dot).toContain('"spare" [label="spare\\nfile\\nnot enabled", shape=box, style="solid, dashed"]')
    expect(dot).toContain('"other" -> "path 0" [style=dashed]')
    expect(dot).toContain('"path 1" -> "sink"\n')
  })

  it('as a picture: all names, all arrows, states where it runs', () => {
    const { texts, arrows } = read(graphSvg(graphOf(config, new Map([['source', 'started']]))))
    expect(texts).toEqual(
      expect.arrayContaining([
        'source',
        '8 signals',
        'started',
        'in: ts',
        'path 0',
        'other',
        'mode all',
        '10 per second',
      ]),
    )
    expect(arrows).toBe(5)
  })

  it('shows names as they are, whatever they are', () => {
    const odd: GraphModel = {
      nodes: [{ name: 'a<b&"c"\\', lines: ['x'], enabled: true }],
      paths: [],
    }
    expect(read(graphSvg(odd)).texts[0]).toBe('a&lt;b&amp;&quot;c&quot;\\')
    expect(graphDot(odd)).toContain('"a<b&\\"c\\"\\\\"')
  })

  it('of nothing is an empty picture', () => {
    expect(read(graphSvg(graphOf(configOf({}))))).toEqual({ texts: [], arrows: 0 })
    expect(graphText(graphOf(configOf({})))).toBe('')
  })
})

describe('the layout', () => {
  const boxes = fc.array(
    fc.record({ width: fc.integer({ min: 10, max: 200 }), height: fc.integer({ min: 10, max: 90 }) }),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  const edges = fc.array(fc.record({ from: fc.nat(), to: fc.nat() }), { maxLength: 20 })

  it('has no two boxes in one place, and everything inside of its size', () => {
    holds(
      fc.property(boxes, edges, (sizes, any) => {
        const joined = any
          .map(({ from, to }) => ({ from: from % sizes.length, to: to % sizes.length }))
          // A node is joined with paths alone, never with itself.
          .filter(({ from, to }) => from !== to)
        const { at, width, height, lines } = layoutOf(sizes, joined)
        const rects = sizes.map((size, i) => ({ ...at[i]!, ...size }))
        for (const [i, a] of rects.entries()) {
          expect(Math.min(a.x, a.y)).toBeGreaterThanOrEqual(-1e-6)
          expect(a.x + a.width).toBeLessThanOrEqual(width + 1e-6)
          expect(a.y + a.height).toBeLessThanOrEqual(height + 1e-6)
          for (const b of rects.slice(i + 1)) {
            const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
            expect(apart, JSON.stringify([a, b])).toBe(true)
          }
        }
        for (const [i, { from, to }] of joined.entries()) {
          const [begin, end] = [lines[i]![0]!, lines[i]!.at(-1)!]
          const [a, b] = rects[from]!.x <= rects[to]!.x ? [rects[from]!, rects[to]!] : [rects[to]!, rects[from]!]
          const [first, last] = a === rects[from]! ? [begin, end] : [end, begin]
          expect(first.x).toBeCloseTo(a.x + a.width)
          expect(last.x).toBeCloseTo(b.x)
          for (const { x, y } of lines[i]!) {
            expect(Math.min(x, y)).toBeGreaterThanOrEqual(-1e-6)
            expect(x).toBeLessThanOrEqual(width + 1e-6)
            expect(y).toBeLessThanOrEqual(height + 1e-6)
          }
        }
      }),
      300,
    )
  })

  it('goes from left to right, except for what leads back', () => {
    const size = { width: 10, height: 10 }
    const { at, lines } = layoutOf(
      [size, size, size],
      [
        { from: 0, to: 1 },
        { from: 1, to: 2 },
        { from: 0, to: 2 },
        { from: 2, to: 0 },
      ],
    )
    expect(at[0]!.x).toBeLessThan(at[1]!.x)
    expect(at[1]!.x).toBeLessThan(at[2]!.x)
    // The one that skips a column and the one that leads back pass beside its box.
    for (const line of [lines[2]!, lines[3]!]) {
      const beside = line.filter(({ x }) => x > at[1]!.x && x < at[1]!.x + 10)
      expect(beside).not.toEqual([])
      for (const { y } of beside) expect(Math.abs(y - (at[1]!.y + 5))).toBeGreaterThan(5)
    }
    expect(lines[3]![0]!.x).toBe(at[2]!.x)
    expect(lines[3]!.at(-1)!.x).toBe(at[0]!.x + 10)
  })
})
