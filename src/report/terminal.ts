/**
 * A histogram for the terminal:
 *
 *     4.1 % │      █▃           ╭──────────────────────────╮
 *           │      ██▅          │ median 2.30 µs           │
 *           │     ▂███▂         │ 0.12 % above 10 µs       │
 *           └───────▲───────────────────────────────────────
 *           0        2 µs       4 µs      6 µs      10 µs
 */

import { type Histogram, histogram, summarize } from '../stats/index.ts'
import { significant, timeUnits, unitOf } from '../text/index.ts'
import { formatNs, formatNsTick, formatShare } from './format.ts'

export interface TerminalHistogramOptions {
  /** Columns of the whole picture; default 80, at least 40. */
  width?: number
  /** Rows of the bars; default 8. */
  height?: number
  /** Limits of the axis in nanoseconds; default [0, 10000]. */
  rangeNs?: readonly [number, number]
  /** Median in nanoseconds; computed if it is not given. */
  median?: number
  /** Title line above the picture. */
  title?: string
  /** Flag: ANSI colours; default false. */
  colour?: boolean
}

const EIGHTHS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
const MARGIN = 9

/** Draws latencies (nanoseconds; NaN is skipped) as lines of text, without a line feed at the end. */
export function terminalHistogram(
  values: Float64Array | readonly number[],
  options: TerminalHistogramOptions = {},
): string {
  const { height = 8, rangeNs = [0, 10_000], colour = false, title } = options
  const width = Math.max(40, Math.floor(options.width ?? 80))
  const columns = width - MARGIN - 1
  const counted = histogram(values, rangeNs, columns)
  if (counted.total === 0) return [...(title ? [title] : []), 'no values'].join('\n')
  const median = options.median ?? summarize(values).median
  const paint = (code: number, text: string): string =>
    colour && text !== '' ? `\u001b[${code}m${text}\u001b[39m` : text

  const top = counted.counts.reduce((most, count) => Math.max(most, count), 0)
  const eighths = Array.from(counted.counts, (count) => {
    const share = top === 0 ? 0 : (count / top) * height * 8
    // A bin with any value is visible.
    return count > 0 ? Math.max(1, Math.round(share)) : 0
  })
  const rows = Array.from({ length: height }, (_, row) =>
    eighths.map((level) => EIGHTHS[Math.min(8, Math.max(0, level - (height - 1 - row) * 8))]!),
  )
  const box = boxLines(counted, median)
  const place = boxPlace(eighths, box, height)
  const lines = title ? [title] : []
  if (place === null) lines.push(...box.map((line) => ' '.repeat(MARGIN + 1) + line))
  for (const [row, cells] of rows.entries()) {
    const label = row === 0 ? formatShare(top / counted.total).padStart(MARGIN - 1) : ''
    const boxLine = place === null ? undefined : box[row]
    const bars = (from: number, to: number): string => paint(36, cells.slice(from, to).join(''))
    const drawn =
      boxLine === undefined || place === null
        ? bars(0, columns)
        : bars(0, place) + boxLine + bars(place + boxLine.length, columns)
    lines.push(`${label.padEnd(MARGIN)}│${drawn}`)
  }
  lines.push(axisLine(columns, rangeNs, median, paint), tickLine(columns, rangeNs))
  return lines.map((line) => line.trimEnd()).join('\n')
}

function boxLines(counted: Histogram, median: number): string[] {
  const text = [
    `median ${formatNs(median)}`,
    `${formatShare(counted.above / counted.total)} above ${formatNsTick(counted.range[1])}`,
    `maximum ${formatNs(counted.max)}`,
  ]
  const inner = Math.max(...text.map((line) => line.length))
  const rule = '─'.repeat(inner + 2)
  return [`╭${rule}╮`, ...text.map((line) => `│ ${line.padEnd(inner)} │`), `╰${rule}╯`]
}

/** Returns the column of the box: a corner where it covers no bar, or null if it must stand above the picture. */
function boxPlace(eighths: readonly number[], box: readonly string[], height: number): number | null {
  const width = box[0]!.length
  if (box.length > height || width + 2 > eighths.length) return null
  const free = (height - box.length) * 8
  for (const start of [eighths.length - width, 1]) {
    if (eighths.slice(start, start + width).every((level) => level <= free)) return start
  }
  return null
}

function axisLine(
  columns: number,
  [low, high]: readonly [number, number],
  median: number,
  paint: (code: number, text: string) => string,
): string {
  const at = Math.min(columns - 1, Math.floor(((median - low) / (high - low)) * columns))
  if (median < low || median > high) return `${' '.repeat(MARGIN)}└${'─'.repeat(columns)}`
  return `${' '.repeat(MARGIN)}└${'─'.repeat(at)}${paint(31, '▲')}${'─'.repeat(columns - at - 1)}`
}

/** Formats a tick in the unit of the highest one. */
function tickText(ns: number, high: number): string {
  const [unit, size] = unitOf(high, timeUnits)
  return ns === 0 ? '0' : `${significant(ns / size, 3)} ${unit}`
}

function tickLine(columns: number, [low, high]: readonly [number, number]): string {
  const count = columns >= 60 ? 5 : 2
  const cells = Array.from({ length: MARGIN + 1 + columns }, () => ' ')
  let free = 0
  for (let i = 0; i <= count; i++) {
    const label = tickText(low + ((high - low) * i) / count, high)
    const centre = MARGIN + Math.round((columns * i) / count)
    const start = Math.min(cells.length - label.length, Math.max(MARGIN, centre - Math.floor(label.length / 2)))
    if (start < free) continue
    for (const [k, char] of [...label].entries()) cells[start + k] = char
    free = start + label.length + 1
  }
  return cells.join('')
}
