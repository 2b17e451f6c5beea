/** `verbena/gateway`: the gateway as it runs, and configurations for it. Other folders import from here only. */
export {
  GatewayError,
  type GatewayErrorCode,
  type NodeConfig,
  type Notice,
  type PathConfig,
  type PlaceOf,
  type Settings,
} from '../index.ts'
export { checkSettings, type LoadedConfig, loadConfig, loadText } from '../load/index.ts'
export type { LogLevel as GatewayLogLevel } from './messages.ts'
export { type StandaloneNode, startStandalone } from './standalone.ts'
export {
  type ChangeOptions,
  type Failure,
  type GatewayState,
  type NodeStatus,
  type PathStatus,
  SuperNode,
  type SuperNodeOptions,
} from './super-node.ts'
export type { Delays, Watch } from './watch.ts'
