/** Memory that adapters reach: segments, locks, waiting, copying; threads and the clock. Knows nothing of verbs. */
export { nowNs, sleepUntilNs, spinUntilNs } from './clock.ts'
export {
  cpuCount,
  currentCores,
  lockMemory,
  mapPrivate,
  nativeAvailable,
  nativeReason,
  pinThread,
} from './native/index.ts'
export {
  maxAttachments,
  pageBytes,
  processorOrders,
  randomKey,
  Segment,
  SegmentError,
  segmentFilePrefix,
} from './segment.ts'
export { startThread, threadData } from './threads.ts'
