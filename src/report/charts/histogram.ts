/**
 * Histograms: the same range for all, a box with the share above it and the maximum, a red line at each
 * median. Panels stand above each other on one axis, so that distributions can be compared by eye; within a panel,
 * distributions of one message stream (t_lat and t_comp) or of the same settings in different runs lie over each other.
 */

import type { GraphicComponentOption, LineSeriesOption } from 'echarts'
import type { Histogram } from '../../stats/index.ts'
import { formatCount, formatNs, formatNsTick, formatShare } from '../format.ts'
import { type Chart, COLOURS, FAINT, FONT, GRID, INK, MEDIAN_RED, textWidth } from './svg.ts'

export interface HistogramSeries {
  label: string
  histogram: Histogram
  /** Nanoseconds, of all values, also those outside the range. */
  median: number
}

export interface HistogramPanel {
  title: string
  series: HistogramSeries[]
}

export interface HistogramChart {
  name: string
  title: string
  width: number
  /** Pixels of one panel's plot when there is one panel; several share the page and are lower. */
  height: number
  panels: HistogramPanel[]
}

const TOP = 46
const BOTTOM = 54
const PANEL_GAP = 22
const LEFT = 62
const RIGHT = 24
/** Solid for the first median, then dashes: red alone does not say whose it is. */
const DASHES = ['solid', 'dashed', 'dotted', [8, 3, 2, 3]] as const

/** The three lines of the box: what a picture that ends at the limit does not show. */
export function boxText(series: HistogramSeries): string {
  const { histogram, label, median } = series
  if (histogram.total === 0) return `${label}\nno values`
  const limit = formatNs(histogram.range[1])
  const share = formatShare(histogram.above / histogram.total)
  return `${label}\nmedian ${formatNs(median)}\n${share} above ${limit}, max. ${formatNs(histogram.max)}`
}

export function histogramChart(spec: HistogramChart): Chart {
  const { panels, width } = spec
  const single = panels.length === 1
  const panelTitle = panels.some((panel) => panel.title !== '') ? 24 : 4
  const most = Math.max(...panels.map((panel) => panel.series.length))
  // The boxes of a panel stand side by side in its upper corner, two in a row: two rows need more height.
  const plotHeight = single ? Math.max(160, spec.height - TOP - BOTTOM - panelTitle) : most > 2 ? 220 : 132
  const pitch = panelTitle + plotHeight + PANEL_GAP
  const height = TOP + panels.length * pitch - PANEL_GAP + BOTTOM
  // A label has one colour in all panels.
  const colours = [...new Set(panels.flatMap((panel) => panel.series.map((item) => item.label)))]
  const boxWidth = boxWidthOf(panels)
  const places = panels.map((panel) => placeBoxes(panel, boxWidth, width, plotHeight))
  const range = panels[0]!.series[0]!.histogram.range
  const inUnits = range[1] > 1e6
  const series: LineSeriesOption[] = []
  const graphic: GraphicComponentOption[] = []
  const axisLabel = { color: FAINT, fontSize: 11 }

  for (const [index, panel] of panels.entries()) {
    const top = TOP + panelTitle + index * pitch
    if (panel.title)
      graphic.push(textAt(LEFT, top - panelTitle + 3, panel.title, { fontSize: 12, fontWeight: 600, fill: INK }))
    for (const [n, item] of panel.series.entries())
      series.push(panelSeries(item, colours.indexOf(item.label), n, index))
    graphic.push(...boxes(panel, boxWidth, colours, top, places[index]!.x))
  }

  return {
    name: spec.name,
    title: spec.title,
    width,
    height,
    option: {
      title: {
        text: spec.title,
        left: 16,
        top: 10,
        textStyle: { fontSize: 15, color: INK, width: width - 40, overflow: 'truncate' },
      },
      grid: panels.map((_, index) => ({
        left: LEFT,
        right: RIGHT,
        top: TOP + panelTitle + index * pitch,
        height: plotHeight,
        containLabel: false,
      })),
      xAxis: panels.map((_, index) => ({
        type: 'value' as const,
        gridIndex: index,
        min: range[0],
        max: range[1],
        name: index === panels.length - 1 ? (inUnits ? 'latency' : 'latency, ns') : '',
        nameLocation: 'middle' as const,
        nameGap: 28,
        nameTextStyle: { color: INK, fontSize: 12 },
        axisLine: { lineStyle: { color: FAINT } },
        axisLabel: {
          ...axisLabel,
          show: index === panels.length - 1,
          formatter: inUnits ? formatNsTick : formatCount,
          alignMaxLabel: 'right' as const,
        },
        splitLine: { lineStyle: { color: GRID } },
      })),
      yAxis: panels.map((_, index) => ({
        type: 'value' as const,
        gridIndex: index,
        min: 0,
        max: places[index]!.axisMax,
        splitNumber: single ? 5 : 2,
        axisLabel: { ...axisLabel, showMaxLabel: false, formatter: (value: number) => `${value} %` },
        splitLine: { lineStyle: { color: GRID } },
      })),
      graphic,
      series,
    },
  }
}

