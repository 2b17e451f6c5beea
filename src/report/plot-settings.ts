import type { PlotSettings } from './results.ts'

/** A fresh copy of the settings that are used where plot.json says nothing. */
export function defaultPlotSettings(): PlotSettings {
  return {
    figure: { width: 900, height: 420 },
    histogram: { title: 'Latency', range: [0, 10_000], bins: 200, values: ['lat', 'comp'] },
    medians: { title: 'Median latency', over: 'size', lines: [], logarithmic: true },
  }
}
