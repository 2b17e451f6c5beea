/** The plot settings that a run is saved with; a person may edit the file and make the report again. */
import type { PlotSettings } from '../../report/index.ts'

const figure = { width: 900, height: 420 }

/** Returns the keys that have more than one value in these settings. */
export function varying(all: readonly object[]): string[] {
  const seen = new Map<string, Set<unknown>>()
  for (const settings of all) {
    for (const [key, value] of Object.entries(settings)) {
      const values = seen.get(key) ?? new Set()
      seen.set(key, values.add(value))
    }
  }
  return [...seen].filter(([, values]) => values.size > 1).map(([key]) => key)
}

/** Settings that make good axes, being numbers: the message size if it varies, else another one that does. */
const axes = ['size', 'pause', 'burst'] as const

export function latencyPlot(all: readonly object[]): PlotSettings {
  const vary = varying(all)
  const over = axes.find((key) => vary.includes(key)) ?? vary[0] ?? 'size'
  return {
    figure,
    histogram: { title: 'One-way latency', range: [0, 10_000], bins: 200, values: ['lat', 'comp'] },
    medians: { title: 'Median latency', over, lines: [], logarithmic: over === 'size' },
  }
}

/** Returns plots as VILLASnode's benchmark draws its node-types. */
export function nodePlot(): PlotSettings {
  return {
    figure,
    histogram: { title: 'Latency', range: [0, 50_000], bins: 100, values: ['lat'], logarithmic: true },
    medians: { title: 'Median latency', over: 'rate', lines: [], logarithmic: true },
  }
}

/** Returns plots as Viertel (2006) draws round trips. */
export function collectivePlot(): PlotSettings {
  return {
    figure,
    histogram: { title: 'Round trips', range: [0, 100_000], bins: 200, values: ['lat'] },
    medians: { title: 'Best round trip', over: 'processes', lines: [], logarithmic: false },
  }
}

/** Returns plots of the algorithms of collectives against the size. */
export function algorithmPlot(): PlotSettings {
  return {
    figure,
    histogram: { title: 'Calls', range: [0, 100_000], bins: 200, values: ['lat'] },
    medians: { title: 'Median time', over: 'size', lines: ['algorithm'], logarithmic: true },
  }
}

export function throughputPlot(): PlotSettings {
  return {
    figure,
    histogram: { title: 'Latency', range: [0, 10_000], bins: 200, values: ['lat', 'comp'] },
    medians: { title: 'Messages per second', over: 'concurrent', lines: ['technique'], logarithmic: true },
  }
}

export function socketPlot(): PlotSettings {
  return {
    figure,
    histogram: { title: 'Round trips', range: [0, 100_000], bins: 200, values: ['lat', 'comp'] },
    medians: { title: 'Throughput', over: 'size', lines: [], logarithmic: true },
  }
}