/** The outline of a histogram as one stepped line: a path instead of a rectangle for each bin. */
function panelSeries(item: HistogramSeries, colourIndex: number, n: number, panel: number): LineSeriesOption {
  const { histogram, median, label } = item
  const [low, high] = histogram.range
  const bins = histogram.counts.length
  const percent = (index: number): number => (100 * histogram.counts[index]!) / Math.max(1, histogram.total)
  const data: [number, number][] = Array.from({ length: bins }, (_, i) => [low + ((high - low) * i) / bins, percent(i)])
  data.push([high, percent(bins - 1)])
  const colour = COLOURS[colourIndex % COLOURS.length]!
  const medianLine: LineSeriesOption =
    histogram.total > 0 && median >= low && median <= high
      ? {
          markLine: {
            symbol: 'none',
            silent: true,
            label: { show: false },
            lineStyle: { color: MEDIAN_RED, width: 1.6, type: DASHES[n % DASHES.length]! as 'solid' },
            data: [{ name: `median ${label}`, xAxis: median }],
          },
        }
      : {}
  return {
    type: 'line',
    name: label,
    step: 'end',
    xAxisIndex: panel,
    yAxisIndex: panel,
    data,
    showSymbol: false,
    silent: true,
    color: colour,
    lineStyle: { width: 1.2, color: colour },
    areaStyle: { color: colour, opacity: 0.32, origin: 'start' },
    ...medianLine,
  }
}

/** Where the boxes of a panel stand, and how high the axis must be so that they cover nothing. */
interface BoxPlace {
  /** Pixels. */
  x: number
  /** Per cent. */
  axisMax: number
}

const BOX_HEIGHT = 60
const BOX_GAP = 6
const BOX_PADDING = 24
const BOX_FONT = 11.5

/** Wide enough for the figures of all boxes; a label that is longer is cut. */
function boxWidthOf(panels: readonly HistogramPanel[]): number {
  const figures = panels.flatMap(({ series }) => series.flatMap((item) => boxText(item).split('\n').slice(1)))
  return Math.ceil(Math.max(200, ...figures.map((line) => textWidth(line, BOX_FONT))) + BOX_PADDING + 2)
}

/** The corner in which the boxes need less room above the data; the right one when both are alike. */
function placeBoxes(panel: HistogramPanel, boxWidth: number, width: number, plotHeight: number): BoxPlace {
  const columns = Math.min(2, panel.series.length)
  const rows = Math.ceil(panel.series.length / 2)
  const boxesWidth = columns * (boxWidth + BOX_GAP) + BOX_GAP
  const plotWidth = width - LEFT - RIGHT
  const room = 1 - Math.min(0.75, (rows * (BOX_HEIGHT + BOX_GAP) + 2 * BOX_GAP) / plotHeight)
  const peak = highest(panel, 0, 1)
  const share = boxesWidth / plotWidth
  const right = Math.max(peak * 1.05, highest(panel, 1 - share, 1) / room)
  const left = Math.max(peak * 1.05, highest(panel, 0, share) / room)
  const useRight = right <= left
  return {
    x: useRight ? width - RIGHT - boxesWidth + BOX_GAP : LEFT + BOX_GAP,
    axisMax: (useRight ? right : left) || 1,
  }
}

/** Highest bin, in per cent, between two places on the axis (0 to 1). */
function highest(panel: HistogramPanel, from: number, to: number): number {
  let most = 0
  for (const { histogram } of panel.series) {
    const bins = histogram.counts.length
    for (let i = Math.max(0, Math.floor(from * bins)); i < Math.min(bins, Math.ceil(to * bins)); i++) {
      most = Math.max(most, (100 * histogram.counts[i]!) / Math.max(1, histogram.total))
    }
  }
  return most
}

function boxes(
  panel: HistogramPanel,
  boxWidth: number,
  colours: readonly string[],
  top: number,
  left: number,
): GraphicComponentOption[] {
  return panel.series.map((item, n) => {
    const colour = COLOURS[colours.indexOf(item.label) % COLOURS.length]!
    const frame = { fill: '#ffffff', stroke: '#c9ced6', lineWidth: 1 }
    const font = { fontSize: BOX_FONT, lineHeight: 16, fill: INK, width: boxWidth - BOX_PADDING, overflow: 'truncate' }
    return {
      type: 'group',
      x: left + (n % 2) * (boxWidth + BOX_GAP),
      y: top + BOX_GAP + Math.floor(n / 2) * (BOX_HEIGHT + BOX_GAP),
      silent: true,
      children: [
        { type: 'rect', z: 100, shape: { width: boxWidth, height: BOX_HEIGHT, r: 3 }, style: frame },
        { type: 'rect', z: 100, shape: { width: 4, height: BOX_HEIGHT }, style: { fill: colour } },
        textAt(14, 8, boxText(item), font),
      ],
    } as GraphicComponentOption
  })
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
