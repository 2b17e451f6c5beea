/** The verbs: objects, queues, state machines, and what a device must do. Names as in libibverbs. */
export { AddressHandle } from './address.ts'
export type * from './attributes.ts'
export { WorkRequestBuilder } from './builder.ts'
export {
  CompletionChannel,
  CompletionQueue,
  type CqHandle,
  WorkCompletion,
  workCompletions,
} from './completion-queue.ts'
export { type ConnectOptions, connectQp, defaultQkey, endpointOf, pathTo, type QpEndpoint } from './connect.ts'
export * from './constants.ts'
export { type AsyncEvent, Context, openDevice, reapAttachment } from './context.ts'
export {
  type Device,
  type DeviceDriver,
  type DeviceInfo,
  type FastPath,
  getDeviceList,
  registerDriver,
} from './device.ts'
export { VerbsError, type VerbsErrorCode, verbsErrorCodes } from './errors.ts'
export {
  agentAt,
  agentPlaceOf,
  commIdOf,
  GsiDispatch,
  gsiQkey,
  gsiQpn,
  madDispatchBytes,
  registerService,
  unregisterService,
} from './gsi.ts'
export { elementKind, Host, srqTake } from './host.ts'
export type { CounterName } from './layout.ts'
export * as layout from './layout.ts'
export { deviceAttr, portAttr } from './limits.ts'
export { MemoryRegion, MemoryWindow, type MrHandle, type Registrable, unbind } from './memory-region.ts'
export { givePort, listenOnPort, type PortRequest, type TakenPort, takePort } from './ports.ts'
export { processHost, reapDead, segmentOptions } from './process-host.ts'
export { type PdHandle, ProtectionDomain } from './protection-domain.ts'
export { checkTransition, type QpAttrName, type QpTransition, qpTransitions } from './qp-state.ts'
export { defaultCap, type QpHandle, type QpInit, QueuePair, randomPsn } from './queue-pair.ts'
export { SharedReceiveQueue, type SrqHandle } from './shared-receive-queue.ts'
export { bind, invalidable, localInvalidate } from './windows.ts'
export { incRkey, RecvWorkRequest, recvWr, ScatterGather, SendWorkRequest, sendWr } from './work-request.ts'
