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
import { fixed, inUnits, significant, timeUnits } from '../../text/index.ts'
import { formatCount, formatNsTick, formatShare } from '../format.ts'
import { Boxes, textAt } from './boxes.ts'
import { type Chart, header } from './chart.ts'
import { FAINT, GRID, INK, MEDIAN_RED } from './colours.ts'
import { binPoints, limitsOf, type Panel, visiblePanels } from './panels.ts'
import type { HistogramForm, HistogramSpec, View } from './spec.ts'
import { fitted } from './text.ts'
import { decadeTicks } from './ticks.ts'
import { type TipItem, tipHtml, tooltip } from './tooltip.ts'

const BOTTOM = 54
const PANEL_GAP = 22
const PANEL_TITLE = 24
const LEFT = 62
const RIGHT = 24
/** Dash patterns of the medians, the first solid: red alone does not identify the distribution. */
const DASHES = ['solid', 'dashed', 'dotted', [8, 3, 2, 3]] as const

/** Draws the chart. With a view it is one of the page, which has the title and the legend beside it. */
export function histogramChart(spec: HistogramSpec, view?: View): Chart {
  const width = view?.width ?? spec.width
  const form = view?.form ?? 'histogram'
  const logX = view?.logX ?? false
  const range = limitsOf(spec, view)
  const panels = visiblePanels(spec, form, range, logX, view)
  const single = panels.length === 1
  const panelTitle = panels.some((panel) => panel.title !== '') ? PANEL_TITLE : 4
  const boxes = new Boxes(panels, width - LEFT - RIGHT, formatNsTick(spec.range[1]))
  const top = view ? { bottom: 4 } : header(spec.title, spec.subtitle, width)
  const above = top.bottom + 8
  // Boxes stand side by side in a corner of their panel: several rows need more height.
  const plotHeight = single
    ? Math.max(180, spec.height - above - BOTTOM - panelTitle)
    : Math.max(132, form === 'histogram' ? 0 : 180, ...panels.map((panel) => boxes.heightInside(panel) * 1.6))
  const beforePlot = panelTitle + boxes.heightAbove(panels)
  const pitch = beforePlot + plotHeight + PANEL_GAP
  const height = above + Math.max(1, panels.length) * pitch - PANEL_GAP + BOTTOM
  const logY = form === 'tail' || (form === 'histogram' && (view?.logY ?? spec.logY ?? false))
  const floor = logY ? lowestShare(panels) : 0
  const places = panels.map((panel) => boxes.place(panel, form, plotHeight, floor))
  const series: LineSeriesOption[] = []
  const graphic: GraphicComponentOption[] = []
  const axisLabel = { color: FAINT, fontSize: 11 }

  for (const [index, panel] of panels.entries()) {
    const panelTop = above + beforePlot + index * pitch
    if (panel.title) {
      const text = fitted(panel.title, width - LEFT - RIGHT, 13)
      graphic.push(textAt(LEFT, panelTop - beforePlot + 3, text, { fontSize: 12, fontWeight: 600, fill: INK }))
    }
    for (const [n, item] of panel.series.entries())
      series.push(panelSeries(item, form, range, { logX, live: view !== undefined, floor }, n, index))
    graphic.push(...boxes.draw(panel, LEFT, panelTop, places[index]!))
  }
  const xTicks = logX
    ? decadeTicks(Math.max(range[0], 0.1), range[1]).ticks.filter((x) => x >= range[0] && x <= range[1])
    : []
  const option: EChartsOption = {
    ...('title' in top ? { title: top.title } : {}),
    grid: panels.map((_, index) => ({
      left: LEFT,
      right: RIGHT,
      top: above + beforePlot + index * pitch,
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
          splitLine: { lineStyle: { color: GRID } },
        }) as XAXisComponentOption,
    ),
    yAxis: panels.map(
      (_, index) =>
        ({
          type: logY ? 'log' : 'value',
          gridIndex: index,
          min: floor,
          max: form === 'histogram' ? places[index]!.axisMax : 100,
          splitNumber: single ? 5 : 2,
          axisLabel: {
            ...axisLabel,
            showMaxLabel: form !== 'histogram',
            // The space for the boxes may reach above 100 %.
            formatter: (value: number) => (value > 100 ? '' : `${significant(value, 3)} %`),
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

/** Returns the begin of a logarithmic axis: a power of ten below the share of one message. */
function lowestShare(panels: readonly Panel[]): number {
  const most = Math.max(1, ...panels.flatMap(({ series }) => series.map(({ distribution }) => distribution.total)))
  return 100 / 10 ** Math.ceil(Math.log10(most))
}

/** Draws the outline of a histogram as one stepped line: a path instead of a rectangle for each bin. */
function panelSeries(
  item: Panel['series'][number],
  form: HistogramForm,
  range: readonly [number, number],
  { logX, live, floor }: { logX: boolean; live: boolean; floor: number },
  n: number,
  panel: number,
): LineSeriesOption {
  const { histogram, median, label, bins, colour } = item
  const { edges, percents } = bins
  const data: [number, number | null][] =
    form === 'histogram'
      ? // Nothing is below the begin of a logarithmic axis.
        binPoints(bins, live, logX).map(([x, percent]) => [x, Math.max(percent, floor)])
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

function tip(panels: readonly Panel[], form: HistogramForm, items: readonly TipItem[]): string {
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

/** Formats a limit between two values: a tenth of a nanosecond is enough. */
function exactNs(ns: number): string {
  return inUnits(ns, timeUnits, (few) => (Number.isInteger(few) ? String(few) : fixed(few, 1)))
}
