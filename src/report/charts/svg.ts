/**
 * From an echarts option to a string of SVG that stands alone: no script, no style sheet, nothing to fetch.
 */

import type { EChartsOption } from 'echarts'
import { init, setPlatformAPI } from 'echarts'
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

/** Widths of DejaVu Sans, in thousandths of the font size: the widest font that a browser takes for FONT. */
const WIDTHS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    278: 'ijl',
    295: 'IJ',
    318: ' ,.',
    337: ':;/\\|',
    352: 'f',
    361: '-',
    392: 'rt()[]',
    550: 'c',
    579: 'kvxyzs',
    611: 'FLTYZ',
    635: 'abdeghnopqu0123456789ESKPX$_',
    698: 'ABCRV',
    770: 'DGHNOQU',
    838: 'w+=<>~#·×±≈−',
    974: 'mMW',
    950: '%…→',
  }).flatMap(([width, letters]) => [...letters].map((letter) => [letter, Number(width) / 1000] as const)),
)

/**
 * Width of text in pixels, a little generous: enough to lay out a chart without a browser, whatever font the reader's has.
 * A letter that is not in the table is as wide as it is high.
 */
export function textWidth(text: string, fontSize: number = 12): number {
  let ems = 0
  for (const letter of text) ems += WIDTHS.get(letter) ?? 1
  return ems * fontSize
}

// echarts measures by the widths of Helvetica otherwise, and its boxes and legends are too narrow for other fonts.
setPlatformAPI({
  measureText: (text, font = '') => ({ width: textWidth(text, Number(/(\d+(?:\.\d+)?)px/.exec(font)?.[1] ?? 12)) }),
})

/** Text that is cut off at its end where it is wider than `width` pixels. */
export function fitted(text: string, width: number, fontSize: number = 12): string {
  if (textWidth(text, fontSize) <= width) return text
  const letters = [...text]
  while (letters.length > 1 && textWidth(`${letters.join('')}…`, fontSize) > width) letters.pop()
  return `${letters.join('').trimEnd()}…`
}

/** 1, 2, 5, 10, 20, 50 … within the limits; the limits themselves are rounded outwards to such numbers. */
export function decadeTicks(low: number, high: number): { min: number; max: number; ticks: number[] } {
  const ticksOf = (digits: readonly number[]): number[] => {
    const series: number[] = []
    for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.ceil(Math.log10(high)) + 1; e++)
      for (const digit of digits) series.push(Number(`${digit}e${e}`))
    const min = series.findLast((tick) => tick <= low)!
    const max = series.find((tick) => tick >= high && tick > min)!
    return series.filter((tick) => tick >= min && tick <= max)
  }
  // Above three decades the powers of ten are enough.
  const fine = ticksOf([1, 2, 5])
  const ticks = fine.length > 10 ? ticksOf([1]) : fine
  return { min: ticks[0]!, max: ticks.at(-1)!, ticks }
}
