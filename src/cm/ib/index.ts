/** The InfiniBand communication manager without I/O: messages and time go in, messages, events and deadlines come out. */
export type { CmConnection, CmListener } from './connection.ts'
export type { CmCounters } from './counters.ts'
export { cmDiagram } from './diagram.ts'
export { CmError, type CmErrorCode, cmErrorCodes, type DropReason, dropReasons } from './errors.ts'
export type * from './events.ts'
export { allLimits, type CmLimits, parseLimits, wrongLimits } from './limits.ts'
export { CommunicationManager } from './manager.ts'
export { buildDreq } from './messages.ts'
export { acceptedMtu, mtuBytes, mtuCode, mtuInfo } from './mtu.ts'
export * from './parameters.ts'
export { ahOf, alternatePath, type QpAttrPlace, qpAttrOf } from './qp-attr.ts'
export { Shares } from './shares.ts'
export { type CmState, cmStates } from './state-names.ts'
export {
  type CmFigure,
  type CmGuard,
  type CmTransition,
  type CmTrigger,
  cmFigures,
  cmGuards,
  cmTransitions,
  cmTriggers,
} from './states.ts'
export { ackTimeoutCode, timeoutCode, timeoutNs } from './timeouts.ts'
