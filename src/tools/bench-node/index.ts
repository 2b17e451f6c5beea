export { configure } from './command.ts'
export { measureNode } from './measure.ts'
export type { NodeSettings } from './settings.ts'
