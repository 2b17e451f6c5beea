/**
 * Reports from saved results: statistics, the files, charts and the page. A pure library: it measures nothing and depends on
 * no other part of Verbena, so that a run can be plotted again, compared with another, or checked by a program.
 */

export { type Histogram, histogram, medianOf, percentile, summarize } from '../stats/index.ts'
export {
  CSV_HEADER,
  readTimestamps,
  type TimestampColumns,
  type Timestamps,
  writeRepetitions,
  writeRoundTrips,
  writeSocketTable,
  writeTimestamps,
} from './csv.ts'
export { REPORT_ERRORS, ReportError, type ReportErrorCode } from './errors.ts'
export { formatBytes, formatCount, formatNs, formatRate, formatShare } from './format.ts'
export { latencies, NSEC_PER_SEC } from './latencies.ts'
export {
  type LoadedRun,
  loadFlame,
  loadResults,
  loadTrafficRecord,
  saveFlame,
  saveResults,
  saveTrafficRecord,
} from './load.ts'
export { disturbance } from './machine.ts'
export { defaultPlotSettings } from './plot-settings.ts'
export { middleSets } from './repeats.ts'
export { type Report, type ReportOptions, renderReport, writeReport } from './report.ts'
export type {
  AlgorithmResults,
  AlgorithmSet,
  CollectiveResults,
  CollectiveSet,
  FlameNode,
  LatencyResults,
  LatencySet,
  LatencySummary,
  Machine,
  NodeResults,
  NodeSet,
  PlotSettings,
  Results,
  ResultsHead,
  Setting,
  SocketProfile,
  SocketResults,
  SocketSet,
  ThroughputResults,
  ThroughputSet,
  TrafficResults,
  TrafficSet,
} from './results.ts'
export { eachSample, type NodeFiles, nodeFiles, readLatencies } from './samples.ts'
export { type TerminalHistogramOptions, terminalHistogram } from './terminal.ts'
