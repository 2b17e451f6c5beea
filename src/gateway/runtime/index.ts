/** `verbena/gateway`: the gateway as it runs. Other folders import from here only. */
export type { LogLevel as GatewayLogLevel } from './messages.ts'
export {
  type Failure,
  type GatewayState,
  type NodeStatus,
  type PathStatus,
  SuperNode,
  type SuperNodeOptions,
} from './super-node.ts'
