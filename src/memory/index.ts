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
  addressText,
  atExit,
  type BpfInstruction,
  bindAdvice,
  clockMonotonicNs,
  closeFd,
  cpuCount,
  currentCores,
  DescriptorServer,
  defaultSegmentMib,
  errnoName,
  errnos,
  ethtoolDriver,
  ethtoolStatistics,
  fetchDescriptors,
  type HostIfAddress,
  type HostLink,
  type HostRoute,
  interfaceIndex,
  isMulticast,
  KernelSocket,
  type KernelSocketOptions,
  killWithParent,
  lockMemory,
  longestUnixPath,
  makeTimerFd,
  mapPrivate,
  maxDatagramBytes,
  maxPassed,
  maxPolled,
  NativeError,
  type NetlinkEvents,
  nativeAvailable,
  nativeCrc32,
  nativeReason,
  netlinkRequest,
  otherThan,
  PacketRing,
  PacketSender,
  type Passed,
  pinThread,
  processCores,
  RingPacket,
  sleepOnTimerFd,
  threadCpuNs,
  timeStampCounter,
  type UdpOptions,
  UdpSocket,
  UnixDatagrams,
  type WasmMemory,
  writeTimeOfDay,
  yieldProcessor,
} from './native/index.ts'
export { isOwnAddress } from './own-addresses.ts'
export { pageBytes } from './pages.ts'
export { type Parking, waitReadable } from './parking.ts'
export { Polling, sleepCostNs } from './polling.ts'
export { isProcessMemoryUsed, prepareProcessMemory } from './process-memory.ts'
export { processorOrders } from './processor.ts'
export { Segment, type SegmentOptions } from './segment.ts'
export { SegmentError } from './segment-errors.ts'
export { segmentFile, segmentFilePrefix } from './segment-files.ts'
export { formatSegment, segmentBytes } from './segment-layout.ts'
export {
  gateWorkers,
  type LateLibrary,
  startThread,
  threadData,
  threadStartTime,
  whenWorkerEnds,
} from './threads.ts'
export { encodeModule, get, i32Constant, i32Type, instantiate, op, set, simd, wasmOf } from './wasm-code.ts'
