/** Memory that adapters reach: segments, locks, waiting, copying; threads and the clock. Knows nothing of verbs. */
export { inRootContext, withContext } from './async-context.ts'
export type { Listener } from './bells.ts'
export { nowNs, sleepUntilNs, spinUntilNs } from './clock.ts'
export { entryModule } from './entry-module.ts'
export { Lives } from './lives.ts'
export {
  addressText,
  closeFd,
  cpuCount,
  currentCores,
  defaultSegmentMib,
  errnoName,
  errnos,
  hostInterfaces,
  isMulticast,
  isOwnAddress,
  KernelSocket,
  type KernelSocketOptions,
  lockMemory,
  mapPrivate,
  maxDatagramBytes,
  maxPolled,
  NativeError,
  nativeAvailable,
  nativeCrc32,
  nativeReason,
  pinThread,
  threadCpuNs,
  type UdpOptions,
  UdpSocket,
} from './native/index.ts'
export { pageBytes } from './pages.ts'
export { processorOrders } from './processor.ts'
export { Segment, type SegmentOptions } from './segment.ts'
export { SegmentError } from './segment-errors.ts'
export { segmentFilePrefix } from './segment-files.ts'
export { formatSegment, segmentBytes } from './segment-layout.ts'
export { startThread, threadData, threadStartTime } from './threads.ts'
