/** Memory that adapters reach: segments, locks, waiting, copying; threads and the clock. Knows nothing of verbs. */
export { inRootContext, withContext } from './async-context.ts'
export { nowNs, sleepUntilNs, spinUntilNs } from './clock.ts'
export { entryModule } from './entry-module.ts'
export {
  addressText,
  closeFd,
  cpuCount,
  currentCores,
  defaultSegmentMib,
  drainEventFd,
  errnoName,
  errnos,
  hostInterfaces,
  isMulticast,
  isOwnAddress,
  KernelSocket,
  type KernelSocketOptions,
  lockMemory,
  makeEventFd,
  mapPrivate,
  maxDatagramBytes,
  maxPolled,
  maxSegments,
  type NativeCrc32,
  NativeError,
  nativeAvailable,
  nativeCrc32,
  nativeReason,
  pinThread,
  signalEventFd,
  threadCpuNs,
  type UdpOptions,
  UdpSocket,
  waitReadable,
} from './native/index.ts'
export {
  maxAttachments,
  pageBytes,
  processorOrders,
  randomKey,
  Segment,
  SegmentError,
  type SegmentOptions,
  segmentFilePrefix,
} from './segment.ts'
export { startThread, threadData, threadStartTime } from './threads.ts'
