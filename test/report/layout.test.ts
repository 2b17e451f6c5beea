/** What makes a chart readable: ticks with units, text that has room, words for a machine that was not quiet. */
import { afterAll, describe, expect, it } from 'vitest'
import { chartOf } from '../../src/report/charts/index.ts'
import type { HistogramSpec, LineSpec } from '../../src/report/charts/spec.ts'
import { renderSvg } from '../../src/report/charts/svg.ts'
import { fitted, textWidth, wrapped } from '../../src/report/charts/text.ts'
import { decadeTicks } from '../../src/report/charts/ticks.ts'
import { formatNsTick } from '../../src/report/format.ts'
import { type Machine, renderReport } from '../../src/report/index.ts'
import { pairText } from '../../src/report/page/headline.ts'
import { distributionOf, histogram } from '../../src/stats/index.ts'
import { largeRun, smallRun, temporaryDirectory, writeLatencyRun } from './synthetic.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())

/** So many panels with two distributions each, all of one value in the middle. */
function histograms(panels: number): HistogramSpec {
  const values = new Float64Array(100).fill(5000)
  const series = ['t_lat', 't_comp'].map((label) => ({
    label,
    settings: {},
    median: 5000,
    histogram: histogram(values, [0, 10_000], 50),
    distribution: distributionOf(values),
  }))
  const common = { name: 'h', title: '', subtitle: '', width: 1000, height: 300 }
  const all = Array.from({ length: panels }, () => ({ title: 'RC', series }))
  return { ...common, kind: 'histogram', range: [0, 10_000], bins: 50, panels: all }
}

describe('boxes of histograms', () => {
  interface Drawn {
    grid: { top: number; height: number }[]
    graphic: { type: string; x: number; y: number; children?: { shape?: { width: number; height: number } }[] }[]
    yAxis: { max: number }[]
  }

  it.each(['histogram', 'cdf', 'tail'] as const)('stand above a narrow %s, and cover nothing of it', (form) => {
    for (const [width, panels] of [
      [300, 1],
      [390, 3],
    ] as const) {
      const chart = chartOf(histograms(panels), { width, form, hidden: new Set(), chosen: () => true })
      const { grid, graphic, yAxis } = chart.option as unknown as Drawn
      const boxes = graphic.filter(({ type }) => type === 'group')
      expect(boxes).toHaveLength(2 * panels)
      let end = 0
      for (const [i, { top, height }] of grid.entries()) {
        for (const { x, y, children } of boxes.slice(2 * i, 2 * i + 2)) {
          const { shape } = children![0]!
          expect([y > end, y + shape!.height <= top, x >= 0, x + shape!.width <= width]).toEqual(Array(4).fill(true))
        }
        expect(height).toBeGreaterThanOrEqual(132)
        // No room is left for boxes.
        expect(yAxis[i]!.max).toBeLessThanOrEqual(105)
        end = top + height
      }
      expect(chart.height).toBeGreaterThan(end)
    }
  })
})

describe('ticks', () => {
  it('are 1, 2, 5 or powers of ten, with limits that are ticks', () => {
    expect(decadeTicks(300, 4000)).toEqual({ min: 200, max: 5000, ticks: [200, 500, 1000, 2000, 5000] })
    const wide = decadeTicks(156, 631e6)
    expect(wide.ticks).toEqual([100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9])
    expect([wide.min, wide.max]).toEqual([100, 1e9])
  })

  it('of times have units', () => {
    expect([0, 1, 500, 1000, 2500, 50_000, 1e6, 1e8, 2e9].map(formatNsTick)).toEqual([
      '0',
      '1 ns',
      '500 ns',
      '1 µs',
      '2.5 µs',
      '50 µs',
      '1 ms',
      '100 ms',
      '2 s',
    ])
  })

  it('of shares end at 100 %, however much room the boxes need', () => {
    const { option } = chartOf(histograms(2), { width: 600, hidden: new Set(), chosen: () => true })
    const [axis] = option.yAxis as unknown as { max: number; axisLabel: { formatter(value: number): string } }[]
    expect(axis!.max).toBeGreaterThan(150)
    expect([50, 100, 200].map(axis!.axisLabel.formatter)).toEqual(['50 %', '100 %', ''])
  })

  it.each([
    ['processes', [1, 2], true],
    ['gigabits', [0.5, 2], false],
  ])('of an axis of %s are whole numbers where all its values are', (xName, xs, whole) => {
    const line = { label: 'WRITE', settings: {}, points: xs.map((x) => ({ x, y: 1000 * x })) }
    const common = { name: 'l', title: '', subtitle: '', width: 1000, height: 300, logarithmic: false, linearY: true }
    const spec: LineSpec = {
      ...common,
      kind: 'lines',
      over: xName,
      xName,
      x: 'plain',
      yName: '',
      y: 'ns',
      lines: [line],
    }
    const svg = renderSvg(chartOf(spec))
    const numbers = [...svg.matchAll(/>([\d.]+)<\/text>/g)].map(([, text]) => Number(text))
    expect(numbers).toEqual(expect.arrayContaining([1, 2]))
    expect(numbers.every(Number.isInteger)).toBe(whole)
  })

  it('of slow medians are short', async () => {
    const { svgs } = await renderReport([largeRun(directory.path, 'slow', 400_000)])
    const medians = [...svgs].filter(([name]) => name.startsWith('medians')).map(([, svg]) => svg)
    expect(medians.length).toBeGreaterThan(0)
    for (const svg of medians) {
      expect(svg).toMatch(/>\d+ ms</)
      expect(svg).not.toMatch(/>\d+,\d+,\d+</)
    }
  })
})

