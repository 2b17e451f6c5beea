/** The machine below: its clock, the cores this thread may use, and memory that is never paged out. */
import { readFileSync } from 'node:fs'
import { availableParallelism, constants } from 'node:os'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { errnoName, errnos } from './error.ts'
import { type Libc, libc, nativeReason, nativeScratch, requireLibc } from './libc.ts'
import { lockMappings, lockRange } from './mapping.ts'

const CLOCK_REALTIME = 0
const CLOCK_MONOTONIC = 1
const CLOCK_THREAD_CPUTIME_ID = 3

/** Size of a cpu_set_t for 8,192 cores, bytes. */
const coreSetBytes = 1024
const scratch = libc === null ? null : nativeScratch(16 + coreSetBytes)
const time = scratch === null ? new Uint32Array(4) : scratch.u32
const timeAddress = scratch === null ? 0 : scratch.address
const clockGettime = libc?.clockGettime

let failure = ''

/** Returns the reason why `pinThread` or `lockMemory` last returned false; empty if neither did. */
export function lastError(): string {
  return failure
}

/**
 * Whole nanoseconds of CLOCK_MONOTONIC, the same in every process. Exact up to 2^53, that is 104 days after the
 * machine started; even numbers from then on.
 */
export function clockMonotonicNs(): number {
  if (clockGettime === undefined) requireLibc('clock_gettime')
  clockGettime!(CLOCK_MONOTONIC, timeAddress)
  return (time[0]! + time[1]! * 4294967296) * 1e9 + time[2]!
}

/**
 * Writes the time of day at `into[word]`, as two 64-bit integers: seconds since 1970, and nanoseconds. 40 to 60 ns. The system writes
 * to a fixed address, because an address that changes would be a number that is allocated for each call.
 */
export function writeTimeOfDay(into: Uint32Array, word: number): void {
  if (clockGettime === undefined) requireLibc('clock_gettime')
  clockGettime!(CLOCK_REALTIME, timeAddress)
  into[word] = time[0]!
  into[word + 1] = time[1]!
  into[word + 2] = time[2]!
  into[word + 3] = 0
}

/** Nanoseconds that the calling thread has spent on a processor, in the program and in the system. */
export function threadCpuNs(): number {
  if (clockGettime === undefined) requireLibc('clock_gettime')
  clockGettime!(CLOCK_THREAD_CPUTIME_ID, timeAddress)
  return time[0]! * 1e9 + time[2]!
}

function coreSet(): Uint8Array {
  return scratch!.u8.subarray(16, 16 + coreSetBytes)
}

/** Lets the calling thread run on these cores only. False (see `lastError`) if that is not possible. */
export function pinThread(cores: number[]): boolean {
  if (libc === null) return failed(`not available here: ${nativeReason}`)
  const set = coreSet().fill(0)
  for (const core of cores) {
    if (!Number.isInteger(core) || core < 0 || core >= coreSetBytes * 8) return failed(`there is no core ${core}`)
    set[core >> 3]! |= 1 << (core & 7)
  }
  if (libc.schedSetaffinity(0, coreSetBytes, scratch!.address + 16) === 0) return true
  const errno = libc.koffi.errno()
  if (errno === errnos.EINVAL) return failed(`none of the cores [${cores.join(', ')}] is available to this process`)
  return failed(`sched_setaffinity: ${errnoName(errno)}`)
}

/** The cores that the calling thread may run on, ascending; empty where that is unknown. */
export function currentCores(): number[] {
  if (libc === null) return []
  const set = coreSet().fill(0)
  if (libc.schedGetaffinity(0, coreSetBytes, scratch!.address + 16) < 0) return []
  const cores: number[] = []
  for (let core = 0; core < coreSetBytes * 8; core++) if ((set[core >> 3]! >> (core & 7)) & 1) cores.push(core)
  return cores
}

interface ProcessCores {
  count: number
  cores: number[]
}
// A thread begins on the cores of the one that starts it, which may have bound itself to one: the first thread passes its cores to all
// others.
const coresKey = 'verbena cores'
const first = (getEnvironmentData(coresKey) ?? { count: availableParallelism(), cores: currentCores() }) as ProcessCores
setEnvironmentData(coresKey, first as unknown as string)

