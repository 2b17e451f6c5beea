/**
 * Lines over one setting, with error bars where a point has them: the form of the median and the throughput charts.
 */

import type {
  CustomSeriesOption,
  EChartsOption,
  LegendComponentOption,
  LineSeriesOption,
  XAXisComponentOption,
} from 'echarts'
import { formatExact, formatNs, formatShare, formatTick } from '../format.ts'
import type { Setting } from '../results.ts'
import { compareSettings } from '../settings.ts'
import { type Chart, header, SYMBOLS } from './chart.ts'
import { COLOURS, FAINT, GRID, INK } from './colours.ts'
import { type Box, Labels } from './labels.ts'
import type { Line, LineSpec, View } from './spec.ts'
import { textWidth } from './text.ts'
import { decadeTicks, powerTicks, thinned } from './ticks.ts'
import { type TipItem, tipHtml, tooltip } from './tooltip.ts'

/** Maximum number of lines in one chart that a reader can still follow. */
export const MAX_LINES = 8

const LEGEND_ROW = 20
const X_TITLE = 62
const RIGHT = 28

interface Shown {
  line: Line
  /** Index of its colour and symbol, independent of the other lines shown. */
  index: number
}

/** Draws the chart. With a view it is one of the page, which has the title and the legend beside it. */
export function lineChart(spec: LineSpec, view?: View): Chart {
  const width = view?.width ?? spec.width
  const shown = visible(spec, view)
  const points = shown.flatMap(({ line }) => line.points)
  const xs = orderedXs(spec, points)
  const { category, logX, logY } = scales(spec, view)
  const zoom = category ? undefined : view?.zoom
  const inZoom = zoom === undefined ? points : points.filter(({ x }) => Number(x) >= zoom[0] && Number(x) <= zoom[1])

  const values = inZoom.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y])
  const y = logY && values.length > 0 ? decadeTicks(...leastAndMost(values)) : null
  const top = view ? { bottom: 0 } : header(spec.title, spec.subtitle, width)
  const legend = view ? { columns: 1, height: 0 } : legendSize(spec.lines, width)
  const height = view ? spec.height - 20 : spec.height + legend.height + top.bottom - 52
  const axisLabel = { color: FAINT, fontSize: 12 }
  const splitLine = { show: true, lineStyle: { color: GRID } }
  const room = width - 76 - RIGHT
  const limits = zoom ?? (logX && xs.length > 0 ? [(xs[0] as number) / 1.2, (xs.at(-1) as number) * 1.2] : undefined)
  const most = Math.floor(room / 66)
  const ticks =
    !logX || limits === undefined
      ? []
      : spec.curve
        ? powerTicks(spec.x === 'bytes' ? 2 : 10, limits[0]!, limits[1]!, most)
        : thinned(
            (xs as number[]).filter((x) => !zoom || (x >= zoom[0] && x <= zoom[1])),
            most,
          )

  const frame = { left: 76, right: width - 6, top: top.bottom + 16, bottom: height - X_TITLE - legend.height }
  const [xLow, xHigh] = limits ?? [Number(xs[0]), Number(xs.at(-1))]
  const across = (x: Setting): number =>
    category ? (xs.indexOf(x) + 0.5) / xs.length : shareOf(Number(x), Number(xLow), Number(xHigh), logX)
  const [yLow, yHigh] = y ? [y.min, y.max] : [0, 1.05 * leastAndMost(values)[1]]
  const labels = missedLabels(shown, frame, (point) => [
    76 + across(point.x) * room,
    frame.bottom - shareOf(point.y, yLow, yHigh, y !== null) * (frame.bottom - top.bottom - 30),
  ])

  const xAxis = {
    ...(category
      ? { type: 'category' as const, data: xs.map((x) => settingText(spec, x)) }
      : logX
        ? { type: 'log' as const, logBase: 2 }
        : {
            ...{ type: 'value' as const, scale: true, splitNumber: Math.max(2, Math.floor(room / 110)) },
            // There is no tick between one process and two.
            ...(!spec.curve && xs.every(Number.isInteger) ? { minInterval: 1 } : {}),
          }),
    ...(limits ? { min: limits[0], max: limits[1] } : {}),
    name: spec.xName,
    nameLocation: 'middle',
    nameGap: 30,
    nameTextStyle: { color: INK, fontSize: 12 },
    axisLine: { onZero: false, lineStyle: { color: FAINT } },
    axisLabel: {
      ...axisLabel,
      ...(category ? {} : { formatter: (x: number) => formatTick(spec.x, x), hideOverlap: true }),
      // Ends of a zoomed axis are where the pointer was, not round numbers.
      ...(zoom && ticks.length < 2 ? { showMinLabel: false, showMaxLabel: false } : {}),
      ...(ticks.length > 1 ? { customValues: ticks } : {}),
    },
    axisTick: ticks.length > 1 ? { customValues: ticks } : {},
    splitLine: { show: false },
  } as XAXisComponentOption
  const option: EChartsOption = {
    ...('title' in top ? { title: top.title } : {}),
    ...(view ? {} : { legend: legends(spec.lines, legend.columns, height - legend.height, width) }),
    grid: { left: 76, right: RIGHT, top: top.bottom + 30, bottom: X_TITLE + legend.height, containLabel: false },
    xAxis,
    yAxis: {
      ...(y
        ? { type: 'log' as const, min: y.min, max: y.max }
        : { type: 'value' as const, min: 0, ...(spec.y === 'share' && { max: 1 }) }),
      name: spec.yName,
      nameLocation: 'end',
      nameGap: 10,
      nameTextStyle: { color: FAINT, fontSize: 12, align: 'left', padding: [0, 0, 0, -58] },
      axisLine: { show: false },
      // Split lines stand where ticks would.
      axisTick: { show: false, ...(y ? { customValues: y.ticks } : {}) },
      axisLabel: {
        ...axisLabel,
        formatter: (value: number) => formatTick(spec.y, value),
        ...(y ? { customValues: y.ticks } : {}),
      },
      splitLine: y ? ({ ...splitLine, customValues: y.ticks } as typeof splitLine) : splitLine,
    },
    ...(view ? { tooltip: tooltip((items) => tip(spec, shown, xs, items)) } : {}),
    series: shown.flatMap((line) => lineSeries(spec, line, category ? xs : null, labels)),
  }
  return { name: spec.name, title: spec.title, width, height, option }
}

