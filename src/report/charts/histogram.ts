/**
 * Distributions of latencies: the same range for all, a box with the share above it and the maximum, a red line at each
 * median. Panels stand above each other on one axis, so that distributions can be compared by eye; within a panel,
 * distributions of one message stream (t_lat and t_comp) or of the same settings in different runs lie over each other.
 *
 * A picture has histograms; the page's reader may also have distribution functions (the share up to a value) and tails
 * (the share above it, logarithmic), with any limits.
 */

import type {
  EChartsOption,
  GraphicComponentOption,
  LineSeriesOption,
  XAXisComponentOption,
  YAXisComponentOption,
} from 'echarts'
import { binned, Cumulative, type Histogram } from '../../stats/index.ts'
import { formatCount, formatNs, formatNsTick, formatShare } from '../format.ts'
import { type Chart, header } from './chart.ts'
import { BOX_LINE, COLOURS, FAINT, GRID, INK, MEDIAN_RED, PAPER } from './colours.ts'
import type { HistogramForm, HistogramPanel, HistogramSeries, HistogramSpec, View } from './spec.ts'
import { FONT, fitted, textWidth } from './text.ts'
import { decadeTicks } from './ticks.ts'
import { type TipItem, tipHtml, tooltip } from './tooltip.ts'

const BOTTOM = 54
const PANEL_GAP = 22
const PANEL_TITLE = 24
const LEFT = 62
const RIGHT = 24
/** Solid for the first median, then dashes: red alone does not say whose it is. */
const DASHES = ['solid', 'dashed', 'dotted', [8, 3, 2, 3]] as const
/** Values at which distribution functions are computed. */
const SAMPLES = 360

interface Shown {
  title: string
  series: (HistogramSeries & { bins: Bins; colour: string })[]
}

/** The horizontal positions of a series' points, and its heights in per cent. */
interface Bins {
  edges: readonly number[]
  percents: Float64Array | number[]
}

/** With a view the chart is one of the page, which has the title and the legend beside it. */
export function histogramChart(spec: HistogramSpec, view?: View): Chart {
  const width = view?.width ?? spec.width
  const form = view?.form ?? 'histogram'
  const logX = view?.logX ?? false
  const range = limitsOf(spec, view)
  const panels = visible(spec, form, range, logX, view)
  const single = panels.length === 1
  const panelTitle = panels.some((panel) => panel.title !== '') ? PANEL_TITLE : 4
  const boxes = new Boxes(panels, width - LEFT - RIGHT, formatNs(spec.range[1]))
  const top = view ? { bottom: 4 } : header(spec.title, spec.subtitle, width)
  const above = top.bottom + 8
  // Boxes stand side by side in a corner of their panel: several rows need more height.
  const plotHeight = single
    ? Math.max(180, spec.height - above - BOTTOM - panelTitle)
    : Math.max(132, form === 'histogram' ? 0 : 180, ...panels.map((panel) => boxes.heightOf(panel) * 1.6))
  const pitch = panelTitle + plotHeight + PANEL_GAP
  const height = above + Math.max(1, panels.length) * pitch - PANEL_GAP + BOTTOM
  const places = panels.map((panel) => boxes.place(panel, form, plotHeight))
  const floor = form === 'tail' ? tailFloor(panels) : 0
  const series: LineSeriesOption[] = []
  const graphic: GraphicComponentOption[] = []
  const axisLabel = { color: FAINT, fontSize: 11 }

  for (const [index, panel] of panels.entries()) {
    const panelTop = above + panelTitle + index * pitch
    if (panel.title) {
      const text = fitted(panel.title, width - LEFT - RIGHT, 13)
      graphic.push(textAt(LEFT, panelTop - panelTitle + 3, text, { fontSize: 12, fontWeight: 600, fill: INK }))
    }
    for (const [n, item] of panel.series.entries())
      series.push(panelSeries(item, form, range, logX, view !== undefined, n, index))
    graphic.push(...boxes.draw(panel, panelTop, places[index]!))
  }
  const xTicks = logX
    ? decadeTicks(Math.max(range[0], 0.1), range[1]).ticks.filter((x) => x >= range[0] && x <= range[1])
    : []
  const option: EChartsOption = {
    ...('title' in top ? { title: top.title } : {}),
    grid: panels.map((_, index) => ({
      left: LEFT,
      right: RIGHT,
      top: above + panelTitle + index * pitch,
      height: plotHeight,
      containLabel: false,
    })),
    xAxis: panels.map(
      (_, index) =>
        ({
          type: logX ? 'log' : 'value',
          gridIndex: index,
          min: range[0],
          max: range[1],
          name: index === panels.length - 1 ? 'latency' : '',
          nameLocation: 'middle',
          nameGap: 28,
          nameTextStyle: { color: INK, fontSize: 12 },
          splitNumber: Math.max(2, Math.min(5, Math.floor((width - LEFT - RIGHT) / 90))),
          axisLine: { lineStyle: { color: FAINT } },
          axisLabel: {
            ...axisLabel,
            show: index === panels.length - 1,
            formatter: formatNsTick,
            alignMaxLabel: 'right',
            hideOverlap: true,
            // Ends of a zoomed axis are where the pointer was, not round numbers.
            ...(view?.zoom && xTicks.length < 2 ? { showMinLabel: false, showMaxLabel: false } : {}),
            ...(xTicks.length > 1 ? { customValues: xTicks } : {}),
          },
          axisTick: xTicks.length > 1 ? { customValues: xTicks } : {},
          splitLine: { lineStyle: { color: GRID }, ...(xTicks.length > 1 ? { customValues: xTicks } : {}) },
        }) as XAXisComponentOption,
    ),
    yAxis: panels.map(
      (_, index) =>
        ({
          type: form === 'tail' ? 'log' : 'value',
          gridIndex: index,
          min: floor,
          max: form === 'histogram' ? places[index]!.axisMax : 100,
          splitNumber: single ? 5 : 2,
          axisLabel: {
            ...axisLabel,
            showMaxLabel: form !== 'histogram',
            formatter: (value: number) => `${Number(value.toPrecision(3))} %`,
          },
          splitLine: { lineStyle: { color: GRID } },
        }) as YAXisComponentOption,
    ),
    graphic,
    ...(view ? { tooltip: tooltip((items) => tip(panels, form, items)) } : {}),
    series,
  }
  return { name: spec.name, title: spec.title, width, height, option }
}

