/** Choice of the histograms to draw: all of a small run, a selection of a large one, the same settings of several runs together. */

import { distributionOf, histogram } from '../../stats/index.ts'
import type { HistogramPanel, HistogramSeries, HistogramSpec } from '../charts/spec.ts'
import { ReportError } from '../errors.ts'
import type { LatencySummary, PlotSettings, TimedSet } from '../results.ts'
import {
  type Entry,
  groupBy,
  keyOf,
  namesOf,
  RUN,
  settingNames,
  settingsOf,
  sharedLabel,
  type TimedEntry,
} from '../settings.ts'

/** Maximum number of panels that are shown at once; the others are below, folded. */
const MAX_PANELS = 8
const PANELS_PER_PICTURE = 6

/** Settings by which a choice is made, the most significant first. The smallest size stands for all. */
const CHOICE_ORDER = [
  'node',
  'mode',
  'op',
  'service',
  'device',
  'poll',
  'inline',
  'stamp',
  'pollComp',
  'unsignaled',
  'engine',
  'burst',
  'pause',
  'rate',
]

export interface Distributions {
  /** Pictures that are shown at once. */
  main: HistogramSpec[]
  /** Same panels up to the slowest usual message, when the range is much wider than that, or ends far below. */
  zoomed: HistogramSpec[]
  /** All other pictures; empty when `main` shows all. */
  all: HistogramSpec[]
  /** Distributions that could not be drawn, with the reason. */
  notes: string[]
}

type Value = PlotSettings['histogram']['values'][number]

/** Raw data of a kind of sets. */
export interface DistributionSource<S extends TimedSet> {
  /** Returns the figures of one of the latencies; null if the set does not have it. */
  summaryOf(set: S, value: Value): LatencySummary | null
  /** Reads the latencies of a set. */
  raw(entry: Entry<S>): { path: string; values(value: Value): Float64Array }
  labelOf(value: Value): string
  /** Returns lines for the box beside the histogram. */
  facts?(set: S): string[]
}

export function distributions<S extends TimedSet>(
  entries: readonly Entry<S>[],
  plot: PlotSettings,
  source: DistributionSource<S>,
): Distributions {
  const notes: string[] = []
  const measured = entries.filter((entry) => entry.set.lat.count > 0)
  const { varying } = settingNames(measured)
  const own = varying.filter((key) => key !== RUN)
  // One panel for each combination of settings; with several runs it holds the sets of all of them.
  const groups = [...groupBy(measured, (entry) => keyOf(entry, own)).values()]
  const chosen = choose(groups)
  const zoom = zoomRange(chosen, plot, source)
  const drawn = new Map<Entry<S>[], HistogramSeries[]>()
  const again = new Map<Entry<S>[], HistogramSeries[]>()
  for (const group of groups) {
    const parts = group.flatMap((entry) => read(entry, group.length > 1, plot, notes, varying, source))
    if (parts.length === 0) continue
    const within = (range: [number, number]): HistogramSeries[] =>
      parts.map(({ values, ...part }) => ({ ...part, histogram: histogram(values, range, binsFor(range, plot)) }))
    drawn.set(group, within(plot.histogram.range))
    if (zoom && chosen.includes(group)) again.set(group, within(zoom))
  }
  const { title } = plot.histogram
  const pictures = (
    name: string,
    text: string,
    list: Entry<S>[][],
    from: typeof drawn,
    most: number,
  ): HistogramSpec[] => {
    const some = list.filter((group) => from.has(group))
    const count = Math.ceil(some.length / most)
    return Array.from({ length: count }, (_, index) => {
      const part = some.slice(index * most, (index + 1) * most)
      // Settings that all panels of this picture share are named once.
      const apart = settingNames(part.flat()).varying
      const keys = own.filter((key) => apart.includes(key))
      const names = namesOf(
        part.map(([first]) => first!),
        keys,
      )
      const usual = names.usual === '' ? '' : `Unless named: ${names.usual}`
      const panels: HistogramPanel[] = part.map((group) => ({
        title: names.of(group[0]!),
        series: from.get(group)!,
      }))
      const { range, counts } = panels[0]!.series[0]!.histogram
      return {
        kind: 'histogram',
        name: count > 1 ? `${name}-${index + 1}` : name,
        title: count > 1 ? `${text} (${index + 1} of ${count})` : text,
        subtitle: [sharedLabel(part.flat()), usual].filter((text) => text !== '').join('. '),
        width: plot.figure.width,
        height: plot.figure.height,
        range,
        bins: counts.length,
        ...(plot.histogram.logarithmic === true && { logY: true }),
        panels,
      }
    })
  }
  const all = chosen.length === groups.length ? [] : groups
  return {
    main: pictures('histogram', title, chosen, drawn, MAX_PANELS),
    zoomed: pictures(
      'histogram-zoom',
      `${title}, ${zoom && zoom[1] > plot.histogram.range[1] ? 'wider' : 'enlarged'}`,
      chosen,
      again,
      MAX_PANELS,
    ),
    all: pictures('histograms', `${title}, all sets`, all, drawn, PANELS_PER_PICTURE),
    notes,
  }
}

