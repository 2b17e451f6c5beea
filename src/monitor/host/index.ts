/** Parts of the monitor that need Node.js. Other folders import from here only. */
export { AgentClient, type AgentOptions, configOf, type PlanDocument } from './agent.ts'
export { all } from './all.ts'
export { Collector, type CollectorOptions } from './collector.ts'
export { alertmanagerAlert, Notifier, type NotifyOptions } from './notify.ts'
export type { Pace } from './paced.ts'
export { type LiveWatchOptions, type WatchOptions, watchCapture, watchLive } from './sources.ts'
export { packWindow, savedWindows, WindowStore } from './store.ts'
