/**
 * Seccomp user notification: the system calls of a thread, and of all that it starts, are filtered, and those that the filter selects wait
 * until another thread has answered them. seccomp(2), seccomp_unotify(2).
 */
import { constants } from 'node:os'
import { errnoName, errnos, NativeError } from './error.ts'
import { type Libc, libc, nativeScratch, requireLibc } from './libc.ts'
import type { BpfInstruction } from './packet-ring.ts'
import { callNumber } from './system-calls.ts'

const { EINPROGRESS } = constants.errno
const PR_SET_NO_NEW_PRIVS = 38
const SECCOMP_SET_MODE_FILTER = 1
const SECCOMP_FILTER_FLAG_NEW_LISTENER = 8
const SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV = 32
const NOTIF_RECV = 0xc0502100
const NOTIF_SEND = 0xc0182101
const NOTIF_ID_VALID = 0x40082102
const NOTIF_ADDFD = 0xc0182103
const NOTIF_SET_FLAGS = 0x40082104
const USER_NOTIF_FD_SYNC_WAKE_UP = 1
const USER_NOTIF_FLAG_CONTINUE = 1
const ADDFD_FLAG_SETFD = 1
const ADDFD_FLAG_SEND = 2
const O_CLOEXEC = 0o2000000
const SIG_SETMASK = 2
/** Bytes of the kernel's sigset_t. */
const signalSetBytes = 8

export interface InstalledFilter {
  /** The descriptor of notifications, for all threads of the process. */
  readonly listener: number
  /**
   * True if only signals that kill interrupt a call that is being answered (Linux 5.19). Otherwise any signal with a handler has the kernel
   * repeat it, so that a command may execute twice.
   */
  readonly killable: boolean
}

/**
 * Filters the system calls of this thread and of what it starts, for ever. Privileges are given up (no_new_privs: no setuid programs) only
 * where the kernel requires it. Throws `NativeError`: EBUSY where a filter has a listener already, EINVAL where the kernel does not support
 * it.
 */
export function installFilter(program: readonly BpfInstruction[]): InstalledFilter {
  const c = requireLibc('seccomp')
  const filter = nativeScratch(16 + 8 * program.length)
  const at = filter.address + 16
  filter.u32[0] = program.length
  filter.u32[2] = at % 2 ** 32
  filter.u32[3] = Math.floor(at / 2 ** 32)
  program.forEach(({ code, jt, jf, k }, i) => {
    filter.u32[4 + 2 * i] = code | (jt << 16) | (jf << 24)
    filter.u32[5 + 2 * i] = k
  })
  let flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
  for (;;) {
    const listener = Number(c.syscall(callNumber('seccomp'), SECCOMP_SET_MODE_FILTER, flags, filter.address, 0, 0, 0))
    if (listener >= 0) return { listener, killable: (flags & SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) !== 0 }
    const errno = c.koffi.errno()
    if (errno === errnos.EACCES && c.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) === 0) continue
    if (errno === errnos.EINVAL && flags !== SECCOMP_FILTER_FLAG_NEW_LISTENER) {
      flags = SECCOMP_FILTER_FLAG_NEW_LISTENER
      continue
    }
    throw new NativeError(errnoName(errno), errno, 'seccomp', 'the filter cannot be installed')
  }
}

/** Word offsets in struct seccomp_notif: id, pid, flags, number, architecture, instruction pointer, six arguments. */
const Notif = { id: 0, pid: 2, number: 4, arguments: 8, words: 20 } as const
const scratch = libc === null ? null : nativeScratch(80 + 24 + 24 + 2 * signalSetBytes)
const notifAddress = scratch?.address ?? 0
const answerWord = 20
const answerAddress = notifAddress + 80
const addWord = 26
const addAddress = notifAddress + 104
/** Words of all signals, and of those that this thread had blocked. */
const allSignalsWord = 32
const allSignalsAddress = notifAddress + 128
const signalsBeforeAddress = allSignalsAddress + signalSetBytes
scratch?.u32.fill(0xffffffff, allSignalsWord, allSignalsWord + signalSetBytes / 4)

/** The notification that was received last, and the answer to it. One thread has one of these. */
export class Notification {
  readonly #listener: number
  readonly #libc: Libc
  readonly #u32: Uint32Array

  constructor(listener: number) {
    this.#listener = listener
    this.#libc = requireLibc('ioctl')
    this.#u32 = scratch!.u32
  }

  /** The thread that calls, as this process sees it; 0 if it does not. */
  get tid(): number {
    return this.#u32[Notif.pid]!
  }

  /** The number of the call. */
  get number(): number {
    return this.#u32[Notif.number]!
  }

  /** The low 32 bits of an argument, which is what calls take of descriptors and flags. */
  word(index: number): number {
    return this.#u32[Notif.arguments + 2 * index]!
  }

