/**
 * Functions of the system that JavaScript lacks: mapping memory between processes and waiting on it, choosing cores, locking memory.
 *
 *     libc.ts      koffi and the C library, or the reason why there is none
 *     loading.ts   how threads load that, and end (at-exit.ts)
 *     mapping.ts   named shared segments, private memory on huge pages
 *     memory-file.ts     files in memory that several processes map
 *     wasm-memory.ts     the WebAssembly memory below such a segment
 *     futex.ts     waiting on a word of a mapping, across processes
 *     host.ts      clock, cores, locked memory
 *     udp.ts       UDP sockets over one memory (udp-options.ts, udp-batch.ts, sockaddr.ts)
 *     kernel-socket.ts   TCP and UDP sockets of the kernel, as C programs use them
 *     packet-ring.ts     frames of a network interface
 *     ethtool.ts         statistics of a network driver
 *     netlink.ts         requests to the kernel, and its notifications
 *     route-messages.ts  those about routes, links and addresses
 *     packet-sender.ts   frames through a network interface
 *     unix-datagrams.ts  UNIX datagram sockets
 *     seccomp.ts         system calls of programs that wait for an answer (system-calls.ts: their numbers)
 *     program-memory.ts  memory of another process
 *     path-calls.ts      calls on paths, with results as the kernel writes them
 *     hangups.ts         notification that a pipe has no reader any more
 *     inotify.ts         notification that files change
 *     descendants.ts     processes below this one
 *     restart.ts         having threads of other processes make their calls again
 *     limits.ts          limits of processes
 *     poll.ts      waiting until one of several descriptors can be read
 *     poll-requests.ts   having the kernel signal an event descriptor when sockets can be read
 *     descriptors.ts     passing descriptors to other processes
 *     process-vm.ts      memory of other processes
 *     timers.ts    sleeping until a moment, by a descriptor of a timer
 *     switching-calls.ts calls after which another thread may run, for tests
 *     tsc.ts       the time stamp counter of x86 processors
 *     crc32.ts     CRC-32 in native code
 *     error.ts     the errors that all of it throws
 *
 * It needs the optional package koffi on 64-bit Linux; look at `nativeAvailable` first. VERBENA_NO_NATIVE=1 turns it off, for tests of
 * everything that has to work without it.
 */
export { atExit, atExitLast } from './at-exit.ts'
export { type NativeCrc32, nativeCrc32 } from './crc32.ts'
export { adoptDescendants, type Ended, endedChild, endIsHidden, reapChild } from './descendants.ts'
export { DescriptorServer, fetchDescriptors, maxPassed, type Passed } from './descriptors.ts'
export { defaultSegmentMib, errnoName, errnos, NativeError, outOfDescriptors, segmentSetting } from './error.ts'
export { type EthtoolStatistic, ethtoolDriver, ethtoolStatistics } from './ethtool.ts'
export { futexWait, futexWaitAsync, futexWake } from './futex.ts'
export { HangupWatcher } from './hangups.ts'
export {
  allowedCores,
  askForShortSlices,
  type BarrierScope,
  clockMonotonicNs,
  cpuCount,
  currentCores,
  involuntarySwitches,
  killWithParent,
  lastError,
  lockMemory,
  membarrier,
  pinThread,
  processCores,
  registerMembarrier,
  runDelayNs,
  threadCpuNs,
  timeSliceNs,
  writeTimeOfDay,
  yieldProcessor,
} from './host.ts'
export { type FileEvents, FileWatcher, touchFile, watchedFor } from './inotify.ts'
export { KernelSocket, type KernelSocketOptions } from './kernel-socket.ts'
export { lookAtCalls, nativeAvailable, nativeReason } from './libc.ts'
export { markedLine, newMark, setOpenFileLimit, withMark } from './limits.ts'
export {
  behind,
  closeGate,
  closeUnusedGate,
  type Gate,
  gated,
  hasLoadedBelow,
  makeGate,
  stopForGood,
  whenStopped,
} from './loading.ts'
export {
  addressOf,
  commitShared,
  inodeOf,
  isUnused,
  mapDescriptor,
  mapHead,
  mapPrivate,
  mapShared,
  markUsed,
  releaseShared,
  releaseWasm,
  type SharedMapping,
  sharedDescriptor,
  unlinkShared,
  unlinkUnused,
  unmap,
} from './mapping.ts'
export {
  commitMemoryFile,
  isSoleDescription,
  makeMemoryFile,
  punchMemoryFile,
  reopenMemoryFile,
} from './memory-file.ts'
export { NetlinkEvents, netlinkDump, netlinkRequest } from './netlink.ts'
export { type BpfInstruction, interfaceIndex, PacketRing, type PacketRingOptions, RingPacket } from './packet-ring.ts'
export { PacketSender } from './packet-sender.ts'
export {
  accessPath,
  fileIdentity,
  identify,
  openPath,
  pathResult,
  readLinkPath,
  statPath,
  statxBytes,
  statxPath,
} from './path-calls.ts'
export {
  becomeDescriptor,
  closeFd,
  drainEventFd,
  drainPipe,
  loopAgain,
  makeEventFd,
  makeLoopPipe,
  makePipe,
  makeSlotPipe,
  maxPolled,
  ownedByThread,
  readAgain,
  signalEventFd,
  waitReadable,
  writeByte,
  writeEvent,
} from './poll.ts'
export { type ContextWord, destroyPollContext, PollRequests } from './poll-requests.ts'
export { dumpNoCore, endAtOnce, endsAtOnce } from './process-end.ts'
export { ProcessVm } from './process-vm.ts'
export {
  isImageThere,
  programBytes,
  programMemoryBytes,
  readProgram,
  writeProgram,
} from './program-memory.ts'
export { beginRestart, mayBeIn, mayTrace, restarted } from './restart.ts'
export {
  dumpRequest,
  type HostIfAddress,
  type HostLink,
  type HostRoute,
  linkAndAddressGroups,
  Nl,
  netlinkMessages,
  parseIfAddress,
  parseLink,
  parseRoute,
  type RouteKind,
  routeRequest,
} from './route-messages.ts'
export { type InstalledFilter, installFilter, Notification } from './seccomp.ts'
export { addressText } from './sockaddr.ts'
export { heldCallsFile } from './switching-calls.ts'
export { callNumber, type Processor, processors, type SystemCall, thisProcessor } from './system-calls.ts'
export { makeTimerFd, sleepOnTimerFd } from './timers.ts'
export { type Tsc, timeStampCounter } from './tsc.ts'
export { maxDatagramBytes, maxSegments, type UdpOptions, UdpSocket } from './udp.ts'
export { bindAdvice, isMulticast, otherThan } from './udp-options.ts'
export { longestUnixPath, UnixDatagrams } from './unix-datagrams.ts'
export type { WasmMemory } from './wasm-memory.ts'
