/** Drawing of chart specifications: the same for the pictures of a report and for its page. Pure. */

import { barChart } from './bars.ts'
import type { Chart } from './chart.ts'
import { histogramChart } from './histogram.ts'
import { lineChart } from './lines.ts'
import type { ChartSpec, View } from './spec.ts'

export { logarithmicAxes, scales } from './lines.ts'
export { extentOf, limitsOf } from './panels.ts'
export type { ChartSpec, HistogramForm, Settings, View } from './spec.ts'

/** Draws a chart; without a view, the still picture. */
export function chartOf(spec: ChartSpec, view?: View): Chart {
  if (spec.kind === 'lines') return lineChart(spec, view)
  return spec.kind === 'histogram' ? histogramChart(spec, view) : barChart(spec, view)
}
