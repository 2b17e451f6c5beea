/** The benchmarks: one-way latency, throughput, and sockets. What a command line, a test or another program needs of them. */
export { type LatencyRun, runLatency } from './latency.ts'
export type { SettingOption } from './option.ts'
export { spreadPin } from './pinning.ts'
export { varying } from './plots.ts'
export { combinations, exclusion, type LeftOut, type Limits, makePlan, type Plan, planLatency } from './product.ts'
export { Progress } from './progress.ts'
export { datedDirectory } from './results-dir.ts'
export {
  type GivenOptions,
  type LatencyLists,
  type LatencySettings,
  latencyOptions,
  parseLatencyLists,
} from './settings.ts'
export { runSockets, type SocketRun } from './sockets/run.ts'
export {
  maxSocketSizeBytes,
  parseSocketLists,
  profileCombinations,
  type SocketSettings,
  socketCombinations,
  socketExclusion,
  socketOptions,
  socketTestTexts,
} from './sockets/settings.ts'
export { runThroughput, type ThroughputRun } from './throughput.ts'
export {
  parseThroughputLists,
  type ThroughputSettings,
  techniqueTexts,
  throughputCombinations,
  throughputExclusion,
  throughputOptions,
} from './throughput-settings.ts'
