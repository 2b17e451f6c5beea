/** Types of nodes, and the functions of time that they share with paths. Other folders import from here only. */
export { type AnyPoolShare, attachPool, makePool, type OwnedPool } from './any-pool.ts'
export { OutputFile } from './file/output-file.ts'
export { loadNodeType } from './load.ts'
export { nodeTypes, secretSettings } from './registry.ts'
export { makeTimer, monotonicNs, Pace, type Timer, type TimerName, timerNames } from './timing/index.ts'
