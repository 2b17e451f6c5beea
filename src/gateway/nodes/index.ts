/** Types of nodes. Other folders import from here only. */
export { nodeTypes } from './registry.ts'