/** Number of cores that this process may use, and their numbers; without system calls the numbers are unknown, and the list is empty. */
export const cpuCount: number = first.count
export const processCores: readonly number[] = first.cores

const RUSAGE_THREAD = 1
/** Scratch memory of struct rusage: two times, then fourteen numbers of 64 bits, of which the last are the involuntary switches. */
const rusage = libc === null ? null : nativeScratch(144)
const rusageSwitches = 136 / 4
const getrusage = libc?.getrusage

/** Returns the number of times that the scheduler preempted this thread; where there are no system calls, any thread of the process. */
export function involuntarySwitches(): number {
  if (rusage === null) return process.resourceUsage().involuntaryContextSwitches
  getrusage!(RUSAGE_THREAD, rusage.address)
  return rusage.u32[rusageSwitches]!
}

/**
 * Returns the total number of nanoseconds for which this thread has waited for a core although it could have run; NaN where the kernel does
 * not report it. It is read from a file, which takes as long as some ten system calls.
 */
export function runDelayNs(): number {
  const [, waited, slices] = readProc('/proc/thread-self/schedstat')?.split(' ') ?? []
  // A thread that runs has had a slice: where there are none, the kernel does not count.
  return Number(slices) > 0 ? Number(waited) : Number.NaN
}

let quota = 0

/**
 * Returns the number of cores that this process may use: those in its affinity mask, as far as the quota of its control group permits. If a
 * thread has since bound itself to one core, the other threads still use all cores.
 */
export function allowedCores(): number {
  if (quota === 0) quota = quotaOf(readProc)
  return Math.min(Math.max(cpuCount, availableParallelism()), quota)
}

function readProc(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return null
  }
}

/**
 * Returns the number of cores' time that the control groups of this process grant it (cpu.max, and cpu.cfs_quota_us of the first version);
 * Infinity without a limit. `read` returns the text of a file, or null.
 */
export function quotaOf(read: (path: string) => string | null): number {
  let least = Number.POSITIVE_INFINITY
  for (const line of (read('/proc/self/cgroup') ?? '').split('\n')) {
    const [, controllers, group] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (group === undefined) continue
    const isSecond = controllers === ''
    if (!isSecond && !controllers!.split(',').includes('cpu')) continue
    const root = isSecond ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controllers}`
    // Inside a container the path may be that of the host, of which only the end is there: the root is looked at in any case.
    for (let at = group; ; at = at.slice(0, at.lastIndexOf('/'))) {
      const folder = `${root}${at === '/' ? '' : at}`
      const [most, period] = isSecond
        ? (read(`${folder}/cpu.max`) ?? '').trim().split(' ')
        : [read(`${folder}/cpu.cfs_quota_us`)?.trim(), read(`${folder}/cpu.cfs_period_us`)?.trim()]
      const cores = Number(most) / Number(period)
      if (cores > 0) least = Math.min(least, cores)
      if (at === '' || at === '/') break
    }
  }
  return least
}

const schedYield = libc?.schedYield

/** sched_yield: other threads that can run on this core come first. Without system calls it does nothing. */
export function yieldProcessor(): void {
  schedYield?.()
}

/**
 * Keeps the mappings of this thread, those it makes later, and `buffers` (such as the shared WebAssembly memory of a segment) from being
 * paged out; pages that were never touched stay absent. False (see `lastError`) if that is not possible. Each thread calls it for its own
 * mappings.
 *
 * Not mlockall(2): V8 gives pages of code back with madvise(MADV_DONTNEED), which fails on locked memory, and V8 then ends the process.
 * Under mlockall(MCL_FUTURE), Node 20 ends so whenever a worker ends.
 */
export function lockMemory(...buffers: (ArrayBuffer | SharedArrayBuffer)[]): boolean {
  if (libc === null) return failed(`not available here: ${nativeReason}`)
  let errno = lockMappings()
  for (const buffer of buffers) {
    if (errno !== 0 || buffer.byteLength === 0) continue
    errno = lockRange(Number(libc.koffi.address(new Uint8Array(buffer))), buffer.byteLength)
  }
  if (errno === 0) return true
  if (errno === errnos.ENOMEM || errno === errnos.EPERM || errno === errnos.EAGAIN)
    return failed(`mlock2: ${errnoName(errno)}: raise \`ulimit -l\` to unlimited, or give the program CAP_IPC_LOCK`)
  return failed(`mlock2: ${errnoName(errno)}`)
}

