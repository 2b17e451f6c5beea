/**
 * Lines over one setting, with error bars where a point has them: the form of the median and the throughput charts.
 */

import type { CustomSeriesOption, LegendComponentOption, LineSeriesOption, XAXisComponentOption } from 'echarts'
import type { Setting } from '../results.ts'
import { compareSettings } from '../settings.ts'
import { type Chart, COLOURS, decadeTicks, FAINT, GRID, INK, SYMBOLS, textWidth } from './svg.ts'

export interface Point {
  x: Setting
  y: number
  /** Ends of the error bar. */
  low?: number
  high?: number
}

export interface Line {
  label: string
  points: Point[]
}

export interface LineChart {
  name: string
  title: string
  subtitle?: string
  xName: string
  yName: string
  width: number
  /** Pixels of the whole picture, without the legend below. */
  height: number
  lines: Line[]
  /** Both axes where their values allow it; x in powers of two. */
  logarithmic: boolean
  /** Keep y linear from 0, so that heights can be compared. */
  linearY?: boolean
  formatX: (x: number) => string
  formatY: (y: number) => string
}

/** Lines in one chart that a reader can still follow. */
export const MAX_LINES = 8

const LEGEND_ROW = 20
const X_TITLE = 62

export function lineChart(spec: LineChart): Chart {
  const { lines, width } = spec
  const points = lines.flatMap((line) => line.points)
  const xs = [...new Set(points.map((point) => point.x))].sort(compareSettings)
  const numeric = xs.every((x): x is number => typeof x === 'number')
  const logX = numeric && spec.logarithmic && xs.every((x) => x > 0) && xs.length > 1
  const category = !numeric || xs.length === 1

  const values = points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y])
  const logY = spec.logarithmic && !spec.linearY && values.every((y) => y > 0)
  const y = logY ? decadeTicks(Math.min(...values), Math.max(...values)) : null

  const perColumn = legendColumns(lines, width)
  const rows = Math.ceil(lines.length / perColumn)
  const legendHeight = lines.length > 1 ? rows * LEGEND_ROW + 6 : 0
  const height = spec.height + legendHeight
  const axisLabel = { color: FAINT, fontSize: 12 }
  const splitLine = { show: true, lineStyle: { color: GRID } }
  const ticks = logX ? thinned(xs as number[], Math.floor(width / 70)) : []

  return {
    name: spec.name,
    title: spec.title,
    width,
    height,
    option: {
      title: {
        text: spec.title,
        ...(spec.subtitle ? { subtext: spec.subtitle } : {}),
        left: 16,
        top: 10,
        itemGap: 5,
        textStyle: { fontSize: 15, color: INK, width: width - 40, overflow: 'truncate' },
        subtextStyle: { fontSize: 12, color: FAINT, width: width - 40, overflow: 'truncate' },
      },
      legend: legends(lines, perColumn, spec.height, width),
      grid: { left: 76, right: 28, top: spec.subtitle ? 92 : 70, bottom: X_TITLE + legendHeight, containLabel: false },
      xAxis: {
        ...(category
          ? { type: 'category' as const, data: xs.map((x) => (typeof x === 'number' ? spec.formatX(x) : String(x))) }
          : logX
            ? { type: 'log' as const, logBase: 2, min: (xs[0] as number) / 1.2, max: (xs.at(-1) as number) * 1.2 }
            : { type: 'value' as const, scale: true }),
        name: spec.xName,
        nameLocation: 'middle',
        nameGap: 30,
        nameTextStyle: { color: INK, fontSize: 12 },
        axisLine: { onZero: false, lineStyle: { color: FAINT } },
        axisLabel: {
          ...axisLabel,
          ...(category ? {} : { formatter: spec.formatX }),
          ...(logX ? { customValues: ticks, hideOverlap: true } : {}),
        },
        axisTick: logX ? { customValues: ticks } : {},
        splitLine: { show: false },
      } as XAXisComponentOption,
      yAxis: {
        ...(y ? { type: 'log' as const, min: y.min, max: y.max } : { type: 'value' as const, min: 0 }),
        name: spec.yName,
        nameLocation: 'end',
        nameGap: 10,
        nameTextStyle: { color: FAINT, fontSize: 12, align: 'left', padding: [0, 0, 0, -58] },
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: { ...axisLabel, formatter: spec.formatY, ...(y ? { customValues: y.ticks } : {}) },
        splitLine: y ? ({ ...splitLine, customValues: y.ticks } as typeof splitLine) : splitLine,
      },
      series: lines.flatMap((line, index) => lineSeries(line, index, category ? xs : null)),
    },
  }
}