/** The limits of the axis: those of the view; else of the specification, but of all values for the tail. */
export function limitsOf(spec: HistogramSpec, view?: View): [number, number] {
  let [low, high] = view?.zoom ?? spec.range
  if (!view?.zoom && view?.form === 'tail') [low, high] = extentOf(spec)
  // A logarithmic axis has no zero; below the least value there is nothing to see.
  if (view?.logX && low <= 0) low = Math.max(1, extentOf(spec)[0])
  return low < high ? [low, high] : [low, low + 1]
}

/** From the least value of all to the largest. */
export function extentOf({ panels, range }: HistogramSpec): [number, number] {
  const all = panels
    .flatMap(({ series }) => series.map(({ distribution }) => distribution))
    .filter(({ total }) => total > 0)
  if (all.length === 0) return [range[0], range[1]]
  return [Math.min(...all.map(({ min }) => min)), Math.max(...all.map(({ max }) => max)) + 1]
}

function visible(
  spec: HistogramSpec,
  form: HistogramForm,
  range: readonly [number, number],
  logX: boolean,
  view: View | undefined,
): Shown[] {
  // A label has one colour in all panels.
  const labels = [...new Set(spec.panels.flatMap((panel) => panel.series.map((item) => item.label)))]
  const edges = edgesOf(range, form === 'histogram' ? spec.bins : SAMPLES, logX)
  return spec.panels
    .map(({ title, series }) => ({
      title,
      series: series
        .filter(({ label, settings }) => !view || (!view.hidden.has(label) && view.chosen(settings)))
        .map((item) => ({
          ...item,
          bins: view ? binsOf(item, form, edges) : exactBins(item.histogram),
          colour: COLOURS[labels.indexOf(item.label) % COLOURS.length]!,
        })),
    }))
    .filter(({ series }) => series.length > 0)
}

function edgesOf([low, high]: readonly [number, number], bins: number, logX: boolean): number[] {
  const ratio = high / low
  return Array.from({ length: bins + 1 }, (_, i) =>
    logX ? low * ratio ** (i / bins) : low + ((high - low) * i) / bins,
  )
}

function middleOf(low: number, high: number, logX: boolean): number {
  return logX ? Math.sqrt(low * high) : (low + high) / 2
}

function exactBins({ range, counts, total }: Histogram): Bins {
  return {
    edges: edgesOf(range, counts.length, false),
    percents: counts.map((count) => (100 * count) / Math.max(1, total)),
  }
}

function binsOf({ distribution }: HistogramSeries, form: HistogramForm, edges: readonly number[]): Bins {
  const percentOf = (count: number): number => (100 * count) / Math.max(1, distribution.total)
  if (form === 'histogram') return { edges, percents: binned(distribution, edges).counts.map(percentOf) }
  const cumulative = new Cumulative(distribution)
  const below = edges.map((edge) => cumulative.below(edge))
  if (form === 'cdf') return { edges, percents: below.map(percentOf) }
  return { edges, percents: below.map((count) => percentOf(distribution.total - count)) }
}