function orderedXs({ categories }: LineSpec, points: readonly Line['points'][number][]): Setting[] {
  const xs = new Set(points.map(({ x }) => x))
  return categories ? categories.filter((x) => xs.has(x)) : [...xs].sort(compareSettings)
}

/** Returns the smallest and the largest of many values, possibly more than a call can have arguments. */
export function leastAndMost(values: readonly number[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  return [low, high]
}

function shareOf(value: number, low: number, high: number, logarithmic: boolean): number {
  if (low === high) return 0.5
  return logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low)
}

/** Returns the scales of the chart: those of the view, otherwise of the specification, where the values allow them. */
export function scales(spec: LineSpec, view?: View): { category: boolean; logX: boolean; logY: boolean } {
  const points = spec.lines.flatMap((line) => line.points)
  const xs = new Set(points.map((point) => point.x))
  const numeric = [...xs].every((x) => typeof x === 'number')
  const { x: canLogX, y: canLogY } = logarithmicAxes(spec)
  return {
    category: !numeric || xs.size === 1,
    logX: canLogX && (view?.logX ?? spec.logarithmic),
    logY: canLogY && (view?.logY ?? (spec.logarithmic && !spec.linearY)),
  }
}

/** Returns the axes that can be logarithmic. */
export function logarithmicAxes({ lines }: LineSpec): { x: boolean; y: boolean } {
  const points = lines.flatMap((line) => line.points)
  const xs = new Set(points.map((point) => point.x))
  return {
    x: xs.size > 1 && [...xs].every((x) => typeof x === 'number' && x > 0),
    y: points.every(({ y, low = y }) => y > 0 && low > 0),
  }
}

function visible(spec: LineSpec, view: View | undefined): Shown[] {
  const all = spec.lines.map((line, index) => ({ line, index }))
  if (!view) return all
  return all
    .filter(({ line }) => !view.hidden.has(line.label) && view.chosen(line.settings))
    .map(({ line, index }) => ({
      index,
      line: { ...line, points: line.points.filter(({ x }) => view.chosen({ [spec.over]: x })) },
    }))
    .filter(({ line }) => line.points.length > 0)
}

function settingText(spec: LineSpec, x: Setting): string {
  return typeof x === 'number' ? formatTick(spec.x, x) : String(x)
}

