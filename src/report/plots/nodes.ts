/** Charts of the benchmark of node-types: all of them side by side, and medians over rate and number of values as a surface. */
import { medianOf } from '../../stats/index.ts'
import type { BarSpec, SurfacePoint, SurfaceSpec } from '../charts/spec.ts'
import type { PlotSettings } from '../results.ts'
import { groupBy, keyOf, labelOf, type NodeEntry, namesOf, settingNames, settingsOf, sharedLabel } from '../settings.ts'
import { missedShare } from './medians.ts'

/** Settings of the workload: node-types are compared where these are the same. */
const WORKLOAD = ['values', 'rate'] as const

/** Maximum number of rows of a picture that is still readable; the table has all. */
const MOST_ROWS = 16

/** Draws medians and 90th percentiles of all nodes, at the workload with which most of them were measured. */
export function nodeComparison(entries: readonly NodeEntry[], plot: PlotSettings): BarSpec[] {
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
export function nodeSurfaces(entries: readonly NodeEntry[], plot: PlotSettings): SurfaceSpec[] {
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
