/** Bandwidth and latency between two processes, with perftest's options and columns: `verbena perf`. */
export { configure, perfCommand } from './command.ts'
export type { PerfTest } from './settings.ts'
