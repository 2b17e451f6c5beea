/** Common parts of all charts. */

import type { EChartsOption } from 'echarts'
import { FAINT, INK } from './colours.ts'
import { wrapped } from './text.ts'

export interface Chart {
  name: string
  title: string
  /** Pixels. */
  width: number
  height: number
  option: EChartsOption
}

/** Markers that distinguish lines without colour. */
export const SYMBOLS: readonly string[] = ['circle', 'rect', 'triangle', 'diamond']

const TITLE_FONT = 15
const TITLE_LINE = 20
const SUBTITLE_LINE = 17
const SIDE = 16

export interface Header {
  title: NonNullable<EChartsOption['title']>
  /** Pixels from the top to the end of the header. */
  bottom: number
}

/** Lays out title and subtitle above a chart, in as many lines as they need. */
export function header(title: string, subtitle: string, width: number): Header {
  const room = width - 2 * SIDE
  // Bold letters are wider than those of the table.
  const titleLines = wrapped(title, room / 1.12, TITLE_FONT)
  const subtitleLines = subtitle === '' ? [] : wrapped(subtitle, room)
  return {
    title: {
      text: titleLines.join('\n'),
      ...(subtitleLines.length > 0 ? { subtext: subtitleLines.join('\n') } : {}),
      left: SIDE,
      top: 10,
      padding: 0,
      itemGap: 4,
      textStyle: { fontSize: TITLE_FONT, lineHeight: TITLE_LINE, color: INK },
      subtextStyle: { fontSize: 12, lineHeight: SUBTITLE_LINE, color: FAINT },
    },
    bottom:
      10 + titleLines.length * TITLE_LINE + (subtitleLines.length > 0 ? 4 : 0) + subtitleLines.length * SUBTITLE_LINE,
  }
}
