/** Boxes in the corner of a panel, or above it where it is narrow: figures that a picture which ends at the limit does not show. */

import type { GraphicComponentOption } from 'echarts'
import { formatNs, formatShare } from '../format.ts'
import { BOX_LINE, INK, PAPER } from './colours.ts'
import type { Panel } from './panels.ts'
import type { HistogramForm, HistogramPanel, HistogramSeries } from './spec.ts'
import { FONT, fitted, textWidth } from './text.ts'

function boxText({ histogram, label, median, facts = [] }: HistogramSeries, limit: string, narrow: boolean): string[] {
  if (histogram.total === 0) return [label, 'no values', ...facts]
  const share = `${formatShare(histogram.above / histogram.total)} above ${limit}`
  const most = `max. ${formatNs(histogram.max)}`
  return [label, `median ${formatNs(median)}`, ...(narrow ? [share, most] : [`${share}, ${most}`]), ...facts]
}

/** Position of the boxes of a panel, and the height of the axis at which they cover nothing. */
interface BoxPlace {
  /** Pixels from the left and from the top of the plot. */
  x: number
  y: number
  /** Upper end of the axis, per cent. */
  axisMax: number
}

const BOX_LINE_HEIGHT = 16
const BOX_GAP = 6
const BOX_PADDING = 24
const BOX_FONT = 11.5
/** Minimum width of a plot, pixels: a narrower one would show little beside the boxes. */
const LEAST_PLOT = 480

/** Boxes of one size for all panels, side by side as far as there is space. */
export class Boxes {
  readonly #limit: string
  readonly #plotWidth: number
  readonly #width: number
  readonly #columns: number
  readonly #narrow: boolean
  readonly #lines: number
  readonly #isAbove: boolean

