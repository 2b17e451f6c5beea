/** Configurations: libconfig, JSON, and their meaning. */
export { type Expansion, expand } from './expand.ts'
export { readGateway } from './gateway.ts'
export { readHooks } from './hooks.ts'
export { ignored } from './ignored.ts'
export { parseJson } from './json.ts'
export { parseLibconfig } from './libconfig.ts'
export type { Include } from './libconfig-scanner.ts'
export {
  type MappedValues,
  type Mapping,
  mappingText,
  nodeName,
  parseMapping,
  resolveMapping,
  type StatsMetric,
  type StatsType,
  statsMetrics,
  statsTypes,
} from './mapping.ts'
export { commonOfNode, settingsOfNode } from './node.ts'
export { pathText } from './path.ts'
export { Budget, limits as configurationLimits, Places, refuseText, type SourceText } from './places.ts'
export type { KnownUuids, Reading } from './reading.ts'
export type {
  DirectionConfig,
  GatewayConfig,
  HookConfig,
  HttpConfig,
  LogLevel,
  NodeConfig,
  Notice,
  PathConfig,
} from './types.ts'