function lineSeries(
  line: Line,
  index: number,
  categories: readonly Setting[] | null,
): (LineSeriesOption | CustomSeriesOption)[] {
  const colour = COLOURS[index % COLOURS.length]!
  const at = (x: Setting): number => (categories ? categories.indexOf(x) : (x as number))
  const points = line.points.toSorted((a, b) => compareSettings(a.x, b.x))
  const bars: number[][] = points.flatMap((p) =>
    p.low === undefined || p.high === undefined ? [] : [[at(p.x), p.low, p.high]],
  )
  const errorBars: CustomSeriesOption = {
    type: 'custom',
    name: line.label,
    data: bars,
    // Both ends count for the extent of the axis.
    encode: { x: 0, y: [1, 2] },
    z: 1,
    itemStyle: { color: colour },
    renderItem: (_params, api) => {
      const x = api.value(0)
      const [centre = 0, bottom = 0] = api.coord([x, api.value(1)])
      const [, top = 0] = api.coord([x, api.value(2)])
      const cap = 4
      const style = { stroke: colour, lineWidth: 1.3, opacity: 0.75, fill: 'none' }
      const stroke = (x1: number, y1: number, x2: number, y2: number) =>
        ({ type: 'line', shape: { x1, y1, x2, y2 }, style, silent: true }) as const
      return {
        type: 'group',
        children: [
          stroke(centre, bottom, centre, top),
          stroke(centre - cap, bottom, centre + cap, bottom),
          stroke(centre - cap, top, centre + cap, top),
        ],
      }
    },
  }
  const curve: LineSeriesOption = {
    type: 'line',
    name: line.label,
    data: points.map((p) => [at(p.x), p.y]),
    symbol: SYMBOLS[index % SYMBOLS.length]!,
    symbolSize: 7,
    showAllSymbol: true,
    z: 3,
    color: colour,
    lineStyle: { width: 2, color: colour },
    itemStyle: { color: colour },
    silent: true,
  }
  return bars.length > 0 ? [curve, errorBars] : [curve]
}

/** How many labels fit side by side. */
function legendColumns(lines: readonly Line[], width: number): number {
  const widest = Math.max(...lines.map((line) => textWidth(line.label))) + 50
  return Math.max(1, Math.min(4, lines.length, Math.floor((width - 32) / widest)))
}

/** One legend for each column, because a legend that wraps by itself cannot be given room beforehand. */
function legends(lines: readonly Line[], columns: number, top: number, width: number): LegendComponentOption[] {
  if (lines.length < 2) return []
  const step = (width - 32) / columns
  return Array.from({ length: columns }, (_, column) => ({
    orient: 'vertical' as const,
    left: 16 + column * step,
    top: top - 4,
    itemGap: LEGEND_ROW - 14,
    itemHeight: 12,
    itemWidth: 26,
    padding: 0,
    data: lines.filter((_line, index) => index % columns === column).map((line) => line.label),
    textStyle: { color: INK, fontSize: 12, width: step - 50, overflow: 'truncate' as const },
  }))
}

function thinned(values: readonly number[], most: number): number[] {
  const step = Math.ceil(values.length / Math.max(2, most))
  return values.filter((_, index) => index % step === 0)
}
