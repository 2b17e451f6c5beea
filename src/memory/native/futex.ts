/**
 * Waiting on a 32-bit word of mapped memory across processes: futex(2), not private. `Atomics.wait` does the same for SharedArrayBuffers
 * only, and only within one process.
 *
 * A wait may end early ('ok' without a wake, after a signal): look at the word again, as with every futex. Measured: a wake without waiters
 * 0.37 µs, of which koffi is 0.03; so look at a count of waiters first.
 */
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { baseOf } from './mapping.ts'

const FUTEX_WAIT = 0
const FUTEX_WAKE = 1
/** Operation whose time-out is a point on CLOCK_MONOTONIC instead of a duration. */
const FUTEX_WAIT_BITSET = 9
const anyBit = 0xffffffff

export type FutexResult = 'ok' | 'timed-out' | 'not-equal'

function addressOf(buffer: ArrayBuffer, byteOffset: number): number {
  const base = baseOf(buffer)
  if ((byteOffset & 3) !== 0 || byteOffset < 0 || byteOffset + 4 > buffer.byteLength)
    throw new NativeError('EINVAL', errnos.EINVAL, 'futex', `offset ${byteOffset} is not a 32-bit word of the mapping`)
  return base + byteOffset
}

/** struct timespec: 64-bit seconds, 64-bit nanoseconds. */
function writeTimespec(u32: Uint32Array, word: number, ns: number): void {
  const seconds = Math.floor(ns / 1e9)
  u32[word] = seconds
  u32[word + 1] = Math.floor(seconds / 4294967296)
  u32[word + 2] = Math.floor(ns - seconds * 1e9)
  u32[word + 3] = 0
}

const timeout = libc === null ? null : nativeScratch(16)

/**
 * Blocks this thread while the word is `expected`, at most `timeoutNs` (Infinity: without end). 'not-equal' if the
 * word had another value to begin with.
 */
export function futexWait(buffer: ArrayBuffer, byteOffset: number, expected: number, timeoutNs: number): FutexResult {
  const { syscall, futexNumber, koffi } = requireLibc('futex')
  const address = addressOf(buffer, byteOffset)
  let timespec = 0
  if (timeoutNs !== Number.POSITIVE_INFINITY) {
    writeTimespec(timeout!.u32, 0, Math.max(timeoutNs, 0))
    timespec = timeout!.address
  }
  if (syscall(futexNumber, address, FUTEX_WAIT, expected | 0, timespec, 0, 0) === 0) return 'ok'
  const errno = koffi.errno()
  if (errno === errnos.EAGAIN) return 'not-equal'
  if (errno === errnos.ETIMEDOUT) return 'timed-out'
  if (errno === errnos.EINTR) return 'ok'
  throw nativeError('futex', errnoName(errno), errno, 'the wait failed')
}

/**
 * A pool thread that waits cannot be interrupted, and `process.exit` and the end of a worker join it: so a wait is
 * repeated in intervals this long.
 */
const pieceNs = 100e6

/** Timespecs of the waits in progress: each stays in place until its call ends. */
const timespecWords = 4
const slots = libc === null ? null : nativeScratch(256 * 16)
const freeSlots = Array.from({ length: 256 }, (_, i) => i)

/**
 * The same without blocking this thread. The call occupies one thread of libuv's pool, of which there are four
 * (UV_THREADPOOL_SIZE) for all of files, name look-ups and these waits: with more than that at a time, the rest queue,
 * though not beyond their time-out. The promise keeps the process alive while it is pending.
 */
export async function futexWaitAsync(
  buffer: ArrayBuffer,
  byteOffset: number,
  expected: number,
  timeoutNs: number,
): Promise<FutexResult> {
  requireLibc('futex')
  addressOf(buffer, byteOffset)
  const word = new Int32Array(buffer, byteOffset, 1)
  if (Atomics.load(word, 0) !== (expected | 0)) return 'not-equal'
  const deadlineNs = monotonicNs() + Math.max(timeoutNs, 0)
  for (;;) {
    const pieceEndNs = Math.min(deadlineNs, monotonicNs() + pieceNs)
    // The errno of a pool thread cannot be read here. So the reason of a failed wait is derived from the time and the word.
    if (await waitUntil(addressOf(buffer, byteOffset), expected, pieceEndNs)) return 'ok'
    if (monotonicNs() >= deadlineNs) return 'timed-out'
    if (Atomics.load(word, 0) !== (expected | 0)) return 'ok'
  }
}

/** True if woken. */
function waitUntil(address: number, expected: number, deadlineNs: number): Promise<boolean> {
  const { syscall, futexNumber } = requireLibc('futex')
  const slot = freeSlots.pop()
  if (slot === undefined)
    throw new NativeError('EAGAIN', errnos.EAGAIN, 'futex', 'more than 256 waits at a time: let some of them end')
  writeTimespec(slots!.u32, slot * timespecWords, deadlineNs)
  return new Promise((resolve, reject) => {
    const done = (error: unknown, result: number): void => {
      freeSlots.push(slot)
      if (error) reject(error)
      else resolve(result === 0)
    }
    try {
      syscall.async(futexNumber, address, FUTEX_WAIT_BITSET, expected | 0, slots!.address + slot * 16, 0, anyBit, done)
    } catch (error) {
      freeSlots.push(slot)
      reject(error)
    }
  })
}

function monotonicNs(): number {
  const [seconds, ns] = process.hrtime()
  return seconds * 1e9 + ns
}

/** Wakes at most `count` waiters on the word, of all processes; returns how many. */
export function futexWake(buffer: ArrayBuffer, byteOffset: number, count: number): number {
  const { syscall, futexNumber, koffi } = requireLibc('futex')
  const woken = syscall(futexNumber, addressOf(buffer, byteOffset), FUTEX_WAKE, count | 0, 0, 0, 0)
  if (woken >= 0) return Number(woken)
  throw nativeError('futex', errnoName(koffi.errno()), koffi.errno(), 'the wake failed')
}
