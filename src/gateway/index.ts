/**
 * The gateway of real-time samples, without I/O: samples, signals, formats, hooks, interfaces of nodes. Other folders import from here
 * only.
 */
export { type CompareOptions, type Difference, differenceOf, SampleReader } from './compare.ts'
export * from './config/index.ts'
export { Converter, type ConvertOptions } from './convert.ts'
export { GatewayError, type GatewayErrorCode } from './errors.ts'
export { type Decoder, type Encoder, type Framing, longestRest } from './formats/codec.ts'
export { type Format, formatNames, formatOf } from './formats/registry.ts'
export { Grid } from './grid.ts'
export { HookChain } from './hooks/chain.ts'
export {
  type Hook,
  type HookContext,
  type HookHash,
  type HookOutput,
  type HookType,
  Verdict,
} from './hooks/hook.ts'
export { luaUnloaded } from './hooks/lua.ts'
export { type HookKit, type HookModule, moduleHook } from './hooks/module.ts'
export { type HookOptions, hooksOf, hookTypes } from './hooks/registry.ts'
export { type MetricSummary, Statistics, type StatisticsOptions } from './hooks/statistics.ts'
export { IndexQueue } from './index-queue.ts'
export type {
  Clock,
  Destination,
  NodeCommon,
  NodeContext,
  NodeType,
  ParsedNode,
  RunningNode,
  Source,
} from './node-type.ts'
export { PickedSamples } from './picked-samples.ts'
export { Pool, type PoolShare } from './pool.ts'
export { describeProblem, type Problem, type Problems } from './problems.ts'
export { SampleField, SampleFlag, Samples } from './samples.ts'
export { type SecretSettings, Secrets } from './secrets.ts'
export {
  isGroup,
  type PlaceOf,
  type Settings,
  SettingsReader,
  type TakenInside,
} from './settings.ts'
export { mostSignals, type Signal, SignalType, signalsOf, signalTypeNames } from './signals.ts'
export { StreamBytes } from './stream-bytes.ts'
export { stepsBehind, type TimeOfDay, timeOfDay } from './time-of-day.ts'
export { missingTypes } from './villas-only.ts'
export { addTime, copySample } from './words.ts'
