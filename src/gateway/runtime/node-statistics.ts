/**
 * Statistics of a node in memory that all threads share: the thread in which the node's hook `stats` is writes them now and then, and
 * nodes of other threads read them. A figure is a double for each metric and type; NaN until there is one.
 */
import { type Statistics, type StatsMetric, type StatsType, statsMetrics, statsTypes } from '../index.ts'

const metrics = Object.keys(statsMetrics) as StatsMetric[]

export function newNodeStatistics(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(metrics.length * statsTypes.length * 8)
  new Float64Array(buffer).fill(Number.NaN)
  return buffer
}

/** Writes the metrics that have values: hooks of both directions may know different ones. */
export function writeNodeStatistics(figures: Float64Array, statistics: Statistics): void {
  let at = 0
  for (const metric of metrics) {
    const known = statistics.get(metric, 'total') > 0
    for (const type of statsTypes) {
      if (known) figures[at] = statistics.get(metric, type)
      at++
    }
  }
}

export function readNodeStatistic(figures: Float64Array, metric: StatsMetric, type: StatsType): number {
  return figures[metrics.indexOf(metric) * statsTypes.length + statsTypes.indexOf(type)]!
}