/** A power of ten below the share of one message. */
function tailFloor(panels: readonly Shown[]): number {
  const most = Math.max(1, ...panels.flatMap(({ series }) => series.map(({ distribution }) => distribution.total)))
  return 100 / 10 ** Math.ceil(Math.log10(most))
}

/** The outline of a histogram as one stepped line: a path instead of a rectangle for each bin. */
function panelSeries(
  item: Shown['series'][number],
  form: HistogramForm,
  range: readonly [number, number],
  logX: boolean,
  live: boolean,
  n: number,
  panel: number,
): LineSeriesOption {
  const { histogram, median, label, bins, colour } = item
  const { edges, percents } = bins
  const data: [number, number | null][] =
    form === 'histogram'
      ? binPoints(bins, live, logX)
      : edges.map((edge, i) => [edge, form === 'tail' && percents[i]! < 1e-9 ? null : percents[i]!])
  const medianLine: LineSeriesOption =
    histogram.total > 0 && median >= range[0] && median <= range[1]
      ? {
          markLine: {
            symbol: 'none',
            silent: true,
            animation: false,
            label: { show: false },
            lineStyle: { color: MEDIAN_RED, width: 1.6, type: DASHES[n % DASHES.length]! as 'solid' },
            data: [{ name: `median ${label}`, xAxis: median }],
          },
        }
      : {}
  return {
    type: 'line',
    name: label,
    ...(form === 'histogram' ? { step: live ? ('middle' as const) : ('end' as const) } : {}),
    xAxisIndex: panel,
    yAxisIndex: panel,
    data,
    showSymbol: false,
    silent: true,
    color: colour,
    emphasis: { disabled: true },
    lineStyle: { width: form === 'histogram' ? 1.2 : 2, color: colour },
    ...(form === 'histogram' ? { areaStyle: { color: colour, opacity: 0.32, origin: 'start' as const } } : {}),
    ...medianLine,
  }
}

/**
 * In the page a point in the middle of each bin, which the pointer then finds anywhere in the bin, and one at either end.
 * In a picture one where a step begins: pages with hundreds of histograms stay small.
 */
function binPoints({ edges, percents }: Bins, live: boolean, logX: boolean): [number, number][] {
  const ends = [0, percents.length - 1].map((i): [number, number] => [edges[i === 0 ? 0 : i + 1]!, percents[i]!])
  const points = [...percents].map((percent, i): [number, number] => [
    live ? middleOf(edges[i]!, edges[i + 1]!, logX) : edges[i]!,
    percent,
  ])
  if (live) return [ends[0]!, ...points, ends[1]!]
  return [...points.filter(([, percent], i) => i === 0 || percent !== percents[i - 1]), ends[1]!]
}

function tip(panels: readonly Shown[], form: HistogramForm, items: readonly TipItem[]): string {
  const panel = panels[items[0]?.axisIndex ?? 0] ?? panels[0]
  if (!panel) return ''
  const index = items[0]?.dataIndex ?? 0
  const { edges, percents } = panel.series[0]!.bins
  const at = form === 'histogram' ? Math.min(Math.max(0, index - 1), percents.length - 1) : index
  const head =
    form === 'histogram'
      ? `${exactNs(edges[at]!)} to ${exactNs(edges[at + 1]!)}`
      : `${form === 'cdf' ? 'up to' : 'above'} ${exactNs(edges[at]!)}`
  const rows = panel.series.map(({ label, colour, bins, distribution }) => {
    const share = bins.percents[at]! / 100
    const messages = Math.round(share * distribution.total)
    return {
      label,
      colour,
      text: `${formatShare(share)} (${formatCount(messages)} of ${formatCount(distribution.total)})`,
    }
  })
  return tipHtml(head, rows)
}

/** A limit between two values: a tenth of a nanosecond is enough. */
function exactNs(ns: number): string {
  return ns < 1000 && !Number.isInteger(ns) ? `${ns.toFixed(1)} ns` : formatNs(Math.round(ns))
}

// --- boxes -------------------------------------------------------------------------------------------------------------

/** What a picture that ends at the limit does not show. */
function boxText({ histogram, label, median }: HistogramSeries, limit: string, narrow: boolean): string[] {
  if (histogram.total === 0) return [label, 'no values']
  const share = `${formatShare(histogram.above / histogram.total)} above ${limit}`
  const most = `max. ${formatNs(histogram.max)}`
  return [label, `median ${formatNs(median)}`, ...(narrow ? [share, most] : [`${share}, ${most}`])]
}

/** Where the boxes of a panel stand, and how high the axis must be so that they cover nothing. */
interface BoxPlace {
  /** Pixels from the left of the picture, and from the top of the plot. */
  x: number
  y: number
  /** Per cent. */
  axisMax: number
}