function tip(spec: LineSpec, shown: readonly Shown[], xs: readonly Setting[], items: readonly TipItem[]): string {
  const points = items.filter((item) => item.seriesType === 'line')
  const [first] = points
  if (!first) return ''
  const [at = 0] = first.value as number[]
  const x = xs.includes(at) ? at : (xs[at] ?? at)
  const exact = (value: number): string => formatExact(spec.y, value)
  const short = (value: number): string => (spec.y === 'ns' ? formatNs(value) : formatTick(spec.y, value))
  const rows = points.flatMap((item) => {
    const found = shown.find(({ line }) => line.label === item.seriesName)
    const point = found?.line.points.find((candidate) => candidate.x === x)
    if (!found || !point) return []
    const { y, low, high } = point
    const bars = low === undefined || high === undefined ? '' : `, ${short(low)} to ${short(high)}`
    const missed = point.missed === undefined ? '' : `, ${formatShare(point.missed)} missed`
    const text = `${exact(y)}${bars}${missed}`
    return [{ colour: COLOURS[found.index % COLOURS.length]!, label: found.line.label, text }]
  })
  return tipHtml(`${spec.xName} ${typeof x === 'number' ? formatExact(spec.x, x) : String(x)}`, rows)
}

function lineSeries(
  spec: LineSpec,
  { line, index }: Shown,
  categories: readonly Setting[] | null,
  labels: ReadonlyMap<Line['points'][number], PointLabel>,
): (LineSeriesOption | CustomSeriesOption)[] {
  const colour = COLOURS[index % COLOURS.length]!
  const at = (x: Setting): number => (categories ? categories.indexOf(x) : (x as number))
  const points = categories
    ? line.points.toSorted((a, b) => at(a.x) - at(b.x))
    : line.points.toSorted((a, b) => compareSettings(a.x, b.x))
  const bars: number[][] = points.flatMap((p) =>
    p.low === undefined || p.high === undefined ? [] : [[at(p.x), p.low, p.high]],
  )
  const errorBars: CustomSeriesOption = {
    type: 'custom',
    name: line.label,
    data: bars,
    clip: true,
    tooltip: { show: false },
    // Both ends count for the extent of the axis.
    encode: { x: 0, y: [1, 2] },
    z: 1,
    silent: true,
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
    data: points.map((p) => ({ value: [at(p.x), p.y], ...(labels.has(p) && { label: labels.get(p)! }) })),
    symbol: spec.curve ? 'none' : SYMBOLS[index % SYMBOLS.length]!,
    symbolSize: 7,
    showAllSymbol: true,
    z: 3,
    color: colour,
    lineStyle: { width: 2, color: colour },
    itemStyle: { color: colour },
    emphasis: { disabled: true },
    silent: true,
  }
  return bars.length > 0 ? [curve, errorBars] : [curve]
}

type PointLabel = NonNullable<LineSeriesOption['label']>

/** Labels the shares of missed steps, above their points; where there is not space for all, the largest ones. */
function missedLabels(
  shown: readonly Shown[],
  frame: Box,
  place: (point: Line['points'][number]) => readonly [number, number],
): Map<Line['points'][number], PointLabel> {
  const labels = new Labels(frame)
  const points = shown.flatMap(({ line }) => line.points.filter(({ missed }) => missed !== undefined))
  const found = new Map<Line['points'][number], PointLabel>()
  for (const point of points.toSorted((a, b) => b.missed! - a.missed!)) {
    const text = `${formatShare(point.missed!)} missed`
    const [x, y] = place(point)
    // At the edge there is space on one side only.
    const half = textWidth(text, 12) / 2 + 1
    const shift = Math.min(0, frame.right - half - x) + Math.max(0, frame.left + half - x)
    if (!labels.take(text, x + shift, y - 10)) continue
    found.set(point, {
      ...{ show: true, position: 'top', distance: 7, color: INK, fontSize: 11, formatter: text },
      offset: [shift, 0],
    })
  }
  return found
}

/** Returns the number of labels that fit side by side, and the pixels that all need. */
function legendSize(lines: readonly Line[], width: number): { columns: number; height: number } {
  if (lines.length < 2) return { columns: 1, height: 0 }
  const widest = Math.max(...lines.map((line) => textWidth(line.label))) + 50
  const columns = Math.max(1, Math.min(4, lines.length, Math.floor((width - 32) / widest)))
  return { columns, height: Math.ceil(lines.length / columns) * LEGEND_ROW + 6 }
}

/** Makes one legend for each column, because space cannot be reserved for a legend that wraps by itself. */
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
