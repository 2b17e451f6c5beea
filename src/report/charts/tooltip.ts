/** Values under the pointer, as HTML that the chart library shows. */

import type { TooltipComponentOption } from 'echarts'
import { escapeHtml } from '../format.ts'
import { FAINT } from './colours.ts'

export interface TipRow {
  colour: string
  label: string
  text: string
}

/** Returns a spot of a line's colour: a picture, so that the colour rules of pictures apply to it. */
export function swatch(colour: string): string {
  return `<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><circle cx="5" cy="5" r="5" fill="${escapeHtml(colour)}"/></svg>`
}

export function tipHtml(head: string, rows: readonly TipRow[]): string {
  const lines = rows.map(
    ({ colour, label, text }) =>
      `<div class="tip-row">${swatch(colour)}<span>${escapeHtml(label)}</span><b>${escapeHtml(text)}</b></div>`,
  )
  return `<div class="tip-head">${escapeHtml(head)}</div>${lines.join('')}`
}

/** Entry that the library passes to a formatter. */
export interface TipItem {
  seriesName?: string
  seriesType?: string
  seriesIndex?: number
  axisIndex?: number
  dataIndex: number
  color?: unknown
  value?: unknown
}

/** Makes a tooltip; `show` receives the items under the pointer. */
export function tooltip(show: (items: TipItem[]) => string): TooltipComponentOption {
  return {
    trigger: 'axis',
    confine: true,
    transitionDuration: 0,
    className: 'tip',
    // The page's style sheet has the colours.
    backgroundColor: 'var(--card)',
    borderColor: 'var(--line)',
    textStyle: { color: 'var(--ink)', fontSize: 13 },
    axisPointer: { type: 'line', snap: true, lineStyle: { color: FAINT, type: 'dashed' }, label: { show: false } },
    formatter: (items) => show((Array.isArray(items) ? items : [items]) as unknown as TipItem[]),
  }
}
