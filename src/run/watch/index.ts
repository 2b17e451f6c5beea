/**
 * Reports about programs under `verbena run`: why a call or a request failed (explainer.ts), all events (records.ts, text.ts), and counts
 * (counting.ts). Doors make records; options determine their use (watch.ts).
 */
export { lineOf } from './explainer.ts'
export { type DoorWatch, FileWatch, type TraceValues } from './file-watch.ts'
export { programName } from './names.ts'
export type { Observed, Observer } from './observer.ts'
export { Output } from './output.ts'
export type * from './records.ts'
export { type Counted, Watch, type WatchSettings } from './watch.ts'
