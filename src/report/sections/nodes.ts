/** Node-types of the gateway: `verbena bench node`. */
import { z } from 'zod'
import { medianOf } from '../../stats/index.ts'
import type { BarSpec, SurfacePoint, SurfaceSpec } from '../charts/spec.ts'
import { formatCount, formatHz, formatNs, formatNsTick, formatShare } from '../format.ts'
import { type Headline, pairText } from '../page/headline.ts'
import { folded, section } from '../page/page.ts'
import {
  type Cell,
  constantSettings,
  count,
  type Head,
  type Row,
  setCell,
  settingCell,
  settingHeads,
  table,
} from '../page/tables.ts'
import { type DistributionSource, distributions } from '../plots/distributions.ts'
import { medianCharts } from '../plots/medians.ts'
import { countText, middleSets } from '../repeats.ts'
import type { LatencySummary, PlotSettings, ResultsOf, Setting } from '../results.ts'
import { nodeFiles, readLatencies } from '../samples.ts'
import { count as counter, error, id, resultsSchema, settings, summaryOf } from '../schema-parts.ts'
import type { Canvas, ReportSection } from '../section.ts'
import {
  type Entry,
  groupBy,
  keyOf,
  labelOf,
  namesOf,
  settingNames,
  settingOf,
  settingsOf,
  sharedLabel,
} from '../settings.ts'

/** One run of `verbena bench node`: a node-type of the gateway at a rate. */
export interface NodeSet {
  id: string
  /** node, mode, values, rate (samples per second), timer, ends (processes, threads), repeat; of infiniband device, and what was swept. */
  settings: Record<string, Setting>
  /** Time from the step of the generator to the receipt, of the samples that arrived. */
  lat: LatencySummary
  /** Samples that were requested, and steps that were due until the run ended: fewer, if it was interrupted. */
  limit: number
  steps: number
  /** Steps for which the generator was too late. */
  missed: number
  /** Steps whose sample did not arrive, including those that were missed. */
  missing: number
  /** Samples that were generated and did not arrive: all, and those after the first one that did. */
  notTransmitted: number
  notTransmittedConnected: number
  /** Counters of the nodes under test, by name. */
  counts: { sender: Readonly<Record<string, number>>; receiver: Readonly<Record<string, number>> }
  error?: string
}

export type NodeResults = ResultsOf<'node', 'ns', NodeSet>

type NodeEntry = Entry<NodeSet>

const counts = z.record(z.string(), z.number()).readonly()

const set = z.object({
  id,
  settings,
  // Stamps are times of day, and the clock may be set back meanwhile.
  lat: summaryOf(z.number()),
  limit: counter,
  steps: counter,
  missed: z.number().int(),
  missing: z.number().int(),
  notTransmitted: counter,
  notTransmittedConnected: counter,
  counts: z.object({ sender: counts, receiver: counts }),
  error: error,
})

/** Number of sets above which folded pictures would make the page several megabytes large. */
const MOST_STILL = 24

function headline(entries: readonly NodeEntry[]): Headline {
  const whole = entries.filter(({ set }) => set.lat.count > 0)
  const median = ({ set }: NodeEntry): number => set.lat.median
  const measured = middleSets(whole, median).toSorted((a, b) => median(a) - median(b))
  const [best] = measured
  if (best === undefined) return { sentence: 'No sample arrived.', figures: [] }
  const { lat, settings } = best.set
  const keys = settingNames(measured).varying.filter((key) => key !== 'repeat')
  const which = labelOf(best, [...new Set(['node', 'mode', ...keys, 'values', 'rate'])])
  const slowest = measured.at(-1)!.set.lat.median
  const sentence =
    measured.length === 1
      ? `A sample takes ${formatNs(lat.median)} (median: ${which}).`
      : `The fastest of ${countText(measured.length, whole.length, 'runs')} takes ${formatNs(lat.median)} (median: ${which}); the slowest ${formatNs(slowest)}.`
  const sum = (of: (entry: NodeEntry) => number): number => entries.reduce((all, entry) => all + of(entry), 0)
  const steps = sum(({ set }) => set.steps)
  const share = (part: number): string => (steps > 0 ? ` (${formatShare(part / steps)})` : '')
  const [missed, lost] = [sum(({ set }) => set.missed), sum(({ set }) => set.notTransmitted)]
  return {
    sentence,
    figures: [
      [measured.length === 1 ? 'Median latency' : 'Best median', formatNs(lat.median)],
      ['Its central 80 %', pairText(lat.p10, lat.p90, ' to ')],
      ['At', formatHz(Number(settings.rate))],
      ['Missed steps', `${formatCount(missed)}${share(missed)}`],
      ['Generated, and lost', `${formatCount(lost)}${share(lost)}`],
    ],
  }
}