const MEMBARRIER_GLOBAL_EXPEDITED = 2
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED = 4
const MEMBARRIER_PRIVATE_EXPEDITED = 8
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 16

/** Policies whose threads share cores fairly. */
const SCHED_OTHER = 0
const SCHED_BATCH = 3
/** Threads and processes that this one starts have slices of the usual length. */
const SCHED_FLAG_RESET_ON_FORK = 1
/** Bytes of struct sched_attr: size, policy, flags (u64), nice, priority, and the slice (u64, nanoseconds). */
const schedAttrBytes = 56
const schedAttr = libc === null ? null : nativeScratch(schedAttrBytes)
const SchedAttr = { size: 0, policy: 1, flags: 2, nice: 4, slice: 6 } as const

/** Returns the time slice of the calling thread in nanoseconds; 0 where the kernel does not report it (before Linux 6.12). */
export function timeSliceNs(): number {
  if (libc === null) return 0
  const { u32, address } = schedAttr!
  u32.fill(0)
  if (libc.syscall(libc.schedGetattrNumber, 0, address, schedAttrBytes, 0, 0, 0) < 0) return 0
  return u32[SchedAttr.slice]! + u32[SchedAttr.slice + 1]! * 4294967296
}

/** The least that the kernel takes. */
const shortSliceNs = 100_000

/**
 * Requests short time slices for the calling thread. Its share of the cores stays what it is, but when it wakes it may preempt a thread
 * with longer slices at once (Linux 6.12), instead of waiting for up to three milliseconds for one that computes. Nothing is done where the
 * kernel knows no such slices, for a thread of another policy, or for one with a negative nice value, which threads that it starts would
 * lose.
 */
export function askForShortSlices(): void {
  if (timeSliceNs() <= shortSliceNs) return
  const { u32, address } = schedAttr!
  const policy = u32[SchedAttr.policy]!
  if ((policy !== SCHED_OTHER && policy !== SCHED_BATCH) || (u32[SchedAttr.nice]! | 0) < 0) return
  u32[SchedAttr.size] = schedAttrBytes
  u32[SchedAttr.flags] = u32[SchedAttr.flags]! | SCHED_FLAG_RESET_ON_FORK
  u32[SchedAttr.slice] = shortSliceNs
  u32[SchedAttr.slice + 1] = 0
  libc!.syscall(libc!.schedSetattrNumber, 0, address, 0, 0, 0, 0)
}

/** The threads that `membarrier` makes pass a barrier: those of this process, or of every process that has registered for it. */
export type BarrierScope = 'process' | 'processes'

/** Registers this process with the kernel, so that `membarrier` with this scope reaches its threads; false where that is not supported. */
export function registerMembarrier(scope: BarrierScope): boolean {
  const command = scope === 'process' ? MEMBARRIER_REGISTER_PRIVATE_EXPEDITED : MEMBARRIER_REGISTER_GLOBAL_EXPEDITED
  return libc !== null && membarrierCall(libc, command)
}

/** Makes every thread in `scope` pass a full memory barrier, as membarrier(2) does; false if it did not. */
export function membarrier(scope: BarrierScope): boolean {
  const command = scope === 'process' ? MEMBARRIER_PRIVATE_EXPEDITED : MEMBARRIER_GLOBAL_EXPEDITED
  return libc !== null && membarrierCall(libc, command)
}

function membarrierCall(libc: Libc, command: number): boolean {
  return libc.syscall(libc.membarrierNumber, command, 0, 0, 0, 0, 0) === 0
}

const PR_SET_PDEATHSIG = 1

/**
 * Has the kernel kill this process when the thread that started it ends, also where this process never looks at its events. It holds as
 * long as the calling thread lives; a parent that is gone already is not noticed. False where the kernel does not support it.
 */
export function killWithParent(): boolean {
  return libc !== null && libc.prctl(PR_SET_PDEATHSIG, constants.signals.SIGKILL, 0, 0, 0) === 0
}

function failed(reason: string): false {
  failure = reason
  return false
}
