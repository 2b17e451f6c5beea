/** Rows of adjacent bars, each with its value: two ways to measure the same. */

import type { EChartsOption } from 'echarts'
import { formatExact, formatNs, formatTick } from '../format.ts'
import { type Chart, header } from './chart.ts'
import { COLOURS, FAINT, GRID, INK } from './colours.ts'
import type { BarSpec, View } from './spec.ts'
import { textWidth, wrapped } from './text.ts'
import { tipHtml, tooltip } from './tooltip.ts'

const BAR = 12
const LABEL_LINE = 15
const LEGEND = 26

/** Draws the chart. With a view it is one of the page, which has the title and the legend beside it. */
export function barChart(spec: BarSpec, view?: View): Chart {
  const width = view?.width ?? spec.width
  const rows = view ? spec.rows.filter((row) => view.chosen(row.settings)) : spec.rows
  const names = spec.names.map((name, index) => ({ name, index })).filter(({ name }) => !view?.hidden.has(name))
  const labelWidth = Math.min(width * 0.4, Math.max(60, ...rows.map(({ label }) => textWidth(label))))
  const labels = rows.map(({ label }) => wrapped(label, labelWidth))
  const rowHeight = Math.max(40, ...labels.map((lines) => lines.length * LABEL_LINE + 8))
  const top = view ? { bottom: 0 } : header(spec.title, spec.subtitle, width)
  const legend = {
    data: spec.names,
    left: 16,
    top: top.bottom + 8,
    padding: 0,
    itemHeight: 10,
    textStyle: { color: INK, fontSize: 12 },
  }
  const above = top.bottom + (view ? 8 : 8 + LEGEND)
  const option: EChartsOption = {
    ...('title' in top ? { title: top.title, legend } : {}),
    grid: { left: labelWidth + 28, right: 70, top: above, bottom: 54, containLabel: false },
    xAxis: {
      type: 'value',
      min: 0,
      name: spec.xName,
      nameLocation: 'middle',
      nameGap: 28,
      nameTextStyle: { color: INK },
      splitNumber: Math.max(2, Math.floor((width - labelWidth) / 120)),
      axisLabel: { color: FAINT, hideOverlap: true, formatter: (value: number) => formatTick(spec.x, value) },
      splitLine: { lineStyle: { color: GRID } },
    },
    yAxis: {
      type: 'category',
      inverse: true,
      data: labels.map((lines) => lines.join('\n')),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: FAINT } },
      axisLabel: { color: INK, fontSize: 12, lineHeight: LABEL_LINE, interval: 0 },
    },
    ...(view
      ? {
          tooltip: {
            ...tooltip((items) =>
              tipHtml(
                rows[items[0]?.dataIndex ?? 0]?.label ?? '',
                items.map(({ seriesName = '', value, color }) => ({
                  label: seriesName,
                  colour: String(color),
                  text: formatExact(spec.x, Number(value)),
                })),
              ),
            ),
            axisPointer: { type: 'none' as const },
          },
        }
      : {}),
    series: names.map(({ name, index }) => ({
      type: 'bar' as const,
      name,
      data: rows.map(({ values }) => values[index]!),
      color: COLOURS[index]!,
      itemStyle: { color: COLOURS[index]! },
      barGap: '10%',
      barWidth: BAR,
      silent: true,
      emphasis: { disabled: true },
      label: {
        show: true,
        position: 'right' as const,
        color: INK,
        fontSize: 11,
        formatter: ({ value }: { value?: unknown }) =>
          spec.x === 'ns' ? formatNs(Number(value)) : formatTick(spec.x, Number(value)),
      },
    })),
  }
  return {
    name: spec.name,
    title: spec.title,
    width,
    height: above + 54 + Math.max(1, rows.length) * rowHeight,
    option,
  }
}
