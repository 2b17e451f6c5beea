/** Reports of node-types: the comparison, medians with missed steps, surfaces, histograms with what was lost. */
import { rmSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { Labels } from '../../src/report/charts/labels.ts'
import type { SurfacePoint, SurfaceSpec } from '../../src/report/charts/spec.ts'
import { surfacePicture, usualAngle } from '../../src/report/charts/surface.ts'
import { evenTicks } from '../../src/report/charts/ticks.ts'
import { formatHz } from '../../src/report/format.ts'
import { nodeFiles, renderReport } from '../../src/report/index.ts'
import { NODE_RATES, nodeRun, temporaryDirectory, writeNodeRun } from './synthetic.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())

const { html, svgs, notes } = await renderReport([nodeRun(directory.path)])

const textsOf = (svg: string): string[] => [...svg.matchAll(/<text[^>]*>([^<]+)<\/text>/g)].map(([, text]) => text!)

describe('a report of node-types', () => {
  it('begins with the fastest run, what it was, and what was lost in all', () => {
    expect(html).toMatch(/The fastest of 48 runs takes 1\.\d\d µs \(median: loopback polling, 8 values, \d+ k?Hz/)
    const [steps, lost] = [48 * 400, 24]
    expect(html).toContain(`<dt>Generated, and lost</dt><dd>24 (${((100 * lost) / steps).toFixed(2)} %)</dd>`)
    expect(notes).toEqual([])
  })

  it('compares all node-types where they were measured alike', () => {
    const texts = textsOf(svgs.get('node-types')!)
    expect(texts).toContain('Node-types with 8 values at 100 Hz')
    expect(texts).toEqual(
      expect.arrayContaining(['loopback polling', 'infiniband RC shm', 'socket udp', 'zeromq pubsub']),
    )
  })

  it('has missed steps at the points of the medians', () => {
    const texts = textsOf(svgs.get('medians-2')!)
    expect(texts).toEqual(expect.arrayContaining(['10.5 % missed', '30.0 % missed', '100 kHz']))
  })

  it('has a surface for each mode that was swept, and none for others', () => {
    const names = [...svgs.keys()].filter((name) => name.startsWith('surface'))
    expect(names).toEqual(['surface-1', 'surface-2', 'surface-3'])
    for (const name of names) {
      const texts = textsOf(svgs.get(name)!)
      expect(texts.filter((text) => /missed/.test(text)).toSorted()).toEqual(['10.5 % missed', '55.8 % missed'])
      expect(texts.filter((text) => /^(min|max)\. /.test(text))).toHaveLength(2)
      expect(texts).toEqual(expect.arrayContaining(['rate', 'values', 'median', '100 kHz', '64']))
    }
  })

  it('has histograms with logarithmic shares, and boxes that say what is missing', () => {
    const texts = textsOf(svgs.get('histogram')!)
    expect(texts).toEqual(expect.arrayContaining(['0.1 %', '1 %', '10 %', '50 µs']))
    const folded = [...svgs].filter(([name]) => name.startsWith('histograms-')).flatMap(([, svg]) => textsOf(svg))
    expect(folded).toEqual(
      expect.arrayContaining([
        ...['missing 120 (30.0 %), missed steps 120 (30.0 %)', 'not transmitted 0'],
        ...['missing 2 (0.50 %), missed steps 0', 'not transmitted 2 (0.50 %)'],
      ]),
    )
  })

  it('does without the samples of a run that are gone or damaged, and says so', async () => {
    const settings = { node: 'socket', mode: 'udp', values: 1, rate: 1000 }
    const specs = [100, 200].map((rate) => ({ settings: { ...settings, rate }, typicalNs: 9000 }))
    const dir = writeNodeRun(directory.path, 'damaged', specs)
    const [gone, damaged] = [100, 200].map((rate, i) =>
      nodeFiles(dir, { id: `00${i + 1}`, settings: { ...settings, rate }, limit: 400 }),
    )
    rmSync(gone!.output)
    writeFileSync(damaged!.output, '1,2,x\n')
    const report = await renderReport([dir])
    expect(report.notes).toEqual([
      expect.stringMatching(/No histogram of set 001: .*_output\.csv: the samples cannot be read: does not exist/),
      expect.stringMatching(/No histogram of set 002: .*_output\.csv:1: this is no sample/),
    ])
    expect([...report.svgs.keys()]).toEqual(['medians'])
  })
})

describe('a surface', () => {
  const points = [1, 8, 64].flatMap((y) =>
    NODE_RATES.map((x): SurfacePoint => ({ x, y, z: 10_000 / Math.log10(x) + 20 * y, missed: 0 })),
  )
  const spec: SurfaceSpec = {
    ...{ kind: 'surface', name: 's', title: 'S', subtitle: '', width: 900, height: 500, over: ['rate', 'values'] },
    ...{ xName: 'rate', yName: 'values', zName: 'median', x: 'Hz', y: 'plain', z: 'ns', settings: {}, points },
  }
  const patches = (svg: string): number => svg.match(/<path d="M[^"]*Z" fill/g)!.length

  it('keeps all of its points in the frame, from wherever it is seen', () => {
    for (const width of [300, 390, 900])
      for (let turn = -180; turn <= 180; turn += 30)
        for (const tilt of [0, 24, 60, 88]) {
          const { svg, places } = surfacePicture(spec, { width, angle: { turn, tilt } })
          const height = Number(/height="(\d+)"/.exec(svg)![1])
          expect(places).toHaveLength(12)
          for (const { x, y } of places) {
            expect(x).toBeGreaterThan(0)
            expect(x).toBeLessThan(width)
            expect(y).toBeGreaterThan(0)
            expect(y).toBeLessThan(height)
          }
        }
  })

  it('has one label for all that is to be said of a point, and that of a point at the edge beside the surface', () => {
    const [most] = points.toSorted((a, b) => b.z - a.z)
    const edge = surfacePicture(spec).places.toSorted((a, b) => b.x - a.x)[0]!
    const seen = points.map((point) => ({ ...point, missed: point === most ? 0.9 : point === edge.point ? 0.3 : 0 }))
    const { svg } = surfacePicture({ ...spec, points: seen })
    expect(svg).toMatch(/>max\. [^<]*, 90\.0 % missed</)
    const [, x, anchor] = /<text x="([\d.]+)"[^>]*text-anchor="(\w+)"[^>]*>30\.0 % missed</.exec(svg)!
    expect([Number(x) > edge.x, anchor]).toEqual([true, 'start'])
    // The names of both axes stand there all the same.
    expect(svg).toMatch(/>rate<[\s\S]*>values</)
  })

  it('shows higher points higher, and in front what is nearer', () => {
    const placeOf = (x: number, y: number, angle = usualAngle) =>
      surfacePicture(spec, { width: 900, angle }).places.find(({ point }) => point.x === x && point.y === y)!
    expect(placeOf(100, 64).y).toBeLessThan(placeOf(100_000, 64).y)
    // From above it is a map: rates to the right.
    const above = { turn: 0, tilt: 88 }
    expect(placeOf(100_000, 1, above).x).toBeGreaterThan(placeOf(100, 1, above).x + 100)
    expect(Math.abs(placeOf(100, 1, above).x - placeOf(100, 64, above).x)).toBeLessThan(1)
  })

  it('has a hole where a point is missing, and can be a line or a point', () => {
    expect(patches(surfacePicture(spec).svg)).toBe(6 * 16 + 2)
    const holed = points.filter(({ x, y }) => x !== 100 || y !== 1)
    expect(patches(surfacePicture({ ...spec, points: holed }).svg)).toBe(5 * 16 + 2)
    const one = surfacePicture({ ...spec, points: points.slice(0, 1) }).svg
    expect(one).not.toMatch(/NaN|Infinity/)
    expect(surfacePicture({ ...spec, points: points.slice(0, 4) }).svg).not.toMatch(/NaN|Infinity/)
  })

  it('has a logarithmic height where the largest is far above the least', () => {
    const wide = points.map((point, i) => ({ ...point, z: i === 0 ? 1_000_000 : point.z }))
    expect(textsOf(surfacePicture({ ...spec, points: wide }).svg)).toEqual(
      expect.arrayContaining(['10 µs', '100 µs', '1 ms']),
    )
  })

  it('makes no markup of what it is given', () => {
    const { svg } = surfacePicture({ ...spec, title: '<b>&"', xName: '<i>' })
    expect(svg).not.toMatch(/<b>|<i>/)
    expect(svg).toContain('&lt;i&gt;')
  })
})

describe('labels', () => {
  it('never lie on each other or leave their frame', () => {
    const labels = new Labels({ left: 0, right: 100, top: 0, bottom: 100 })
    expect(labels.take('aaaa', 50, 50)).toBe(true)
    expect(labels.take('bbbb', 55, 55)).toBe(false)
    expect(
      labels.place(
        'bbbb',
        [
          [55, 55],
          [50, 80],
        ],
        '#000000',
      ),
    ).toContain('y="80.0"')
    expect(
      labels.place(
        'cccc',
        [
          [5, 20],
          [50, 101],
        ],
        '#000000',
      ),
    ).toBe('')
  })
})

it('ticks from 0 on are even, and end above the largest', () => {
  for (const high of [0, 1, 7, 36, 1490, 5640, 99_999]) {
    const { min, max, ticks } = evenTicks(high)
    expect(min).toBe(0)
    expect(max).toBeGreaterThanOrEqual(high)
    expect(ticks.length).toBeLessThanOrEqual(8)
    expect(ticks.length).toBeGreaterThanOrEqual(2)
  }
})

it('rates have units', () => {
  expect([100, 2500, 10_000, 1e6, 0.5].map(formatHz)).toEqual(['100 Hz', '2.5 kHz', '10 kHz', '1 MHz', '0.5 Hz'])
})
