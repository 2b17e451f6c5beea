/** Blocking until one of several descriptors can be read (ppoll), event descriptors that end such a wait, and pipes. */
import { closeSync, openSync } from 'node:fs'
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { gated } from './loading.ts'
import { thisProcessor } from './system-calls.ts'

const POLLIN = 1
const EFD_NONBLOCK_CLOEXEC = 0o2004000
const F_SETPIPE_SZ = 1031

/** Descriptors that one wait can watch. */
export const maxPolled = 65_536

/** struct timespec, and what is read or written. */
const scratch = libc === null ? null : nativeScratch(32)
const timespecAddress = scratch?.address ?? 0
/** Bytes that one call reads from a pipe and discards. */
const drainedBytes = 512
const drainedAddress = libc === null ? 0 : nativeScratch(drainedBytes).address
const valueAt = 16
const valueAddress = timespecAddress + valueAt
/** struct pollfd { int fd; short events, revents } each: for as many as were ever watched, in powers of two. */
let pollRoom = 64
let polled = libc === null ? null : nativeScratch(pollRoom * 8)

function makeRoom(count: number): void {
  while (pollRoom < count) pollRoom *= 2
  polled = nativeScratch(pollRoom * 8)
}

/**
 * Blocks this thread until one of the first `count` of `fds` can be read, at most `timeoutMs` (fractions count, to the nanosecond;
 * Infinity: without end). Returns how many can: 0 after the time, or earlier after a signal. `ready`, if given, gets for each 0, 1 where
 * there is something to read, or 2 where it is closed or broken, which counts as ready: reading it returns the reason. A negative number
 * stands for no descriptor.
 */
export function waitReadable(fds: Int32Array, count: number, timeoutMs: number, ready?: Uint8Array): number {
  const { ppoll, koffi } = requireLibc('ppoll')
  if (count < 0 || count > maxPolled || count > fds.length)
    throw new NativeError('EINVAL', errnos.EINVAL, 'ppoll', `${count} descriptors cannot be watched at a time`)
  if (count > pollRoom) makeRoom(count)
  const { u32 } = scratch!
  const { u32: polls, address } = polled!
  for (let i = 0; i < count; i++) {
    polls[2 * i] = fds[i]!
    polls[1 + 2 * i] = POLLIN
  }
  let timespec = 0
  if (timeoutMs !== Number.POSITIVE_INFINITY) {
    const ms = Math.max(timeoutMs, 0)
    const seconds = Math.floor(ms / 1000)
    u32[0] = seconds
    u32[1] = 0
    u32[2] = Math.floor((ms - seconds * 1000) * 1e6)
    u32[3] = 0
    timespec = timespecAddress
  }
  const result = ppoll(address, count, timespec, 0)
  if (result < 0) {
    const errno = koffi.errno()
    if (errno !== errnos.EINTR) throw nativeError('ppoll', errnoName(errno), errno, 'the wait failed')
  }
  if (ready !== undefined)
    for (let i = 0; i < count; i++) {
      const found = result > 0 ? polls[1 + 2 * i]! >>> 16 : 0
      ready[i] = found === 0 ? 0 : (found & POLLIN) !== 0 ? 1 : 2
    }
  return Math.max(result, 0)
}

/** A descriptor that is readable from `signalEventFd` until `drainEventFd`, for all threads of the process. */
export function makeEventFd(): number {
  const { eventfd, koffi } = requireLibc('eventfd')
  const fd = eventfd(0, EFD_NONBLOCK_CLOEXEC)
  if (fd >= 0) return fd
  const errno = koffi.errno()
  throw nativeError('eventfd', errnoName(errno), errno, 'no event descriptor could be made')
}

export function signalEventFd(fd: number): void {
  const { write, koffi } = requireLibc('write')
  scratch!.u32[4] = 1
  scratch!.u32[5] = 0
  // EAGAIN: the count is at its end, so the descriptor is readable all the same.
  if (write(fd, valueAddress, 8) === 8 || koffi.errno() === errnos.EAGAIN) return
  throw nativeError('write', errnoName(koffi.errno()), koffi.errno(), `event descriptor ${fd} could not be signalled`)
}

/** Makes it unreadable again; returns true if it had been signalled. */
export function drainEventFd(fd: number): boolean {
  const { read, koffi } = requireLibc('read')
  if (read(fd, valueAddress, 8) === 8) return true
  const errno = koffi.errno()
  if (errno === errnos.EAGAIN) return false
  throw nativeError('read', errnoName(errno), errno, `event descriptor ${fd} could not be read`)
}

const O_NONBLOCK_CLOEXEC = 0o2004000
const O_RDWR = 2
const O_CLOEXEC = 0o2000000

/** A pipe that does not block: the descriptors for reading and for writing, which `closeFd` closes. */
export function makePipe(): [read: number, write: number] {
  return pipeOf(O_NONBLOCK_CLOEXEC)
}

