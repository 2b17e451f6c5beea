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
  writeTimestamps,
} from './csv.ts'
export { REPORT_ERRORS, ReportError, type ReportErrorCode } from './errors.ts'
export { formatBytes, formatCount, formatNs, formatRate, formatShare } from './format.ts'
export { latencies, NSEC_PER_SEC } from './latencies.ts'
export {
  beginSaving,
  type LoadedRun,
  loadResults,
  saveResults,
} from './load.ts'
export { disturbance } from './machine.ts'
export { defaultPlotSettings } from './plot-settings.ts'
export { middleSets } from './repeats.ts'
export { type Report, type ReportOptions, renderReport, writeReport } from './report.ts'
export type {
  FlameNode,
  LatencySummary,
  Machine,
  PlotSettings,
  ResultsHead,
  ResultsOf,
  Run,
  SavedSet,
  Setting,
  TimedSet,
} from './results.ts'
export { eachSample, type NodeFiles, nodeFiles, readLatencies } from './samples.ts'
export type { AlgorithmResults, AlgorithmSet } from './sections/algorithms.ts'
export type { CollectiveResults, CollectiveSet } from './sections/collective-set.ts'
export type { LatencyResults, LatencySet } from './sections/latency.ts'
export type { NodeResults, NodeSet } from './sections/nodes.ts'
export type { Results, ToolResults, ToolSet } from './sections/registry.ts'
export { loadFlame, type SocketProfile, saveFlame } from './sections/socket-profiles.ts'
export type { SocketResults, SocketSet } from './sections/sockets.ts'
export type { ThroughputResults, ThroughputSet } from './sections/throughput.ts'
export {
  loadTrafficRecord,
  saveTrafficRecord,
  type TrafficResults,
  type TrafficSet,
} from './sections/traffic-set.ts'
export { type TerminalHistogramOptions, terminalHistogram } from './terminal.ts'
