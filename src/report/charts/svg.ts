/**
 * From an echarts option to a string of SVG that stands alone: no script, no style sheet, nothing to fetch.
 */

import type { EChartsOption } from 'echarts'
import { init } from 'echarts'
import { escapeHtml } from '../format.ts'

/** Okabe and Ito's colours, which people with any colour vision can tell apart; without the red of the medians. */
export const COLOURS: readonly string[] = [
  ...['#0072b2', '#e69f00', '#009e73', '#aa4499', '#56b4e9', '#444444', '#8c6d1f', '#88cc88'],
]
export const MEDIAN_RED = '#d01c2b'
export const INK = '#24292f'
export const FAINT = '#6b7280'
export const GRID = '#e5e7eb'
/** One family of metrics on every system, close to what echarts assumes when it measures text without a browser. */
export const FONT = 'Helvetica, Arial, Liberation Sans, sans-serif'

/** Markers, so that lines can be told apart without colour. */
export const SYMBOLS: readonly string[] = ['circle', 'rect', 'triangle', 'diamond']

export interface Chart {
  /** File name without ending; also the prefix of the ids inside, so that many charts can share a page. */
  name: string
  /** What the chart shows, for those who do not see it. */
  title: string
  /** Pixels. */
  width: number
  height: number
  option: EChartsOption
}

/** Draws a chart on white. The same chart gives the same text. */
export function renderSvg(chart: Chart): string {
  const { width, height, name } = chart
  const instance = init(null, null, { renderer: 'svg', ssr: true, width, height })
  let svg: string
  try {
    const { option } = chart
    instance.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      textStyle: { fontFamily: FONT, color: INK },
      ...option,
    })
    svg = instance.renderToSVGString()
  } finally {
    // An instance that is not disposed of keeps the process alive.
    instance.dispose()
  }
  // Hover effects and hit areas mean nothing in a still picture; ids count up for the whole process.
  return svg
    .replace(/<style\s*>[\s\S]*?<\/style>\n?/g, '')
    .replace(/ (?:class="[^"]*"|pointer-events="[^"]*"|ecmeta_\w+="[^"]*")/g, '')
    .replace(/(id="|url\(#)zr\d+-/g, `$1${name}-`)
    .replace('<svg ', `<svg role="img" aria-label="${escapeHtml(chart.title)}" `)
}

/** Width of text in pixels, a little generous: enough to lay out a legend without a browser. */
export function textWidth(text: string, fontSize = 12): number {
  return text.length * fontSize * 0.58
}

/** 1, 2, 5, 10, 20, 50 … within the limits; the limits themselves are rounded outwards to such numbers. */
export function decadeTicks(low: number, high: number): { min: number; max: number; ticks: number[] } {
  const series: number[] = []
  for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.ceil(Math.log10(high)) + 1; e++) {
    for (const digit of [1, 2, 5]) series.push(Number(`${digit}e${e}`))
  }
  const min = series.findLast((tick) => tick <= low)!
  const max = series.find((tick) => tick >= high && tick > min)!
  const all = series.filter((tick) => tick >= min && tick <= max)
  // Above three decades the powers of ten are enough.
  const ticks =
    all.length > 10 ? all.filter((tick) => Number.isInteger(Math.log10(tick)) || tick === min || tick === max) : all
  return { min, max, ticks }
}
