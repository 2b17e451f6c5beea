/** Memory that adapters reach: segments, locks, waiting, copying; threads and the clock. Knows nothing of verbs. */
export { inRootContext, withContext } from './async-context.ts'
export type { JanitorKind } from './attachments.ts'
export type { Listener } from './bells.ts'
export { nowNs, sleepUntilNs, spinUntilNs } from './clock.ts'
export { type Copy, makeCopier } from './copy.ts'
export { entryModule } from './entry-module.ts'
export {
  type HostNetwork,
  hostIfAddresses,
  hostLinks,
  hostNetwork,
  type RouteQuestion,
  watchHostNetwork,
} from './host-network.ts'
export { LifePipes } from './life-pipes.ts'
export { Lives } from './lives.ts'
export { every, untilLook, untilNextLook } from './looks.ts'
export {
  accessPath,
  addressText,
  adoptDescendants,
  atExit,
  type BpfInstruction,
  bindAdvice,
  callNumber,
  clockMonotonicNs,
  closeFd,
  commitMemoryFile,
  cpuCount,
  currentCores,
  DescriptorServer,
  defaultSegmentMib,
  drainEventFd,
  drainPipe,
  dumpNoCore,
  endedChild,
  errnoName,
  errnos,
  ethtoolDriver,
  ethtoolStatistics,
  type FileEvents,
  FileWatcher,
  fetchDescriptors,
  HangupWatcher,
  type HostIfAddress,
  type HostLink,
  type HostRoute,
  type InstalledFilter,
  installFilter,
  interfaceIndex,
  isImageThere,
  isMulticast,
  isSoleDescription,
  KeptNotification,
  KernelSocket,
  type KernelSocketOptions,
  killWithParent,
  lockMemory,
  longestUnixPath,
  makeEventFd,
  makeMemoryFile,
  makePipe,
  makeTimerFd,
  mapDescriptor,
  mapPrivate,
  maxDatagramBytes,
  maxPassed,
  maxPolled,
  NativeError,
  type NetlinkEvents,
  Notification,
  nativeAvailable,
  nativeCrc32,
  nativeReason,
  netlinkRequest,
  openPath,
  otherThan,
  PacketRing,
  PacketSender,
  type Passed,
  type Processor,
  ProcessVm,
  pathResult,
  pinThread,
  processCores,
  processors,
  programBytes,
  programMemoryBytes,
  punchMemoryFile,
  RingPacket,
  readAgain,
  readLinkPath,
  readProgram,
  reapChild,
  reopenMemoryFile,
  type SystemCall,
  setOpenFileLimit,
  signalEventFd,
  sleepOnTimerFd,
  statPath,
  statxBytes,
  statxPath,
  thisProcessor,
  threadCpuNs,
  timeStampCounter,
  type UdpOptions,
  UdpSocket,
  UnixDatagrams,
  unmap,
  type WasmMemory,
  writeByte,
  writeProgram,
  writeTimeOfDay,
  yieldProcessor,
} from './native/index.ts'
export { isOwnAddress } from './own-addresses.ts'
export { pageBytes } from './pages.ts'
export { type Parking, waitReadable } from './parking.ts'
export { Polling, sleepCostNs } from './polling.ts'
export { isProcessMemoryUsed, prepareProcessMemory } from './process-memory.ts'
export { processorOrders, sleepMs } from './processor.ts'
export { Segment, type SegmentOptions } from './segment.ts'
export { SegmentError } from './segment-errors.ts'
export { segmentFile, segmentFilePrefix } from './segment-files.ts'
export { formatSegment, ownerMask, segmentBytes } from './segment-layout.ts'
export {
  gateWorkers,
  type LateLibrary,
  startThread,
  threadData,
  threadStartTime,
  whenWorkerEnds,
} from './threads.ts'
export { encodeModule, get, i32Constant, i32Type, instantiate, op, set, simd, wasmOf } from './wasm-code.ts'