const BOX_LINE_HEIGHT = 16
const BOX_GAP = 6
const BOX_PADDING = 24
const BOX_FONT = 11.5

/** Boxes of one size for all panels, side by side as far as there is room. */
class Boxes {
  readonly #limit: string
  readonly #plotWidth: number
  readonly #width: number
  readonly #columns: number
  readonly #narrow: boolean

  constructor(panels: readonly HistogramPanel[], plotWidth: number, limit: string) {
    this.#limit = limit
    this.#plotWidth = plotWidth
    const room = plotWidth - 2 * BOX_GAP
    const widthOf = (narrow: boolean): number => {
      const lines = panels.flatMap(({ series }) => series.map((item) => boxText(item, limit, narrow)))
      const figures = lines.flatMap(([, ...rest]) => rest)
      const longest = Math.max(...figures.map((line) => textWidth(line, BOX_FONT)))
      // A label may have half as much again; the page's legend has all of it.
      const labels = Math.min(longest * 1.5, Math.max(...lines.map(([label = '']) => textWidth(label, BOX_FONT))))
      return Math.ceil(Math.max(narrow ? 120 : 200, longest, labels) + BOX_PADDING + 2)
    }
    this.#narrow = widthOf(false) > room
    this.#width = Math.min(room, widthOf(this.#narrow))
    this.#columns = Math.max(1, Math.min(2, Math.floor((room + BOX_GAP) / (this.#width + BOX_GAP))))
  }

  #boxHeight(): number {
    return (this.#narrow ? 4 : 3) * BOX_LINE_HEIGHT + 12
  }

  /** Pixels, with the gaps. */
  heightOf(panel: HistogramPanel): number {
    return Math.ceil(panel.series.length / this.#columns) * (this.#boxHeight() + BOX_GAP) + BOX_GAP
  }

  /** The corner in which the boxes need less room above the data; the right one when both are alike. */
  place(panel: Shown, form: HistogramForm, plotHeight: number): BoxPlace {
    const columns = Math.min(this.#columns, panel.series.length)
    const width = columns * (this.#width + BOX_GAP) + BOX_GAP
    const height = this.heightOf(panel)
    const leftX = LEFT + BOX_GAP
    const rightX = LEFT + this.#plotWidth - width + BOX_GAP
    // A distribution function is high on the right, a tail low.
    if (form !== 'histogram')
      return { x: rightX, y: form === 'cdf' ? plotHeight - height + BOX_GAP : BOX_GAP, axisMax: 100 }
    const room = 1 - Math.min(0.75, (height + BOX_GAP) / plotHeight)
    const peak = highest(panel, 0, 1)
    const share = width / this.#plotWidth
    const right = Math.max(peak * 1.05, highest(panel, 1 - share, 1) / room)
    const left = Math.max(peak * 1.05, highest(panel, 0, share) / room)
    return { x: right <= left ? rightX : leftX, y: BOX_GAP, axisMax: Math.min(right, left) || 1 }
  }

  draw(panel: Shown, top: number, place: BoxPlace): GraphicComponentOption[] {
    const width = this.#width
    const height = this.#boxHeight()
    return panel.series.map((item, n) => {
      const frame = { fill: PAPER, stroke: BOX_LINE, lineWidth: 1 }
      const lines = boxText(item, this.#limit, this.#narrow).map((line) => fitted(line, width - BOX_PADDING, BOX_FONT))
      return {
        type: 'group',
        x: place.x + (n % this.#columns) * (width + BOX_GAP),
        y: top + place.y + Math.floor(n / this.#columns) * (height + BOX_GAP),
        silent: true,
        children: [
          { type: 'rect', z: 100, shape: { width, height, r: 3 }, style: frame },
          { type: 'rect', z: 100, shape: { width: 4, height }, style: { fill: item.colour } },
          textAt(14, 8, lines.join('\n'), { fontSize: BOX_FONT, lineHeight: BOX_LINE_HEIGHT, fill: INK }),
        ],
      } as GraphicComponentOption
    })
  }
}

/** Highest bin, in per cent, between two places on the axis (0 to 1). */
function highest(panel: Shown, from: number, to: number): number {
  let most = 0
  for (const { percents } of panel.series.map(({ bins }) => bins)) {
    const bins = percents.length
    for (let i = Math.max(0, Math.floor(from * bins)); i < Math.min(bins, Math.ceil(to * bins)); i++) {
      most = Math.max(most, percents[i]!)
    }
  }
  return most
}

function textAt(x: number, y: number, text: string, style: object): GraphicComponentOption {
  return {
    type: 'text',
    x,
    y,
    z: 101,
    silent: true,
    style: { text, fontFamily: FONT, ...style },
  } as GraphicComponentOption
}
