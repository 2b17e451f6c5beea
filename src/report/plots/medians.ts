/**
 * Medians against one setting, a line for each combination of the others, error bars over the central 80 %.
 */

import { medianOf } from '../../stats/index.ts'
import { type Line, type LineChart, lineChart, MAX_LINES } from '../charts/lines.ts'
import type { Chart } from '../charts/svg.ts'
import { formatBytes, formatCount, formatNsTick } from '../format.ts'
import type { PlotSettings, Setting } from '../results.ts'
import { groupBy, keyOf, type LatencyEntry, labelOf, RUN, settingNames, settingOf } from '../settings.ts'

/** Settings by which a crowded chart is taken apart, in this order. */
const SPLIT_ORDER = ['op', 'service', 'device', 'stamp', 'inline', 'poll', RUN]

/** Latencies from here on are shown with units. */
const longestNs = 100_000

interface KeyedLine {
  line: Line
  /** A set of the line, for its settings. */
  example: LatencyEntry
}

/** The setting on the horizontal axis: the one that is asked for, or the first varying number when that one does not vary. */
export function horizontalSetting(entries: readonly LatencyEntry[], over: string): string | null {
  const { varying } = settingNames(entries)
  if (varying.includes(over)) return over
  const isNumber = (key: string): boolean => entries.every((entry) => typeof settingOf(entry, key) === 'number')
  return varying.find((key) => key !== 'repeat' && key !== RUN && isNumber(key)) ?? null
}

export function medianCharts(entries: readonly LatencyEntry[], over: string, plot: PlotSettings): Chart[] {
  const measured = entries.filter((entry) => entry.set.lat.count > 0 && settingOf(entry, over) !== undefined)
  if (measured.length === 0) return []
  const { varying } = settingNames(measured)
  const others = varying.filter((key) => key !== over && key !== 'repeat')
  const asked = plot.medians.lines.filter((key) => others.includes(key))
  const keys = asked.length > 0 ? [...asked, ...(others.includes(RUN) && !asked.includes(RUN) ? [RUN] : [])] : others
  const lines = [...groupBy(measured, (entry) => keyOf(entry, keys)).values()].map((group) => ({
    example: group[0]!,
    line: { label: labelOf(group[0]!, keys) || 'median', points: pointsOf(group, over) },
  }))
  const parts = splitLines(lines, keys)
  return parts.map(({ lines: part, by }, index) => {
    const where = by.length > 0 ? ` (${labelOf(part[0]!.example, by)})` : ''
    const name = parts.length > 1 ? `medians-${index + 1}` : 'medians'
    const own = keys.filter((key) => !by.includes(key))
    // Longer numbers have no room beside the axis, and nobody reads them.
    const inUnits = part.some(({ line }) => line.points.some(({ y, high = y }) => high >= longestNs))
    return lineChart({
      ...overAxis(over),
      name,
      title: `${plot.medians.title} over ${over === 'size' ? 'message size' : over}${where}`,
      subtitle: 'Bars: 10 % of the messages were faster, 10 % slower',
      yName: inUnits ? 'latency' : 'latency, ns',
      width: plot.figure.width,
      height: plot.figure.height,
      lines: part.map(({ line, example }) => ({ ...line, label: labelOf(example, own) || 'median' })),
      logarithmic: plot.medians.logarithmic,
      formatY: inUnits ? formatNsTick : formatCount,
    })
  })
}

export function overAxis(over: string): Pick<LineChart, 'xName' | 'formatX'> {
  if (over === 'size') return { xName: 'message size', formatX: formatBytes }
  return { xName: over, formatX: (x) => String(x) }
}

/** Several sets at one place (repeats) become one point: the medians of their figures. */
function pointsOf(group: readonly LatencyEntry[], over: string): Line['points'] {
  const places = groupBy(group, (entry) => keyOf(entry, [over]))
  return [...places.values()].map((sets) => ({
    x: settingOf(sets[0]!, over) as Setting,
    y: medianOf(sets.map((entry) => entry.set.lat.median)),
    low: medianOf(sets.map((entry) => entry.set.lat.p10)),
    high: medianOf(sets.map((entry) => entry.set.lat.p90)),
  }))
}

interface Part {
  lines: KeyedLine[]
  /** Settings that all lines of this chart share and that its title names. */
  by: string[]
}

/** Takes a crowded chart apart by one setting after the other, until each part can be read. */
function splitLines(lines: KeyedLine[], keys: readonly string[], by: string[] = []): Part[] {
  if (lines.length <= MAX_LINES) return [{ lines, by }]
  const valuesOf = (key: string): number => new Set(lines.map(({ example }) => settingOf(example, key))).size
  const rest = keys.filter((key) => !by.includes(key) && valuesOf(key) > 1)
  const key = SPLIT_ORDER.find((candidate) => rest.includes(candidate)) ?? rest[0]
  if (key === undefined) return [{ lines, by }]
  const groups = groupBy(lines, ({ example }) => keyOf(example, [key]))
  return [...groups.values()].flatMap((group) => splitLines(group, keys, [...by, key]))
}
