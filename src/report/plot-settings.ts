import type { PlotSettings } from './results.ts'

/** Returns a fresh copy of the default settings, which apply where plot.json has none. */
export function defaultPlotSettings(): PlotSettings {
  return {
    figure: { width: 900, height: 420 },
    histogram: { title: 'Latency', range: [0, 10_000], bins: 200, values: ['lat', 'comp'] },
    medians: { title: 'Median latency', over: 'size', lines: [], logarithmic: true },
  }
}
