/** Analysis of RDMA traffic in captures: check, show, info, convert. Other folders import from here only. */
export {
  bytesSource,
  type CaptureSink,
  type CaptureSource,
  type Damage,
  describeDamage,
  linkTypeName,
} from '../capture/index.ts'
export { useCrc32 } from '../wire/index.ts'
export { Analysis } from './analysis.ts'
export { Anonymiser, type KeyedHash } from './anonymise.ts'
export { type CheckOptions, type CheckResult, checkCapture, longestList } from './check.ts'
export { type ConvertOptions, type ConvertResult, convertCapture } from './convert.ts'
export { copiesText } from './copies.ts'
export { Datagrams } from './datagrams.ts'
export { type LineOptions, LinePrinter, notesOf, operationText, partOf } from './describe.ts'
export { directionRows, directionText } from './direction-text.ts'
export {
  computeIcrc,
  type DecodeAs,
  Dissection,
  dissect,
  IcrcState,
  Kind,
  rethOffset,
  type TraceOptions,
} from './dissect.ts'
export { type Filter, FilterError, parseFilter } from './filter.ts'
export { type FilterField, fieldNamed, filterFields } from './filter-fields.ts'
export { type Basis, Flow, type FlowLimits, Service, serviceNames } from './flow.ts'
export {
  analyseCapture,
  type CaptureInfo,
  type ConversationInfo,
  captureInfo,
  captureTotals,
  conversationInfo,
  type DirectionInfo,
  isFirstOfPair,
  pairingText,
} from './info.ts'
export { Latencies, type LatencyStore, type LatencySummary } from './latencies.ts'
export type { Layer, LayerField } from './layers.ts'
export { type AnalysedHandler, readAhead } from './look-ahead.ts'
export { layersOf } from './network-layers.ts'
export { addressLength, putIpv4Sum, putVcrc, sourceAt, transportPlaces, udpSum } from './places.ts'
export { Problem, problemNames, problemRules, problemTexts } from './problems.ts'
export { plainJson, type Row, rowOf } from './row.ts'
export { type ShowOptions, type ShowResult, showCapture } from './show.ts'
export type { LinePart, Paint } from './style.ts'
export { type TimeFormat, timeFormatNamed, timeFormats, utcText } from './time-text.ts'
export { portUses, tunnelNames } from './tunnels.ts'
export { hexLines, verboseLines } from './verbose.ts'
export { Mark, Verdict } from './verdict.ts'
