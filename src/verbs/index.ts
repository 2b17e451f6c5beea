/**
 * The verbs, for programs: objects, queues, work requests, completions and events. Names as in libibverbs. What a device
 * implements is behind the door of `provider/`.
 */
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
export { type AsyncEvent, Context, openDevice } from './api/context.ts'
export { MemoryRegion, MemoryWindow, type MrHandle, type Registrable } from './api/memory-region.ts'
export { hostOf, processHost, reapDead, segmentOptions } from './api/process-host.ts'
export { type PdHandle, ProtectionDomain } from './api/protection-domain.ts'
export { defaultCap, type QpHandle, type QpInit, QueuePair, randomPsn } from './api/queue-pair.ts'
export { SharedReceiveQueue, type SrqHandle } from './api/shared-receive-queue.ts'
export type * from './provider/attributes.ts'
export * from './provider/constants.ts'
export { type DeviceInfo, getDeviceList } from './provider/device.ts'
export { VerbsError, type VerbsErrorCode, verbsErrorCodes } from './provider/errors.ts'
export { checkTransition, type QpAttrName, type QpTransition, qpTransitions } from './provider/qp-state.ts'
export { incRkey, RecvWorkRequest, recvWr, ScatterGather, SendWorkRequest, sendWr } from './provider/work-request.ts'