  constructor(panels: readonly HistogramPanel[], plotWidth: number, limit: string) {
    this.#limit = limit
    this.#plotWidth = plotWidth
    const room = plotWidth - 2 * BOX_GAP
    const widthOf = (narrow: boolean): number => {
      const lines = panels.flatMap(({ series }) => series.map((item) => boxText(item, limit, narrow)))
      const figures = lines.flatMap(([, ...rest]) => rest)
      const longest = Math.max(...figures.map((line) => textWidth(line, BOX_FONT)))
      // A label may have half as much again; the page's legend has all of it.
      const labels = Math.min(longest * 1.5, Math.max(...lines.map(([label = '']) => textWidth(label, BOX_FONT))))
      return Math.ceil(Math.max(narrow ? 120 : 200, longest, labels) + BOX_PADDING + 2)
    }
    this.#isAbove = plotWidth < LEAST_PLOT
    const several = this.#isAbove ? Math.min(2, Math.max(...panels.map(({ series }) => series.length))) : 1
    const fits = (narrow: boolean): boolean => several * (widthOf(narrow) + BOX_GAP) - BOX_GAP <= room
    // Two narrow boxes above a plot take less of the height than two wide ones.
    this.#narrow = widthOf(false) > room || (!fits(false) && fits(true))
    this.#width = Math.min(room, widthOf(this.#narrow))
    const texts = panels.flatMap(({ series }) => series.map((item) => boxText(item, limit, this.#narrow).length))
    this.#lines = Math.max(this.#narrow ? 4 : 3, ...texts)
    this.#columns = Math.max(1, Math.min(2, Math.floor((room + BOX_GAP) / (this.#width + BOX_GAP))))
  }

  #boxHeight(): number {
    return this.#lines * BOX_LINE_HEIGHT + 12
  }

  /** Returns the height in pixels, with the gaps, of boxes that cover a part of the plot; 0 if they stand above it. */
  heightInside(panel: HistogramPanel): number {
    return this.#isAbove ? 0 : this.#heightOf(panel)
  }

  /** Returns the pixels between the title of a panel and its plot, for the boxes of each panel if they stand there. */
  heightAbove(panels: readonly HistogramPanel[]): number {
    return this.#isAbove ? Math.max(0, ...panels.map((panel) => this.#heightOf(panel))) : 0
  }

  #heightOf(panel: HistogramPanel): number {
    return Math.ceil(panel.series.length / this.#columns) * (this.#boxHeight() + BOX_GAP) + BOX_GAP
  }

  /**
   * Places the boxes in the corner in which they need less space above the data; the right one when both are alike. `floor`: begin of a
   * logarithmic axis, per cent; 0 for a linear one.
   */
  place(panel: Panel, form: HistogramForm, plotHeight: number, floor: number): BoxPlace {
    const columns = Math.min(this.#columns, panel.series.length)
    const width = columns * (this.#width + BOX_GAP) + BOX_GAP
    const height = this.#heightOf(panel)
    if (this.#isAbove) {
      const most = form === 'histogram' ? highest(panel, 0, 1) * (floor > 0 ? 1.5 : 1.05) : 100
      return { x: 0, y: -height, axisMax: most || 1 }
    }
    const leftX = BOX_GAP
    const rightX = this.#plotWidth - width + BOX_GAP
    // A distribution function is high on the right, a tail low.
    if (form !== 'histogram')
      return { x: rightX, y: form === 'cdf' ? plotHeight - height + BOX_GAP : BOX_GAP, axisMax: 100 }
    const room = 1 - Math.min(0.75, (height + BOX_GAP) / plotHeight)
    const peak = highest(panel, 0, 1)
    const share = width / this.#plotWidth
    // The axis is high enough that bars of height `most` stay below the boxes.
    const below = (most: number): number =>
      floor > 0 ? floor * (Math.max(most, floor) / floor) ** (1 / room) : most / room
    const clear = floor > 0 ? peak * 1.5 : peak * 1.05
    const right = Math.max(clear, below(highest(panel, 1 - share, 1)))
    const left = Math.max(clear, below(highest(panel, 0, share)))
    return { x: right <= left ? rightX : leftX, y: BOX_GAP, axisMax: Math.min(right, left) || 1 }
  }

  draw(panel: Panel, left: number, top: number, place: BoxPlace): GraphicComponentOption[] {
    const width = this.#width
    const height = this.#boxHeight()
    return panel.series.map((item, n) => {
      const frame = { fill: PAPER, stroke: BOX_LINE, lineWidth: 1 }
      const lines = boxText(item, this.#limit, this.#narrow).map((line) => fitted(line, width - BOX_PADDING, BOX_FONT))
      return {
        type: 'group',
        x: left + place.x + (n % this.#columns) * (width + BOX_GAP),
        y: top + place.y + Math.floor(n / this.#columns) * (height + BOX_GAP),
        silent: true,
        children: [
          { type: 'rect', z: 100, shape: { width, height, r: 3 }, style: frame },
          { type: 'rect', z: 100, shape: { width: 4, height }, style: { fill: item.colour } },
          textAt(14, 8, lines.join('\n'), { fontSize: BOX_FONT, lineHeight: BOX_LINE_HEIGHT, fill: INK }),
        ],
      } as GraphicComponentOption
    })
  }
}

/** Returns the highest bin, in per cent, between two positions on the axis (0 to 1). */
function highest(panel: Panel, from: number, to: number): number {
  let most = 0
  for (const { percents } of panel.series.map(({ bins }) => bins)) {
    const bins = percents.length
    for (let i = Math.max(0, Math.floor(from * bins)); i < Math.min(bins, Math.ceil(to * bins)); i++) {
      most = Math.max(most, percents[i]!)
    }
  }
  return most
}

export function textAt(x: number, y: number, text: string, style: object): GraphicComponentOption {
  return {
    type: 'text',
    x,
    y,
    z: 101,
    silent: true,
    style: { text, fontFamily: FONT, ...style },
  } as GraphicComponentOption
}
