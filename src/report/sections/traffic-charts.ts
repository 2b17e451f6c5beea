/**
 * Charts of generated traffic: requested sizes and gaps beside the generated ones, flow completion times and slowdown by size class, rates
 * over time.
 */

import { Cumulative, type Distribution } from '../../stats/index.ts'
import { curveAt, type Generated, sizeClasses, type Times } from '../../traffic/index.ts'
import { MAX_LINES } from '../charts/lines.ts'
import type { Line, LineSpec } from '../charts/spec.ts'
import { formatCount, formatShare, type Quantity } from '../format.ts'
import type { PlotSettings } from '../results.ts'
import type { TrafficEntry } from './traffic-set.ts'

/** Number of points of a distribution that is drawn. */
const POINTS = 240

/** Returns the name that distinguishes several results: the run; within one the number of the set. */
export function trafficName({ run, set }: TrafficEntry, entries: readonly TrafficEntry[]): string {
  const several = entries.some((other) => other.run === run && other.set !== set)
  return several ? `${run.label}, set ${set.id}` : run.label
}

export function generatedCharts(entries: readonly TrafficEntry[], plot: PlotSettings): LineSpec[] {
  const chart = (key: 'sizes' | 'gaps', spec: Pick<LineSpec, 'name' | 'title' | 'xName' | 'x'>): LineSpec[] => {
    const drawn = entries.flatMap((entry) => {
      const generated = entry.set.generated[key]
      return generated === null ? [] : [{ entry, generated }]
    })
    const lines = drawn.flatMap(({ entry, generated }) => {
      const xs = gridOf(generated)
      const name = (what: string): string => (entries.length > 1 ? `${trafficName(entry, entries)}, ${what}` : what)
      const below = shareBelow(generated.generated)
      const asked = generated.asked
      return [
        ...(asked === null
          ? []
          : [{ label: name('asked'), settings: {}, points: xs.map((x) => ({ x, y: curveAt(asked, x) })) }]),
        { label: name('generated'), settings: {}, points: xs.map((x) => ({ x, y: below(x) })) },
      ]
    })
    if (lines.length === 0) return []
    const [first] = drawn
    const subtitle = drawn.length === 1 ? fitText(first!.generated) : ''
    return curves({ ...spec, subtitle, yName: 'share', y: 'share', logarithmic: true }, lines, plot)
  }
  return [
    ...chart('sizes', { name: 'traffic-sizes', title: 'Sizes of flows', xName: 'bytes of a flow', x: 'bytes' }),
    ...chart('gaps', { name: 'traffic-gaps', title: 'Gaps between requests', xName: 'gap', x: 'ns' }),
  ]
}

/** Returns the deviation of the generated values from the requested distribution. */
function fitText({ ks, limit, generated }: Generated): string {
  if (ks === null || limit === null) return `${formatCount(generated.total)} drawn; no distribution is asked for`
  return `Shares are off by at most ${formatShare(ks)}; of draws from the distribution itself by more than ${formatShare(limit)} in 5 % of cases`
}

export function completionCharts(entries: readonly TrafficEntry[], plot: PlotSettings): LineSpec[] {
  const classes = classesOf(entries)
  const fct = { xName: 'flow completion time', x: 'ns', yName: 'share', y: 'share', logarithmic: true } as const
  const named = (
    pairs: readonly (readonly [string, Distribution | undefined])[],
  ): (readonly [string, Distribution])[] =>
    pairs.filter((pair): pair is [string, Distribution] => pair[1] !== undefined)
  const text = 'Flow completion time'
  const distributions =
    entries.length === 1
      ? curves(
          { ...fct, name: 'traffic-fct', title: `${text} by size`, subtitle: '' },
          cumulativeLines(named(classes.map((size) => [size, entries[0]!.set.fct[size]]))),
          plot,
        )
      : classes.flatMap((size, i) =>
          curves(
            { ...fct, name: `traffic-fct-${i + 1}`, title: `${text}, ${size}`, subtitle: '' },
            cumulativeLines(named(entries.map((entry) => [trafficName(entry, entries), entry.set.fct[size]]))),
            plot,
          ),
        )
  return [
    ...percentiles(entries, plot, 'fct', 'ns', 'Flow completion time over size', 'flow completion time'),
    ...percentiles(entries, plot, 'slowdown', 'plain', 'Slowdown over size', 'slowdown'),
    ...distributions,
  ]
}

const PERCENTILES = { p50: 'median', p99: '99 % are faster', p999: '99.9 % are faster' } as const

