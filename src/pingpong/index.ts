/** The ping-pongs of rdma-core's examples, interoperable with them: RC, UC, UD, and RC with a shared receive queue. */
export { formatRecord, parseRecord, recordBytes } from './exchange.ts'
export { type PingPongEvents, type PingPongResult, runPingPong, type Shown } from './run.ts'
export { defaultSize, type Kind, kinds, type PingPongSettings } from './settings.ts'
