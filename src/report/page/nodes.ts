/** Part of a report about node-types of the gateway. */
import type { ChartSpec, SurfaceSpec } from '../charts/spec.ts'
import { formatCount, formatHz, formatNs, formatNsTick, formatShare } from '../format.ts'
import { distributions } from '../plots/distributions.ts'
import { horizontalSetting, medianCharts, missedShare } from '../plots/medians.ts'
import { nodeComparison, nodeSurfaces } from '../plots/nodes.ts'
import { countText, middleSets } from '../repeats.ts'
import type { LatencySummary, PlotSettings } from '../results.ts'
import { labelOf, type NodeEntry, namesOf, settingNames, settingOf, settingsOf } from '../settings.ts'
import { type Headline, pairText } from './headline.ts'
import { folded, section } from './page.ts'
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
} from './tables.ts'

export interface NodeDrawing {
  charts(specs: readonly ChartSpec[], later?: boolean): string
  surfaces(specs: readonly SurfaceSpec[]): string
}

/** Number of sets above which folded pictures would make the page several megabytes large. */
const MOST_STILL = 24

export function nodeHeadline(entries: readonly NodeEntry[]): Headline {
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

export function nodeSections(
  entries: NodeEntry[],
  plot: PlotSettings,
  over: string | undefined,
  drawing: NodeDrawing,
  notes: string[],
): string[] {
  const drawn = distributions(entries, plot)
  notes.push(...drawn.notes)
  const axis = over ?? horizontalSetting(entries, plot.medians.over)
  const surfaces = nodeSurfaces(entries, plot)
  const [low, high] = plot.histogram.range
  return [
    section('node-types', 'Node-types', drawing.charts(nodeComparison(entries, plot))),
    section(
      'node-medians',
      'Medians',
      ...(axis === null
        ? []
        : [
            drawing.charts(medianCharts(entries, axis, plot)),
            '<p class="faint">At a point: the share of the steps that the generator missed, if it missed any.</p>',
          ]),
    ),
    section(
      'surfaces',
      'Rate and values together',
      surfaces.length === 0
        ? ''
        : '<p class="faint">Percentages: steps that the generator missed, where these are more than 5 %.</p>',
      drawing.surfaces(surfaces),
    ),
    section(
      'node-distributions',
      'Distributions',
      drawn.main.length > 0
        ? `<p class="faint">All pictures show ${formatNsTick(low)} to ${formatNsTick(high)} unless they say otherwise; the box says what lies beyond. The red lines are the medians. Missing: steps without a sample in the output, for whatever reason; not transmitted: samples that were generated and did not arrive.</p>`
        : '',
      drawing.charts(drawn.main),
      drawing.charts(drawn.zoomed),
      folded(`Histograms of all ${entries.length} runs`, drawing.charts(drawn.all, entries.length > MOST_STILL)),
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
