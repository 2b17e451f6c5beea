/** Middleware for devices on a network: faults, a tap, a trace. Other folders import from here only. */
export { Chain, type ChainEnds } from './chain.ts'
export type { FaultCounter } from './faults.ts'
export { Packet } from './packet.ts'
export { checkWrap, faults, parseFaults, tap, trace, warnOfWraps, wrapsOfEnvironment } from './wraps.ts'