/** The same with room for one message (O_DIRECT): it is full as soon as something is in it. */
export function makeSlotPipe(): [read: number, write: number] {
  const { fcntl } = requireLibc('fcntl')
  const ends = pipeOf(O_NONBLOCK_CLOEXEC | (thisProcessor?.openFlags.direct ?? 0))
  // The least is a page, which has one message.
  fcntl(ends[1], F_SETPIPE_SZ, 1)
  return ends
}

function pipeOf(flags: number): [read: number, write: number] {
  const { pipe2, koffi } = requireLibc('pipe2')
  if (pipe2(valueAddress, flags) === 0) return [scratch!.u32[4]!, scratch!.u32[5]!]
  const errno = koffi.errno()
  throw nativeError('pipe2', errnoName(errno), errno, 'no pipe could be made')
}

/**
 * A pipe with one description for both directions, so that reading never finds an end: its only descriptor. A thread that takes it
 * owns it alone, which `fs.openSync` would not allow: Node closes what that opened when the thread ends, too.
 */
export function makeLoopPipe(): number {
  const [read, write] = makePipe()
  try {
    return openAgain(read, O_RDWR | O_NONBLOCK_CLOEXEC)
  } finally {
    closeFd(read)
    closeFd(write)
  }
}

/**
 * Opens a pipe again for reading: the new descriptor has a description of its own. Node does not know it, so that a socket can own it: a
 * worker keeps a list of those that `fs.openSync` gave it, and still regards one that a socket has closed as its own.
 */
export function readAgain(pipe: number, nonBlocking = true): number {
  return openAgain(pipe, nonBlocking ? O_NONBLOCK_CLOEXEC : O_CLOEXEC)
}

/** Opens a pipe again in the same way, for both directions: a writer waits while it is full. */
export function loopAgain(pipe: number, nonBlocking: boolean): number {
  return openAgain(pipe, O_RDWR | (nonBlocking ? O_NONBLOCK_CLOEXEC : O_CLOEXEC))
}

function openAgain(pipe: number, flags: number): number {
  const { open, koffi } = requireLibc('open')
  const fd = open(`/proc/self/fd/${pipe}`, flags)
  if (fd >= 0) return fd
  const errno = koffi.errno()
  throw nativeError('open', errnoName(errno), errno, `pipe ${pipe} could not be opened again`)
}

/** Makes `fd` another name of the file of `of`; its former file is closed. */
export function becomeDescriptor(fd: number, of: number): void {
  const { dup3, koffi } = requireLibc('dup3')
  if (dup3(of, fd, O_CLOEXEC) === fd) return
  const errno = koffi.errno()
  throw nativeError('dup3', errnoName(errno), errno, `descriptor ${fd} could not become ${of}`)
}

/**
 * Makes a descriptor with `make` and gives it to Node, which closes it when this thread ends; before that `fs.closeSync` does. Returns its
 * number. Throws as `make` does, and NativeError.
 */
export function ownedByThread(make: () => number): number {
  // A thread that ended in between would leave it open.
  return gated(() => {
    const made = make()
    let owned = -1
    try {
      // Node closes what its own functions have opened, whatever that has become.
      owned = openSync('/', 'r')
      becomeDescriptor(owned, made)
      return owned
    } catch (error) {
      if (owned >= 0) closeSync(owned)
      if (error instanceof NativeError) throw error
      const { code = '', errno = 0 } = error as NodeJS.ErrnoException
      throw nativeError('open', code, -errno, 'no descriptor could be made')
    } finally {
      closeFd(made)
    }
  })
}

/** Reads all bytes in a pipe, so that it is unreadable until the next write. */
export function drainPipe(fd: number): void {
  const { read, koffi } = requireLibc('read')
  for (;;) {
    const n = read(fd, drainedAddress, drainedBytes)
    if (n === drainedBytes) continue
    if (n >= 0 || koffi.errno() === errnos.EAGAIN || koffi.errno() === errnos.EINTR) return
    throw nativeError('read', errnoName(koffi.errno()), koffi.errno(), `pipe ${fd} could not be read`)
  }
}

/** Writes one byte. A pipe that is full, or that has no reader any more, is left as it is. */
export function writeByte(fd: number): void {
  requireLibc('write').write(fd, valueAddress, 1)
}

/** Writes up to 16 bytes; returns the number of bytes taken, or a negative errno. Called often, so it allocates nothing. */
export function writeEvent(fd: number, bytes: Uint8Array): number {
  const { write, koffi } = requireLibc('write')
  scratch!.u8.set(bytes, valueAt)
  const written = Number(write(fd, valueAddress, bytes.length))
  return written >= 0 ? written : -koffi.errno()
}

/** Closes a descriptor that this folder made. */
export function closeFd(fd: number): void {
  const { close, koffi } = requireLibc('close')
  if (close(fd) === 0 || koffi.errno() === errnos.EINTR) return
  throw nativeError('close', errnoName(koffi.errno()), koffi.errno(), `descriptor ${fd} could not be closed`)
}
