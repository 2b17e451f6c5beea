/** Data that a report passes to its page's script, as JSON. */

import type { Distribution } from '../../stats/index.ts'
import type { ChartSpec, HistogramSpec, SurfaceSpec } from '../charts/spec.ts'
import type { Setting } from '../results.ts'

export interface PageData {
  charts: ChartSpec[]
  surfaces: SurfaceSpec[]
  /** Settings that differ between the sets, with their values in the order in which they are offered. */
  settings: Record<string, Setting[]>
}

/** Several charts show the same distributions: each is stored once, and charts have its number. */
interface Packed extends PageData {
  distributions: Distribution[]
}

export function packed({ charts, surfaces, settings }: PageData): string {
  const numbers = new Map<Distribution, number>()
  const numberOf = (distribution: Distribution): number => {
    const number = numbers.get(distribution) ?? numbers.size
    numbers.set(distribution, number)
    return number
  }
  const replaced = charts.map((chart) =>
    // The page draws from distributions and does not need the bins of the picture.
    eachSeries(chart, ({ distribution, histogram, ...rest }) => ({
      ...rest,
      histogram: { ...histogram, counts: [] },
      distribution: numberOf(distribution),
    })),
  )
  return JSON.stringify({ charts: replaced, surfaces, settings, distributions: [...numbers.keys()] })
}

export function unpacked(json: string): PageData {
  const { charts, surfaces, settings, distributions } = JSON.parse(json) as Packed
  const numbered = (of: unknown): Distribution => distributions[of as number]!
  const replaced = charts.map((chart) =>
    eachSeries(chart, (series) => ({ ...series, distribution: numbered(series.distribution) })),
  )
  return { charts: replaced as ChartSpec[], surfaces, settings }
}

function eachSeries(
  chart: ChartSpec,
  change: (series: HistogramSpec['panels'][number]['series'][number]) => object,
): object {
  if (chart.kind !== 'histogram') return chart
  return { ...chart, panels: chart.panels.map((panel) => ({ ...panel, series: panel.series.map(change) })) }
}
