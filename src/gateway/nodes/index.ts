/** Types of nodes. Other folders import from here only. */
export { DevicePool } from './device-pool.ts'
export { nodeTypes } from './registry.ts'