/**
 * Returns at most MAX_PANELS groups that show the variety: the settings are added one after the other as long as their combinations fit,
 * and each combination is represented by its smallest size.
 */
function choose<E extends TimedEntry>(groups: readonly E[][]): E[][] {
  if (groups.length <= MAX_PANELS) return [...groups]
  const size = (group: E[]): number => Number(group[0]!.set.settings.size ?? group[0]!.set.settings.values ?? 0)
  const pick = (keys: readonly string[]): E[][] =>
    [...groupBy(groups, (group) => keyOf(group[0]!, keys)).values()].map((alike) =>
      alike.reduce((best, group) => (size(group) < size(best) ? group : best)),
    )
  let keys: string[] = []
  for (const key of CHOICE_ORDER) {
    if (pick([...keys, key]).length <= MAX_PANELS) keys = [...keys, key]
  }
  return pick(keys)
}

/**
 * Returns other limits if the requested ones do not show the shape: when most messages lie in their first quarter, or half of them beyond.
 * The limit is a round number above the p99, but not so far beyond the median that a few slow messages compress the rest.
 */
function zoomRange<S extends TimedSet>(
  groups: readonly Entry<S>[][],
  plot: PlotSettings,
  source: DistributionSource<S>,
): [number, number] | null {
  const [low, high] = plot.histogram.range
  const shown = groups
    .flat()
    .flatMap(({ set }) => plot.histogram.values.flatMap((value) => source.summaryOf(set, value) ?? []))
  const slowest = Math.max(0, ...shown.map(({ median, p99 }) => Math.min(p99, 4 * median)))
  const beyond = shown.some(({ median }) => median > high)
  if (slowest === 0 || (slowest > low + (high - low) / 4 && !beyond)) return null
  const step = 10 ** Math.floor(Math.log10(slowest))
  const limit = Math.ceil((slowest * 1.2) / (step / 2)) * (step / 2)
  return limit > low && (limit < high || beyond) ? [low, limit] : null
}

/** Returns the requested number of bins; fewer in the enlarged range, so that each holds as many whole nanoseconds as the others. */
function binsFor(range: readonly [number, number], plot: PlotSettings): number {
  const { bins } = plot.histogram
  const span = range[1] - range[0]
  if (range === plot.histogram.range) return bins
  for (let n = Math.min(bins, span); n >= bins / 4; n--) if (span % n === 0) return n
  return bins
}

interface Part extends Omit<HistogramSeries, 'histogram'> {
  values: Float64Array
}

function read<S extends TimedSet>(
  entry: Entry<S>,
  severalRuns: boolean,
  plot: PlotSettings,
  notes: string[],
  varying: readonly string[],
  source: DistributionSource<S>,
): Part[] {
  const { run, set } = entry
  try {
    const raw = source.raw(entry)
    const parts: Part[] = []
    for (const value of plot.histogram.values) {
      const summary = source.summaryOf(set, value)
      if (!summary || summary.count === 0) continue
      const values = raw.values(value)
      if (values.length !== summary.count) {
        notes.push(`${raw.path} holds ${values.length} latencies (${value}), run.json says ${summary.count}.`)
      }
      const label = source.labelOf(value)
      parts.push({
        label: severalRuns ? `${label}, ${run.label}` : label,
        settings: settingsOf(entry, varying),
        median: summary.median,
        ...(source.facts && { facts: source.facts(set) }),
        values,
        distribution: distributionOf(values),
      })
    }
    return parts
  } catch (error) {
    if (!(error instanceof ReportError)) throw error
    notes.push(`No histogram of set ${set.id}: ${error.message}.`)
    return []
  }
}
