/**
 * The interface that a device implements (`Device`, `DeviceDriver`, `FastPath`) and its requirements: the layout of the tables of a
 * segment, and the common part of all devices of a segment. Pure: nothing here, nor anything that it imports, depends on Node. Devices,
 * `transport` and the connection manager import this; programs import `verbs/index.ts`.
 */
export { describe } from './arguments.ts'
export type * from './attributes.ts'
export * from './constants.ts'
export {
  type Device,
  type DeviceDriver,
  type DeviceInfo,
  deviceAt,
  type FastPath,
  findDevice,
  getDeviceList,
  registerDriver,
} from './device.ts'
export { asVerbsError, VerbsError, type VerbsErrorCode, verbsErrorCodes } from './errors.ts'
export { elementKind } from './events.ts'
export { type DueFarewell, farewells, nameConnection, takeFarewell } from './farewells.ts'
export { isMulticastGid } from './gid.ts'
export { GsiDispatch, isServedByOthers, madDispatchBytes, registerService, unregisterService } from './gsi.ts'
export { agentAt, agentSlotOfCommId, commIdOf, type GsiQueuePair, gsiQkey, gsiQpn } from './gsi-agents.ts'
export { Host, noReceive, receiveTooShort, stageOf, stageUnit } from './host.ts'
export { isOthers } from './hosting.ts'
export { finishCompletion, journalQp } from './journal.ts'
export { recountWindows, unbindWindow } from './keys.ts'
export * as layout from './layout.ts'
export { type CounterName, Journal, journalStage } from './layout.ts'
export { deviceAttr, maxMessageBytes, portAttr } from './limits.ts'
export { type MadMethods, madAgentId, madReceiver, registerMads, takeMads, unregisterMads } from './mad-classes.ts'
export { mcastMember } from './multicast.ts'
export { failureOf, failureOfEvent, type News, type QpFailure, type RetransmitReason } from './news.ts'
export {
  answeredOpcodes,
  atomicOpcodes,
  completionOpcodes,
  fillingOpcodes,
  hasOpcode,
  inlineOpcodes,
  legalOpcodes,
  localOpcodes,
  operandKind,
  operandsOf,
  receiveOpcodes,
  remoteOpcodes,
} from './operations.ts'
export type { Platform } from './platform.ts'
export { givePort, listenOnPort, type PortRequest, type TakenPort, takePort } from './ports.ts'
export { inProcess, ProcessRegions, processAddress } from './process-regions.ts'
export { checkTransition, type QpAttrName, type QpTransition, qpTransitions } from './qp-state.ts'
export { reapAttachment } from './reap.ts'
export { slotOf } from './records.ts'
export { refusalOf } from './refusals.ts'
export { ServedKind, servedBy, servedOverlap, servesAll, servesOne } from './served.ts'
export { bind, invalidable, localInvalidate } from './windows.ts'
export { WorkCompletion, workCompletions } from './work-completion.ts'
export { incRkey, RecvWorkRequest, recvWr, ScatterGather, SendWorkRequest, sendWr } from './work-request.ts'
