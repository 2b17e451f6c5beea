/** Bandwidth and latency between two processes, with perftest's options and columns: `verbena perf`. */
export { brokenLimits, type Limits, latencyNames, parseLatencyLimits } from './limits.ts'
export type { EndReport, Flow, LatencyStatistics } from './protocol.ts'
export { type PercentileName, percentileNames } from './recorder.ts'
export { type Measured, type PerfResults, type PerfRun, type PerfSession, runPerf } from './session.ts'
export {
  type AtomicType,
  allSizes,
  atomicTypes,
  type Connection,
  checkSettings,
  connections,
  defaultIters,
  type EndSettings,
  isLatency,
  maxQps,
  type PerfSettings,
  type PerfTest,
  perfTests,
  verbOf,
} from './settings.ts'
export { banner, heading, rows, title } from './table.ts'
