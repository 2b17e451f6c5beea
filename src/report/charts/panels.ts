/** Panels of a histogram's chart with the points that they show. */

import { binned, Cumulative, type Histogram } from '../../stats/index.ts'
import { COLOURS } from './colours.ts'
import type { HistogramForm, HistogramSeries, HistogramSpec, View } from './spec.ts'

/** Number of values at which distribution functions are computed. */
const SAMPLES = 360

export interface Panel {
  title: string
  series: (HistogramSeries & { bins: Bins; colour: string })[]
}

/** Horizontal positions of a series' points, and its heights in per cent. */
export interface Bins {
  edges: readonly number[]
  percents: Float64Array | number[]
}

/** Returns the limits of the axis: those of the view; otherwise of the specification, but of all values for the tail. */
export function limitsOf(spec: HistogramSpec, view?: View): [number, number] {
  let [low, high] = view?.zoom ?? spec.range
  if (!view?.zoom && view?.form === 'tail') [low, high] = extentOf(spec)
  // A logarithmic axis has no zero; below the smallest value there is nothing to see.
  if (view?.logX && low <= 0) low = Math.max(1, extentOf(spec)[0])
  return low < high ? [low, high] : [low, low + 1]
}

/** Returns the smallest and the largest of all values. */
export function extentOf({ panels, range }: HistogramSpec): [number, number] {
  const all = panels
    .flatMap(({ series }) => series.map(({ distribution }) => distribution))
    .filter(({ total }) => total > 0)
  if (all.length === 0) return [range[0], range[1]]
  return [Math.min(...all.map(({ min }) => min)), Math.max(...all.map(({ max }) => max)) + 1]
}

/** Returns the panels of the specification that the view shows. */
export function visiblePanels(
  spec: HistogramSpec,
  form: HistogramForm,
  range: readonly [number, number],
  logX: boolean,
  view: View | undefined,
): Panel[] {
  // A label has one colour in all panels.
  const labels = [...new Set(spec.panels.flatMap((panel) => panel.series.map((item) => item.label)))]
  const edges = edgesOf(range, form === 'histogram' ? spec.bins : SAMPLES, logX)
  return spec.panels
    .map(({ title, series }) => ({
      title,
      series: series
        .filter(({ label, settings }) => !view || (!view.hidden.has(label) && view.chosen(settings)))
        .map((item) => ({
          ...item,
          bins: view ? binsOf(item, form, edges) : exactBins(item.histogram),
          colour: COLOURS[labels.indexOf(item.label) % COLOURS.length]!,
        })),
    }))
    .filter(({ series }) => series.length > 0)
}

function edgesOf([low, high]: readonly [number, number], bins: number, logX: boolean): number[] {
  const ratio = high / low
  return Array.from({ length: bins + 1 }, (_, i) =>
    logX ? low * ratio ** (i / bins) : low + ((high - low) * i) / bins,
  )
}

function middleOf(low: number, high: number, logX: boolean): number {
  return logX ? Math.sqrt(low * high) : (low + high) / 2
}

function exactBins({ range, counts, total }: Histogram): Bins {
  return {
    edges: edgesOf(range, counts.length, false),
    percents: counts.map((count) => (100 * count) / Math.max(1, total)),
  }
}

function binsOf({ distribution }: HistogramSeries, form: HistogramForm, edges: readonly number[]): Bins {
  const percentOf = (count: number): number => (100 * count) / Math.max(1, distribution.total)
  if (form === 'histogram') return { edges, percents: binned(distribution, edges).counts.map(percentOf) }
  const cumulative = new Cumulative(distribution)
  const below = edges.map((edge) => cumulative.below(edge))
  if (form === 'cdf') return { edges, percents: below.map(percentOf) }
  return { edges, percents: below.map((count) => percentOf(distribution.total - count)) }
}

/**
 * Returns the points of a series. In the page: a point in the middle of each bin, so that the pointer finds it anywhere in the bin, and one
 * at either end. In a picture: a point where each step begins, so that pages with hundreds of histograms stay small.
 */
export function binPoints({ edges, percents }: Bins, live: boolean, logX: boolean): [number, number][] {
  const ends = [0, percents.length - 1].map((i): [number, number] => [edges[i === 0 ? 0 : i + 1]!, percents[i]!])
  const points = [...percents].map((percent, i): [number, number] => [
    live ? middleOf(edges[i]!, edges[i + 1]!, logX) : edges[i]!,
    percent,
  ])
  if (live) return [ends[0]!, ...points, ends[1]!]
  return [...points.filter(([, percent], i) => i === 0 || percent !== percents[i - 1]), ends[1]!]
}
