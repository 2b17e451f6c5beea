/** Rendering of a chart as a stand-alone string of SVG: no script, nothing to fetch; dark where its reader's system is. */

import { BarChart, CustomChart, LineChart } from 'echarts/charts'
import { GraphicComponent, GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from 'echarts/components'
import { init, setPlatformAPI, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import { escapeHtml } from '../format.ts'
import type { Chart } from './chart.ts'
import { INK, PAPER, pictureRules } from './colours.ts'
import { FONT, textWidth } from './text.ts'

use([BarChart, CustomChart, LineChart, SVGRenderer])
use([GraphicComponent, GridComponent, LegendComponent, MarkLineComponent, TitleComponent])

// Without this, echarts measures by the widths of Helvetica, and its boxes and legends are too narrow for other fonts.
setPlatformAPI({
  measureText: (text, font = '') => ({ width: textWidth(text, Number(/(\d+(?:\.\d+)?)px/.exec(font)?.[1] ?? 12)) }),
})

/** Draws a chart on white. The same chart gives the same text. */
export function renderSvg(chart: Chart): string {
  const { width, height, name } = chart
  const instance = init(null, null, { renderer: 'svg', ssr: true, width, height })
  let svg: string
  try {
    const { option } = chart
    instance.setOption({
      animation: false,
      backgroundColor: PAPER,
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
    .replace(/ d="(M[-\d. ML]{80,}Z?)"/g, (_, path: string) => ` d="${shortened(path)}"`)
    .replace('<svg ', `<svg role="img" aria-label="${escapeHtml(chart.title)}" `)
}

/** Shortens a path with H and V for horizontal and vertical lines: stepped outlines need half the text. */
function shortened(path: string): string {
  let [lastX, lastY] = ['', '']
  return path.replace(/([ML])(-?[\d.]+) (-?[\d.]+)/g, (whole, command: string, x: string, y: string) => {
    const short = command === 'M' ? whole : y === lastY ? `H${x}` : x === lastX ? `V${y}` : whole
    lastX = x
    lastY = y
    return short
  })
}

/** Returns a picture of the page as a file of its own. The picture in the page becomes dark by the page's style sheet. */
export function standalone(svg: string): string {
  const rules = pictureRules('', (_light, dark) => dark)
  return svg.replace(/(<svg [^>]*>)/, `$1<style>@media (prefers-color-scheme:dark){${rules}}</style>`)
}