function parts(entries: readonly NodeEntry[], canvas: Canvas): string[] {
  const { plot } = canvas
  const drawn = distributions(entries, plot, source)
  canvas.notes.push(...drawn.notes)
  const axis = canvas.over(entries)
  const surfaces = nodeSurfaces(entries, plot)
  const [low, high] = plot.histogram.range
  return [
    section('node-types', 'Node-types', canvas.charts(nodeComparison(entries, plot))),
    section(
      'node-medians',
      'Medians',
      ...(axis === null
        ? []
        : [
            canvas.charts(medianCharts(entries, axis, plot, missedShare)),
            '<p class="faint">At a point: the share of the steps that the generator missed, if it missed any.</p>',
          ]),
    ),
    section(
      'surfaces',
      'Rate and values together',
      surfaces.length === 0
        ? ''
        : '<p class="faint">Percentages: steps that the generator missed, where these are more than 5 %.</p>',
      canvas.surfaces(surfaces),
    ),
    section(
      'node-distributions',
      'Distributions',
      drawn.main.length > 0
        ? `<p class="faint">All pictures show ${formatNsTick(low)} to ${formatNsTick(high)} unless they say otherwise; the box says what lies beyond. The red lines are the medians. Missing: steps without a sample in the output, for whatever reason; not transmitted: samples that were generated and did not arrive.</p>`
        : '',
      canvas.charts(drawn.main),
      canvas.charts(drawn.zoomed),
      folded(`Histograms of all ${entries.length} runs`, canvas.charts(drawn.all, entries.length > MOST_STILL)),
    ),
    section(
      'nodes',
      'All runs',
      '<p class="faint">Latencies in nanoseconds. Press a heading to sort.</p>',
      constantSettings(entries),
      nodeTable(entries),
    ),
  ]
}

function missedShare({ missed, steps }: NodeSet): number {
  return steps > 0 ? Math.max(0, missed / steps) : 0
}

const source: DistributionSource<NodeSet> = {
  summaryOf: (set, value) => (value === 'lat' ? set.lat : null),
  raw({ run, set }) {
    const { output } = nodeFiles(run.dir, set)
    return { path: output, values: () => readLatencies(output) }
  },
  labelOf: () => 'latency',
  facts: lossesOf,
}

/** Returns the samples that did not arrive, and the reasons. */
function lossesOf(set: NodeSet): string[] {
  const { steps, missed, missing, notTransmitted } = set
  const share = (count: number): string =>
    steps > 0 && count > 0 ? `${formatCount(count)} (${formatShare(count / steps)})` : formatCount(count)
  return [`missing ${share(missing)}, missed steps ${share(missed)}`, `not transmitted ${share(notTransmitted)}`]
}

const FIGURES = { median: 'median', p90: 'p90', p99: 'p99', max: 'max' } as const
const MORE_FIGURES = { min: 'min', p10: 'p10', p999: 'p99.9' } as const

function nodeTable(entries: readonly NodeEntry[]): string {
  const { varying } = settingNames(entries)
  const names = namesOf(entries, varying)
  const number = (text: string): Head => ({ text, number: true })
  const extra = (text: string): Head => ({ text, number: true, extra: true })
  const heads = [
    { text: 'run' },
    ...[...Object.values(FIGURES), 'missed', 'lost'].map(number),
    ...settingHeads(entries, varying),
    ...['steps', 'missed', 'missing', 'n', ...Object.values(MORE_FIGURES)].map(extra),
  ]
  const rows = entries.map((entry): Row => {
    const { lat, steps, missed, missing, notTransmitted } = entry.set
    const figures = (of: object): Cell[] =>
      Object.keys(of).map((key) => count(lat.count > 0 ? lat[key as keyof LatencySummary] : null))
    const share = missedShare(entry.set)
    return {
      settings: settingsOf(entry, varying),
      cells: [
        setCell(entry, names),
        ...figures(FIGURES),
        { text: formatShare(share), value: share, number: true },
        count(notTransmitted),
        ...varying.map((key) => settingCell(settingOf(entry, key))),
        ...[steps, missed, missing, lat.count].map(count),
        ...figures(MORE_FIGURES),
      ],
    }
  })
  return table(heads, rows, 'nodes-table')
}

/** Settings of the workload: node-types are compared where these are the same. */
const WORKLOAD = ['values', 'rate'] as const

