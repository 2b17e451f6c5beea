export { configure } from './command.ts'
export { measureNode, type NodeRun } from './measure.ts'
export type { NodeSettings } from './settings.ts'