it('two times have their unit once only where it is the same', () => {
  expect(pairText(125, 156, ' to ')).toBe('125 to 156 ns')
  expect(pairText(120, 266_778, ' to ')).toBe('120 ns to 267 µs')
  expect(pairText(739_000, 786_000, ' / ')).toBe('739 / 786 µs')
})

describe('text', () => {
  it('is cut at its end, and only where it is too long', () => {
    const label = 'RC send-imm, size 8, poll busy'
    expect(fitted(label, textWidth(label))).toBe(label)
    const cut = fitted(label, 100)
    expect(cut).toMatch(/^RC send.*…$/)
    expect(textWidth(cut)).toBeLessThanOrEqual(100)
  })

  it('is broken between words', () => {
    const lines = wrapped('RC send-imm, size 8, poll busy, no inline', 100)
    expect(lines.join(' ')).toBe('RC send-imm, size 8, poll busy, no inline')
    expect(lines.length).toBeGreaterThan(1)
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(100)
  })

  it('of a box is whole', async () => {
    const { svgs } = await renderReport([smallRun(directory.path, 'boxes', 12)])
    const text = [...svgs.values()].join('')
    expect(text).toMatch(/above 10 µs, max. [\d.]+ ms</)
    expect(text).not.toMatch(/max\. [^<]*(…|\.\.\.)/)
  })

  it('beside the bars has what tells them apart', async () => {
    const settings = { service: 'RC', op: 'send', engine: 'thread', pause: 300_000, poll: 'busy' }
    const other = { ...settings, engine: 'poster', pause: 2000, poll: 'event', size: 8, stamp: 'submit' }
    const specs = [8, 64].flatMap((size) =>
      ['submit', 'send'].map((stamp) => ({ settings: { ...settings, size, stamp }, typicalNs: 900, messages: 50 })),
    )
    specs.push({ settings: other, typicalNs: 900, messages: 50 })
    const { svgs } = await renderReport([writeLatencyRun(directory.path, 'pairs', specs)])
    expect(svgs.get('inline')).toMatch(/>size 8<[\s\S]*>size 64</)
  })
})

it('a machine that others kept busy is named at the top', async () => {
  const machine = { cpu: 'x', cores: 2, memoryBytes: 1, os: 'x', permitted: {} }
  const spec = [{ settings: { service: 'RC', size: 8 }, typicalNs: 900, messages: 50 }]
  const run = (name: string, figures: Partial<Machine>) =>
    renderReport([writeLatencyRun(directory.path, name, spec, { machine: { ...machine, load: 1, ...figures } })])
  const quiet = await run('quiet', { load: 2, stolen: 0.005, others: 0.05, pollingThreads: 2 })
  expect(quiet.notes).toEqual([])
  expect(quiet.html).not.toContain('<p class="disturbed"')
  for (const [figures, words] of [
    [{ load: 44.51 }, 'load 44.5 on 2 cores at the start'],
    [{ stolen: 0.123 }, '12.3 % of the time stolen by the host'],
    [{ others: 0.4 }, 'other programs used 40.0 % of the time of 2 cores'],
    [{ boundTo: [1], others: 0.4 }, 'other programs used 40.0 % of the time of core 1'],
    [{ pollingThreads: 3 }, '3 polling threads on 2 cores'],
  ] as const) {
    const { html, notes } = await run(Object.keys(figures)[0]!, figures)
    expect(notes).toEqual([`Measured on a disturbed machine: ${words}.`])
    // Right below the first sentence, before the figures.
    expect(html).toMatch(new RegExp(`class="headline">[^<]*</p>\\s*<p class="disturbed" role="note">[^<]*${words}`))
  }
})
