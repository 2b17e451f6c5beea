/**
 * RDMA traffic as it happens: connections followed in bounded memory, windows of exact counters and sketches, queries of them, and their
 * anomalies. Pure: packets come as `capture` delivers them. Other folders import from here only.
 */
export { type AgentState, Agents, type AgentsOptions } from './agents.ts'
export { type AlertEvent, type AlertRule, Alerts, alertMetrics, metricOf, parseAlert } from './alerts.ts'
export { type Anomaly, type AnomalyKind, anomaliesOf, anomalyTexts } from './anomalies.ts'
export {
  type AnswerOptions,
  answerOf,
  cutAnswer,
  type EventAnswer,
  type FlowLatencyAnswer,
  flowLatenciesOf,
  type LatencyAnswer,
  type MessageAnswer,
  type PauseAnswer,
  usualKeys,
  type WindowAnswer,
} from './answer.ts'
export type { Burst } from './burst.ts'
export { burstsOf, burstText, curveOf } from './bursts.ts'
export { decodeWindow, describeWindow, encodeWindow, mostWindowBytes } from './bytes.ts'
export type { Change } from './changes.ts'
export {
  type Bounds,
  boundsHold,
  type CompareOptions,
  Comparer,
  type Comparison,
  type CountComparison,
  type KeyComparison,
  type QuantileComparison,
} from './compare.ts'
export {
  leastSketchBytes,
  type MonitorConfig,
  type MonitorOptions,
  monitorConfig,
  mostSketchBytes,
  mostWindowMs,
  planDifference,
  type WindowPlan,
  windowVersion,
} from './config.ts'
export { MonitorError, type MonitorErrorCode } from './error.ts'
export {
  type CounterName,
  counterNames,
  type EventName,
  eventNames,
  eventTexts,
  type Totals,
} from './events.ts'
export { Budget, ExactWindow } from './exact.ts'
export {
  type Key,
  type KeyField,
  type KeyFields,
  type KeyName,
  keyNames,
  keyTexts,
  nameOfKey,
  parseKey,
} from './key.ts'
export { mergeWindow } from './merge.ts'
export { Merger, type MergerOptions } from './merger.ts'
export type { Message } from './messages.ts'
export { MonitorMetrics } from './metrics.ts'
export { Observer, type ObserverOptions } from './observer.ts'
export { OneView } from './one-view.ts'
export { timeOf } from './packet-time.ts'
export { type Measure, type Query, type QueryAnswer, query, type Row } from './query.ts'
export { Shares } from './share.ts'
export { plainText } from './text.ts'
export { mostFlowLatencies, type Part, Window } from './window.ts'
export type { Witness } from './witness.ts'
