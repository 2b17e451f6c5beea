/** RDMA data of a host: counters, the interfaces that carry RoCE, packets. Other folders import from here only. */
export {
  type LiveTraceOptions,
  openLive,
  type TraceLimits,
  type TraceResult,
  traceFrom,
  traceLive,
} from './collect-trace.ts'
export { type Finding, pathMtuOf } from './findings.ts'
export { csvHead, csvLines, exactJson, prometheusText, readingDocument } from './formats.ts'
export type { Device, Port, Reading } from './infiniband.ts'
export { type L2Interface, type L2Options, type L2Port, type L2Reading, readL2 } from './l2.ts'
export type { LiveCapture, LiveInterface } from './live.ts'
export { type Rate, type Rates, RateTracker } from './rates.ts'
export { type LeftOut, randomKey, type SelectionOptions, type Wanted } from './selection.ts'
export { SessionFolder } from './session.ts'
export { type HostOptions, type HostReading, readHost } from './snapshot.ts'
export { formatOf, type TraceFile, type TraceFilesOptions, type TraceFormat } from './trace-files.ts'
export type { TreeProblem } from './tree.ts'
