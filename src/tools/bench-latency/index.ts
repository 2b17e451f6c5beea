/** One-way latency: `verbena bench latency`. */
export { configure } from './command.ts'
export { exclusion } from './plan.ts'
export { type LatencyLists, type LatencySettings, parseLatencyLists } from './settings.ts'
export { measureLatency } from './show.ts'
