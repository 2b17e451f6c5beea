/**
 * Medians against one setting, a line for each combination of the others, error bars over the central 80 %.
 */

import { medianOf } from '../../stats/index.ts'
import { MAX_LINES } from '../charts/lines.ts'
import type { Line, LineSpec } from '../charts/spec.ts'
import type { PlotSettings, Setting, TimedSet } from '../results.ts'
import {
  type Entry,
  groupBy,
  keyOf,
  labelOf,
  namesOf,
  RUN,
  settingNames,
  settingOf,
  settingsOf,
  sharedLabel,
  type TimedEntry,
} from '../settings.ts'

/** Settings by which a crowded chart is split, in this order. */
const SPLIT_ORDER = ['op', 'service', 'values', 'rate', 'device', 'stamp', 'inline', 'poll', RUN]

/** Returns the setting on the horizontal axis: the requested one, or the first varying number if that one does not vary. */
export function horizontalSetting(entries: readonly Entry[], over: string): string | null {
  const { varying } = settingNames(entries)
  if (varying.includes(over)) return over
  const isNumber = (key: string): boolean => entries.every((entry) => typeof settingOf(entry, key) === 'number')
  return varying.find((key) => key !== 'repeat' && key !== RUN && isNumber(key)) ?? null
}

/** Draws the charts. `missed`: share of steps that a generator missed, where the sets have one. */
export function medianCharts<S extends TimedSet>(
  entries: readonly Entry<S>[],
  over: string,
  plot: PlotSettings,
  missed?: (set: S) => number,
): LineSpec[] {
  const measured = entries.filter((entry) => entry.set.lat.count > 0 && settingOf(entry, over) !== undefined)
  if (measured.length === 0) return []
  const { varying } = settingNames(measured)
  const others = varying.filter((key) => key !== over && key !== 'repeat')
  const asked = plot.medians.lines.filter((key) => others.includes(key))
  const keys = asked.length > 0 ? [...asked, ...(others.includes(RUN) && !asked.includes(RUN) ? [RUN] : [])] : others
  const groups = [...groupBy(measured, (entry) => keyOf(entry, keys)).values()]
  const parts = splitGroups(groups, keys)
  return parts.map(({ groups: part, by }, index) => {
    const shown = part.flat()
    const where = by.length > 0 ? ` (${labelOf(shown[0]!, by)})` : ''
    // A setting that distinguishes lines of other charts may be the same in all lines of this one.
    const apart = settingNames(shown).varying
    const own = keys.filter((key) => apart.includes(key))
    const shared = sharedLabel(shown, [over, ...by])
    const names = namesOf(
      part.map(([first]) => first!),
      own,
    )
    const usual = names.usual === '' ? '' : `Unless named: ${names.usual}`
    return {
      kind: 'lines',
      ...overAxis(over),
      name: parts.length > 1 ? `medians-${index + 1}` : 'medians',
      title: `${plot.medians.title} over ${overAxis(over).xName}${where}`,
      subtitle: [
        shared,
        usual,
        `Bars: 10 % of the ${over === 'size' ? 'messages' : 'samples'} were faster, 10 % slower`,
      ]
        .filter((text) => text !== '')
        .join('. '),
      yName: 'latency',
      y: 'ns',
      width: plot.figure.width,
      height: plot.figure.height,
      lines: part.map((group) => ({
        label: names.of(group[0]!) || 'median',
        settings: settingsOf(group[0]!, keys),
        points: pointsOf(group, over, missed),
      })),
      logarithmic: plot.medians.logarithmic,
      linearY: false,
    }
  })
}

function overAxis(over: string): Pick<LineSpec, 'over' | 'xName' | 'x'> {
  if (over === 'size') return { over, xName: 'message size', x: 'bytes' }
  if (over === 'values') return { over, xName: 'values of a sample', x: 'plain' }
  return { over, xName: over, x: over === 'rate' ? 'Hz' : 'plain' }
}

/** Merges several sets at one position (repetitions) into one point: the medians of their figures. */
function pointsOf<S extends TimedSet>(
  group: readonly Entry<S>[],
  over: string,
  missed: ((set: S) => number) | undefined,
): Line['points'] {
  const places = groupBy(group, (entry) => keyOf(entry, [over]))
  return [...places.values()].map((sets) => {
    const share = missed ? medianOf(sets.map(({ set }) => missed(set))) : 0
    return {
      x: settingOf(sets[0]!, over) as Setting,
      y: medianOf(sets.map(({ set }) => set.lat.median)),
      low: medianOf(sets.map(({ set }) => set.lat.p10)),
      high: medianOf(sets.map(({ set }) => set.lat.p90)),
      ...(share > 0 && { missed: share }),
    }
  })
}

interface Part<E> {
  /** Entries of each line. */
  groups: E[][]
  /** Settings that all lines of this chart share and that its title names. */
  by: string[]
}

/** Splits a crowded chart by one setting after the other, until each part is readable. */
function splitGroups<E extends TimedEntry>(groups: E[][], keys: readonly string[], by: string[] = []): Part<E>[] {
  if (groups.length <= MAX_LINES) return [{ groups, by }]
  const valuesOf = (key: string): number => new Set(groups.map(([first]) => settingOf(first!, key))).size
  const rest = keys.filter((key) => !by.includes(key) && valuesOf(key) > 1)
  const key = SPLIT_ORDER.find((candidate) => rest.includes(candidate)) ?? rest[0]
  if (key === undefined) return [{ groups, by }]
  const parts = groupBy(groups, ([first]) => keyOf(first!, [key]))
  return [...parts.values()].flatMap((part) => splitGroups(part, keys, [...by, key]))
}