  /** An argument as a number; above 2^53 it is not exact. */
  argument(index: number): number {
    return this.#u32[Notif.arguments + 2 * index]! + this.#u32[Notif.arguments + 2 * index + 1]! * 2 ** 32
  }

  /**
   * Sets whether a caller and the thread that answers wake each other on the processor on which they run, as the one sleeps while the other
   * works. Linux 6.6; an earlier kernel ignores it.
   */
  wakeInPlace(does: boolean): void {
    // The flags are the argument itself.
    this.#libc.ioctl(this.#listener, NOTIF_SET_FLAGS, does ? USER_NOTIF_FD_SYNC_WAKE_UP : 0)
  }

  /** Takes the next one, and waits for it if there is none; false if the caller has gone meanwhile. */
  receive(): boolean {
    // The kernel wants zeros.
    this.#u32.fill(0, 0, Notif.words)
    if (this.#libc.ioctl(this.#listener, NOTIF_RECV, notifAddress) === 0) return true
    const errno = this.#libc.koffi.errno()
    if (errno === errnos.ENOENT || errno === errnos.EINTR) return false
    throw new NativeError(errnoName(errno), errno, 'ioctl', 'no notification could be received')
  }

  /** True if the caller still waits: the memory that was read belonged to it. */
  get valid(): boolean {
    return this.#ioctl(NOTIF_ID_VALID, notifAddress) === 0
  }

  /** The call returns `value`. False if the caller has gone. */
  answer(value: number): boolean {
    return this.#send(value, 0, 0)
  }

  /** The call fails with this errno, which is positive. */
  fail(errno: number): boolean {
    return this.#send(0, -errno, 0)
  }

  /** The kernel executes the call as if there was no filter. */
  proceed(): boolean {
    return this.#send(0, 0, USER_NOTIF_FLAG_CONTINUE)
  }

  #send(value: number, error: number, flags: number): boolean {
    const u32 = this.#u32
    u32[answerWord] = u32[Notif.id]!
    u32[answerWord + 1] = u32[Notif.id + 1]!
    u32[answerWord + 2] = value >>> 0
    u32[answerWord + 3] = Math.floor(value / 2 ** 32) >>> 0
    u32[answerWord + 4] = error >>> 0
    u32[answerWord + 5] = flags
    const errno = this.#ioctl(NOTIF_SEND, answerAddress)
    if (errno === 0) return true
    // It has been answered.
    if (errno === errnos.ENOENT || errno === EINPROGRESS) return false
    throw new NativeError(errnoName(errno), errno, 'ioctl', 'a system call could not be answered')
  }

  /** 0 or an errno. These two wait for a lock alone, and have done nothing where a signal of this thread ends that. */
  #ioctl(request: number, address: number): number {
    for (;;) {
      if (this.#libc.ioctl(this.#listener, request, address) === 0) return 0
      const errno = this.#libc.koffi.errno()
      if (errno !== errnos.EINTR) return errno
    }
  }

  /**
   * Puts a copy of `descriptor` into the caller's process; returns its number there, or a negative errno. `number`: which one it
   * gets, whatever that was before; −1: the lowest that is free. With `sends` the call returns that number, and is answered.
   */
  addDescriptor(descriptor: number, closeOnExec: boolean, number: number, sends: boolean): number {
    const u32 = this.#u32
    u32[addWord] = u32[Notif.id]!
    u32[addWord + 1] = u32[Notif.id + 1]!
    u32[addWord + 2] = (number >= 0 ? ADDFD_FLAG_SETFD : 0) | (sends ? ADDFD_FLAG_SEND : 0)
    u32[addWord + 3] = descriptor
    u32[addWord + 4] = Math.max(number, 0)
    u32[addWord + 5] = closeOnExec ? O_CLOEXEC : 0
    // A signal of this thread, such as a profiler's, that comes while the kernel waits for the caller would take the descriptor back, and leave an answer of 0.
    const { syscall } = this.#libc
    const sigprocmask = callNumber('rt_sigprocmask')
    if (sends) syscall(sigprocmask, SIG_SETMASK, allSignalsAddress, signalsBeforeAddress, signalSetBytes, 0, 0)
    const result = this.#add()
    if (sends) syscall(sigprocmask, SIG_SETMASK, signalsBeforeAddress, 0, signalSetBytes, 0, 0)
    return result
  }

  #add(): number {
    for (;;) {
      const result = this.#libc.ioctl(this.#listener, NOTIF_ADDFD, addAddress)
      if (result >= 0) return result
      const errno = this.#libc.koffi.errno()
      // A signal is just being delivered to the caller, which may still wait.
      if (errno === EINPROGRESS || errno === errnos.EINTR) {
        if (this.valid) continue
        return -errnos.ENOENT
      }
      return -errno
    }
  }
}
