/**
 * Counters of RDMA devices in one vocabulary: their meanings, their names in drivers, their changes between two readings, and the
 * text that Prometheus reads. Pure: `collect` reads them from a host. Other folders import from here only.
 */
export {
  type DriverName,
  driverOf,
  hardwareCounter,
  legacyCounter,
  type Mapping,
  type NetdevMapping,
  netdevCounter,
  type Overflow,
  portCounter,
} from './drivers.ts'
export { type MetricLabels, MetricsText, metricsType } from './metrics-text.ts'
export { type Change, type CounterRules, change, largest, perSecond, Series, type Step } from './rates.ts'
export { type CounterMeaning, metricName, type Unit, vocabulary } from './vocabulary.ts'