/** Maximum number of rows of a picture that is still readable; the table has all. */
const MOST_ROWS = 16

/** Draws medians and 90th percentiles of all nodes, at the workload with which most of them were measured. */
function nodeComparison(entries: readonly NodeEntry[], plot: PlotSettings): BarSpec[] {
  const measured = entries.filter(({ set }) => set.lat.count > 0)
  const { varying } = settingNames(measured)
  const keys = varying.filter((key) => !WORKLOAD.includes(key as 'rate') && key !== 'repeat')
  const workloads = [...groupBy(measured, (entry) => keyOf(entry, WORKLOAD)).values()]
  const nodesOf = (group: readonly NodeEntry[]): NodeEntry[][] => [
    ...groupBy(group, (entry) => keyOf(entry, keys)).values(),
  ]
  const most = workloads.reduce((a, b) => (nodesOf(b).length > nodesOf(a).length ? b : a), [] as NodeEntry[])
  const nodes = nodesOf(most)
  if (nodes.length < 2) return []
  const names = namesOf(
    nodes.map(([first]) => first!),
    keys,
  )
  const rows = nodes
    .map((group) => ({
      label: names.of(group[0]!),
      settings: settingsOf(group[0]!, varying),
      values: [medianOf(group.map(({ set }) => set.lat.median)), medianOf(group.map(({ set }) => set.lat.p90))],
    }))
    .sort((a, b) => a.values[0]! - b.values[0]!)
  return [
    {
      kind: 'bars',
      name: 'node-types',
      title: `Node-types with ${labelOf(most[0]!, WORKLOAD).replace(', ', ' at ')}`,
      subtitle: [
        names.usual === '' ? '' : `Unless named: ${names.usual}`,
        rows.length > MOST_ROWS ? `The fastest ${MOST_ROWS} of ${rows.length}` : '',
      ]
        .filter((text) => text !== '')
        .join('. '),
      width: plot.figure.width,
      height: plot.figure.height,
      xName: 'latency',
      x: 'ns',
      names: ['median', '90 % were faster'],
      rows: rows.slice(0, MOST_ROWS),
    },
  ]
}

/** Draws a surface for each combination of the other settings that was measured with several rates and several numbers of values. */
function nodeSurfaces(entries: readonly NodeEntry[], plot: PlotSettings): SurfaceSpec[] {
  const measured = entries.filter(({ set }) => set.lat.count > 0)
  const { varying } = settingNames(measured)
  const keys = varying.filter((key) => !WORKLOAD.includes(key as 'rate') && key !== 'repeat')
  const groups = [...groupBy(measured, (entry) => keyOf(entry, keys)).values()].filter((group) =>
    WORKLOAD.every((key) => new Set(group.map(({ set }) => set.settings[key])).size > 1),
  )
  return groups.map((group, index): SurfaceSpec => {
    const [first] = group as [NodeEntry, ...NodeEntry[]]
    const label = labelOf(first, [...new Set(['node', 'mode', ...keys])])
    return {
      kind: 'surface',
      name: groups.length > 1 ? `surface-${index + 1}` : 'surface',
      title: `Median latency over rate and values: ${label}`,
      subtitle: sharedLabel(group, [...WORKLOAD, 'node', 'mode', ...keys]),
      width: plot.figure.width,
      height: Math.max(580, plot.figure.height),
      over: ['rate', 'values'],
      xName: 'rate',
      yName: 'values',
      zName: 'median',
      ...{ x: 'Hz', y: 'plain', z: 'ns' },
      settings: settingsOf(first, keys),
      points: [...groupBy(group, (entry) => keyOf(entry, WORKLOAD)).values()].map(pointOf),
    }
  })
}

/** Merges repetitions into one point: the medians of their figures. */
function pointOf(sets: readonly NodeEntry[]): SurfacePoint {
  const { rate, values } = sets[0]!.set.settings
  return {
    x: Number(rate),
    y: Number(values),
    z: medianOf(sets.map(({ set }) => set.lat.median)),
    missed: medianOf(sets.map(({ set }) => missedShare(set))),
  }
}

export const nodes: ReportSection<NodeResults> = {
  tool: 'node',
  schema: resultsSchema<NodeResults>('node', 'ns', set),
  // Plots as VILLASnode's benchmark draws its node-types.
  plot: () => ({
    figure: { width: 900, height: 420 },
    histogram: { title: 'Latency', range: [0, 50_000], bins: 100, values: ['lat'], logarithmic: true },
    medians: { title: 'Median latency', over: 'rate', lines: [], logarithmic: true },
  }),
  headline,
  parts,
}