function percentiles(
  entries: readonly TrafficEntry[],
  plot: PlotSettings,
  what: 'fct' | 'slowdown',
  y: Quantity,
  title: string,
  yName: string,
): LineSpec[] {
  const categories = classesOf(entries)
  if (categories.length < 2) return []
  const lineOf = (entry: TrafficEntry, key: keyof Times, label: string): Line => ({
    label,
    settings: {},
    points: categories.flatMap((x) => {
      const times = entry.set.sizes[x]?.[what]
      return times === null || times === undefined || times[key] <= 0 ? [] : [{ x, y: times[key] }]
    }),
  })
  const chart = (name: string, text: string, lines: readonly Line[]): LineSpec[] =>
    chunked(lines).map((part, i, all) => ({
      kind: 'lines',
      name: all.length > 1 ? `${name}-${i + 1}` : name,
      title: text,
      subtitle: '',
      over: 'class',
      xName: 'size of the flow',
      yName,
      x: 'plain',
      y,
      width: plot.figure.width,
      height: plot.figure.height,
      lines: part,
      logarithmic: true,
      linearY: false,
      categories,
    }))
  const keys = Object.entries(PERCENTILES) as [keyof typeof PERCENTILES, string][]
  if (entries.length === 1)
    return chart(
      `traffic-${what}-sizes`,
      title,
      keys.map(([key, label]) => lineOf(entries[0]!, key, label)),
    )
  return keys.slice(0, 2).flatMap(([key, label]) =>
    chart(
      `traffic-${what}-${key}`,
      `${title}: ${label}`,
      entries.map((entry) => lineOf(entry, key, trafficName(entry, entries))),
    ),
  )
}

export function seriesCharts(entries: readonly TrafficEntry[], plot: PlotSettings): LineSpec[] {
  const chart = (
    name: string,
    title: string,
    y: Quantity,
    due: 'due' | 'dueBytes',
    done: 'done' | 'doneBytes',
    factor: number,
  ): LineSpec[] => {
    const lines = entries.flatMap(({ set, run }): Line[] => {
      const { binSeconds } = set.series
      // The last interval is one that the run did not fill.
      const line = (key: typeof due | typeof done, label: string): Line => ({
        label: entries.length > 1 ? `${trafficName({ set, run }, entries)}, ${label}` : label,
        settings: {},
        points: set.series[key]
          .slice(0, Math.max(1, Math.floor(set.seconds / binSeconds + 1e-9)))
          .map((value, i) => ({ x: (i + 0.5) * binSeconds, y: (value * factor) / binSeconds })),
      })
      return [line(due, 'asked'), line(done, 'complete')]
    })
    if (lines.every(({ points }) => points.length < 2)) return []
    return curves(
      { name, title, subtitle: '', xName: 'time from the start', x: 'seconds', yName: y, y, logarithmic: false },
      lines,
      plot,
    )
  }
  return [
    ...chart('traffic-rate', 'Data over time', 'bit/s', 'dueBytes', 'doneBytes', 8),
    ...chart('traffic-requests', 'Requests over time', 'requests/s', 'due', 'done', 1),
  ]
}

type CurveText = Pick<LineSpec, 'name' | 'title' | 'subtitle' | 'xName' | 'x' | 'yName' | 'y' | 'logarithmic'>

function curves(spec: CurveText, lines: readonly Line[], plot: PlotSettings): LineSpec[] {
  return chunked(lines.filter(({ points }) => points.length > 0)).map((part, i, all) => ({
    ...spec,
    kind: 'lines',
    name: all.length > 1 ? `${spec.name}-${i + 1}` : spec.name,
    over: spec.xName,
    width: plot.figure.width,
    height: plot.figure.height,
    lines: part,
    linearY: true,
    curve: true,
  }))
}

function chunked(lines: readonly Line[]): Line[][] {
  const count = Math.ceil(lines.length / MAX_LINES)
  return Array.from({ length: count }, (_, i) => lines.slice(i * MAX_LINES, (i + 1) * MAX_LINES))
}

/** Returns the size classes that have flows, in their order. */
function classesOf(entries: readonly TrafficEntry[]): string[] {
  return sizeClasses.filter((size) => entries.some(({ set }) => size in set.sizes))
}

/** Returns the function of x that gives the share of the values that are at most x. */
function shareBelow(distribution: Distribution): (x: number) => number {
  const cumulative = new Cumulative(distribution)
  return (x) => cumulative.below(Math.floor(x) + 1) / distribution.total
}

/** Returns values at which both distributions are drawn: where they bend or jump, and enough in between. */
function gridOf({ asked, generated }: Generated): number[] {
  const { min, max } = generated
  const [low, high] = [Math.max(0.5, min * 0.9), Math.max(1, max * 1.05)]
  const xs = new Set([low, high])
  for (let i = 1; i < POINTS; i++) xs.add(low * (high / low) ** (i / POINTS))
  // Both sides of a jump.
  for (const [i, [x, y]] of (asked ?? []).entries()) {
    const before = asked![i - 1]
    if (before !== undefined && y - before[1] > 0.01 && x - before[0] <= 1) for (const at of [x - 0.5, x]) xs.add(at)
  }
  return [...xs].filter((x) => x >= low && x <= high).sort((a, b) => a - b)
}

/**
 * Draws lines of several distributions through the same values, so that a pointer finds all of them; each from its smallest to its largest.
 */
function cumulativeLines(named: readonly (readonly [label: string, distribution: Distribution])[]): Line[] {
  const low = Math.max(1, Math.min(...named.map(([, { min }]) => min))) * 0.99
  const high = Math.max(low, ...named.map(([, { max }]) => max)) * 1.01
  const grid = Array.from({ length: POINTS + 1 }, (_, i) => low * (high / low) ** (i / POINTS))
  return named.map(([label, distribution]) => {
    const below = shareBelow(distribution)
    const points = grid.map((x) => ({ x, y: below(x) }))
    const from = points.findIndex(({ y }) => y > 0)
    const to = points.findIndex(({ y }) => y >= 1)
    return { label, settings: {}, points: points.slice(Math.max(0, from - 1), to + 1) }
  })
}
