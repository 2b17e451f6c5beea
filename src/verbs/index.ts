/** The verbs: objects, queues, state machines, and what a device must do. Names as in libibverbs. */
export { AddressHandle } from './api/address.ts'
export { WorkRequestBuilder } from './api/builder.ts'
export {
  CompletionChannel,
  CompletionQueue,
  type CqHandle,
  WorkCompletion,
  workCompletions,
} from './api/completion-queue.ts'
export { type ConnectOptions, connectQp, defaultQkey, endpointOf, pathTo, type QpEndpoint } from './api/connect.ts'
export { type AsyncEvent, Context, openDevice, reapAttachment } from './api/context.ts'
export { MemoryRegion, MemoryWindow, type MrHandle, type Registrable, unbind } from './api/memory-region.ts'
export { processHost, reapDead, segmentOptions } from './api/process-host.ts'
export { type PdHandle, ProtectionDomain } from './api/protection-domain.ts'
export { defaultCap, type QpHandle, type QpInit, QueuePair, randomPsn } from './api/queue-pair.ts'
export { SharedReceiveQueue, type SrqHandle } from './api/shared-receive-queue.ts'
export type * from './provider/attributes.ts'
export * from './provider/constants.ts'
export {
  type Device,
  type DeviceDriver,
  type DeviceInfo,
  type FastPath,
  getDeviceList,
  registerDriver,
} from './provider/device.ts'
export { VerbsError, type VerbsErrorCode, verbsErrorCodes } from './provider/errors.ts'
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
} from './provider/gsi.ts'
export { elementKind, Host, srqTake } from './provider/host.ts'
export type { CounterName } from './provider/layout.ts'
export * as layout from './provider/layout.ts'
export { deviceAttr, portAttr } from './provider/limits.ts'
export { givePort, listenOnPort, type PortRequest, type TakenPort, takePort } from './provider/ports.ts'
export { checkTransition, type QpAttrName, type QpTransition, qpTransitions } from './provider/qp-state.ts'
export { bind, invalidable, localInvalidate } from './provider/windows.ts'
export { incRkey, RecvWorkRequest, recvWr, ScatterGather, SendWorkRequest, sendWr } from './provider/work-request.ts'
