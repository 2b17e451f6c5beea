/**
 * The verbs, for programs: objects, queues, work requests, completions and events. Names as in libibverbs. `provider/` contains what a
 * device implements.
 */
export { WorkRequestBuilder } from './api/builder.ts'
export {
  nameDevice,
  type PassedNews,
  passNews,
  type QpErrorMessage,
  type QpRetransmitMessage,
  subscriptions,
  takeNews,
} from './api/channels.ts'
export { type ConnectOptions, connectQp, defaultQkey, endpointOf, pathTo, type QpEndpoint } from './api/connect.ts'
export { openDevice } from './api/context.ts'
export type {
  AddressHandle,
  AsyncEvent,
  CompletionChannel,
  CompletionQueue,
  Context,
  CqHandle,
  CqOptions,
  MemoryRegion,
  MemoryWindow,
  MrHandle,
  PdHandle,
  ProtectionDomain,
  QpHandle,
  QpInit,
  QpQuery,
  QueuePair,
  Registrable,
  SharedReceiveQueue,
  SrqHandle,
  VerbsObject,
} from './api/objects.ts'
export { hostOf, processHost, reapDead, reapOwn } from './api/process-host.ts'
export { defaultCap, randomPsn } from './api/queue-pair.ts'
export { segmentOptions } from './api/segment-options.ts'
export type * from './provider/attributes.ts'
export * from './provider/constants.ts'
export { type DeviceInfo, getDeviceList } from './provider/device.ts'
export { VerbsError, type VerbsErrorCode, verbsErrorCodes } from './provider/errors.ts'
export type { MwBind, SendOperation } from './provider/operations.ts'
export { checkTransition, type QpAttrName, type QpTransition, qpTransitions } from './provider/qp-state.ts'
export { WorkCompletion, workCompletions } from './provider/work-completion.ts'
export { incRkey, RecvWorkRequest, recvWr, ScatterGather, SendWorkRequest, sendWr } from './provider/work-request.ts'
