/** Rsockets beside TCP: `verbena bench rsocket`. */
export { configure } from './command.ts'
export { SocketEnds, type Timing } from './run.ts'
export type { SocketSettings } from './settings.ts'
