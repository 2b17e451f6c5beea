/** Timers of the kernel as descriptors (timerfd): a thread sleeps in read(2) until a moment of CLOCK_MONOTONIC. */
import { errnoName, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'

const CLOCK_MONOTONIC = 1
const TFD_CLOEXEC = 0o2000000
const TFD_TIMER_ABSTIME = 1

/** struct itimerspec { struct timespec interval, value }, and the value that is read: the number of its expirations. */
const scratch = libc === null ? null : nativeScratch(40)
const specAddress = scratch?.address ?? 0
const countAddress = specAddress + 32

/** A descriptor of a timer; `closeFd` closes it. Throws `NativeError`. */
export function makeTimerFd(): number {
  const { timerfdCreate, koffi } = requireLibc('timerfd_create')
  const fd = timerfdCreate(CLOCK_MONOTONIC, TFD_CLOEXEC)
  if (fd >= 0) return fd
  const errno = koffi.errno()
  throw nativeError('timerfd_create', errnoName(errno), errno, 'no timer could be made')
}

/** Blocks this thread until then, nanoseconds of CLOCK_MONOTONIC; returns earlier if a signal interrupts it. */
export function sleepOnTimerFd(fd: number, untilNs: number): void {
  const { timerfdSettime, read } = libc!
  const { u32 } = scratch!
  const seconds = Math.floor(untilNs / 1e9)
  u32[4] = seconds
  u32[6] = untilNs - seconds * 1e9
  timerfdSettime(fd, TFD_TIMER_ABSTIME, specAddress, 0)
  read(fd, countAddress, 8)
}
