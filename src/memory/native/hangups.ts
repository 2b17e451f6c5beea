/** Notification that no process has the other end of pipes any more (epoll), however many there are. */
import { errnoName, errnos, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const EPOLL_CLOEXEC = 0o2000000
const EPOLL_CTL_ADD = 1
const EPOLL_CTL_DEL = 2

/** struct epoll_event: events u32, data u64; packed on x86-64, where old programs of 32 bits have it so. */
const eventBytes = process.arch === 'x64' ? 12 : 16
const dataWord = process.arch === 'x64' ? 1 : 2
const eventWords = eventBytes / 4
const mostEvents = 64
const room = libc === null ? null : nativeScratch(eventBytes * mostEvents)

/** Descriptor that is readable when the other ends of pipes have hung up. */
export class HangupWatcher {
  readonly fd: number

  constructor() {
    const { syscall, koffi } = requireLibc('epoll_create1')
    this.fd = Number(syscall(callNumber('epoll_create1'), EPOLL_CLOEXEC, 0, 0, 0, 0, 0))
    if (this.fd >= 0) return
    const errno = koffi.errno()
    throw nativeError('epoll_create1', errnoName(errno), errno, 'no pipe can be watched')
  }

  /** Watches the end for writing of a pipe, until `unwatch`, which comes before the descriptor is closed. */
  watch(fd: number): void {
    // Errors are reported without being requested, and nothing else is wanted.
    this.#control(EPOLL_CTL_ADD, fd)
  }

  unwatch(fd: number): void {
    this.#control(EPOLL_CTL_DEL, fd)
  }

  #control(operation: number, fd: number): void {
    const { syscall, koffi } = requireLibc('epoll_ctl')
    const { u32, address } = room!
    u32.fill(0, 0, eventWords)
    u32[dataWord] = fd
    if (Number(syscall(callNumber('epoll_ctl'), this.fd, operation, fd, address, 0, 0)) === 0) return
    const errno = koffi.errno()
    throw nativeError('epoll_ctl', errnoName(errno), errno, 'the pipe cannot be watched')
  }

  /** Calls `hungUp` with the descriptors whose other end is closed; it has to unwatch them, or they are reported again. */
  drain(hungUp: (fd: number) => void): void {
    const { syscall, koffi } = requireLibc('epoll_pwait')
    const { u32, address } = room!
    for (;;) {
      const count = Number(syscall(callNumber('epoll_pwait'), this.fd, address, mostEvents, 0, 0, 0))
      if (count < 0) {
        const errno = koffi.errno()
        if (errno === errnos.EINTR) continue
        throw nativeError('epoll_pwait', errnoName(errno), errno, 'hang-ups cannot be read')
      }
      // Each call may use this memory for the next operation.
      const fds = Array.from({ length: count }, (_, i) => u32[i * eventWords + dataWord]!)
      for (const fd of fds) hungUp(fd)
      if (count < mostEvents) return
    }
  }
}
