/**
 * `verbena/traffic`: traffic that a configuration describes, its distributions of sizes, arrivals, verbs and destinations, the schedule of
 * requests that follows from them and a seed, and records of their outcomes. Pure, and runs in browsers: the readers of files are in
 * `load`, connections in `run`.
 */

export { rateText, sizeText } from '../text/index.ts'
export { gapsAsked, sizeSlack, sizesAsked } from './asked.ts'
export { Cdf, type CdfPoint, type Interpolation, interpolations } from './cdf.ts'
export { Choice, joint, type Pair } from './choice.ts'
export { type CollectiveMessage, impossible, messagesOf } from './collectives.ts'
export {
  type Arrival,
  atomicBytes,
  type Collective,
  type CollectiveName,
  collectives,
  type Destinations,
  fanoutsOf,
  isAtomic,
  meanRequestBytes,
  meanSize,
  noFaults,
  type Phase,
  qpTypes,
  requestRate,
  type ServerAddress,
  type SizeSource,
  type TrafficConfig,
  type TrafficFaults,
  type TrafficQpType,
  type Verb,
  type VerbShare,
  verbs,
  verbsOfType,
  type Weighted,
} from './config.ts'
export { type CurvePoint, curveAt } from './curve.ts'
export { TrafficError, type TrafficErrorCode, trafficErrors } from './error.ts'
export { fitAllTraffic, fitTraffic, type SeenMessage, type SizeFit, type TrafficFit } from './fit.ts'
export type { ArrivalFit } from './fit-arrivals.ts'
export { requestLine, serverText } from './lines.ts'
export { mergeRecords, mostBins, type NamedRecord } from './merge.ts'
export { type PresetInfo, presetCdf, presets } from './presets.ts'
export { RandomStream } from './random.ts'
export {
  type Json,
  type RecordedCell,
  type RecordedSeries,
  type RecordedValues,
  sharedConfiguration,
  type TrafficRecord,
} from './record.ts'
export { type Request, Schedule } from './schedule.ts'
export { type SizeClass, sizeClasses, sizeLimits } from './size-classes.ts'
export { type Figures, type Generated, summaryOf, type Times, type TrafficSummary } from './summary.ts'
export { isTrafficGenerator, parseTrafficGenerator, type TextSettings } from './trafficgenerator.ts'
export { fromPlain, type PlainConfig, toPlain } from './transfer.ts'
export { bitsPerSecondOf, bytesOf, nanosecondsOf, perSecondOf } from './units.ts'
