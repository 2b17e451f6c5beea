/**
 * A call to the operating system that failed. The text states what was attempted, why it failed and what to do about it; `code` is the
 * stable name of the error (`ENOSPC`), `errno` its number here, `syscall` the call.
 */

export class NativeError extends Error {
  override readonly name = 'NativeError'
  readonly code: string
  readonly errno: number
  readonly syscall: string

  constructor(code: string, errno: number, syscall: string, message: string) {
    super(`${message} (${syscall}: ${code})`)
    this.code = code
    this.errno = errno
    this.syscall = syscall
  }
}

/** Numbers of the errors that this folder meets; the same on every Linux architecture that Node runs on. */
const errnoNumbers = {
  EPERM: 1,
  ENOENT: 2,
  ESRCH: 3,
  EINTR: 4,
  EIO: 5,
  EBADF: 9,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EFAULT: 14,
  EBUSY: 16,
  EEXIST: 17,
  ENODEV: 19,
  ENOTDIR: 20,
  EINVAL: 22,
  ENFILE: 23,
  EMFILE: 24,
  ENOTTY: 25,
  EFBIG: 27,
  ENOSPC: 28,
  ENOSYS: 38,
  EPIPE: 32,
  ELOOP: 40,
  ENODATA: 61,
  EPROTO: 71,
  EMSGSIZE: 90,
  ENOPROTOOPT: 92,
  EPROTONOSUPPORT: 93,
  EOPNOTSUPP: 95,
  EAFNOSUPPORT: 97,
  EADDRINUSE: 98,
  EADDRNOTAVAIL: 99,
  ENETDOWN: 100,
  ENETUNREACH: 101,
  ECONNRESET: 104,
  ENOBUFS: 105,
  ETIMEDOUT: 110,
  ECONNREFUSED: 111,
  EHOSTUNREACH: 113,
} as const

export const errnos: Readonly<Record<keyof typeof errnoNumbers, number>> = errnoNumbers

/** `EAGAIN` for 11; `errno 200` for a number without a name here. */
export function errnoName(errno: number): string {
  for (const [name, value] of Object.entries(errnoNumbers)) if (value === errno) return name
  return `errno ${errno}`
}

/** True if a call failed since this process, or the system, has all the open files that it may have: perhaps not for long. */
export function outOfDescriptors(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown }
  return code === 'EMFILE' || code === 'ENFILE'
}

/** MiB of a segment for buffers and queues, unless VERBENA_SHM_MIB sets another value. */
export const defaultSegmentMib = 1024

/** Returns the value of VERBENA_SHM_MIB as text, for errors that another value may help with. */
export function segmentSetting(): string {
  const value = process.env.VERBENA_SHM_MIB
  return `it is ${value || `${defaultSegmentMib}, the default`}`
}

const advice: Readonly<Record<string, string | (() => string)>> = {
  EACCES: 'it belongs to another user: use the same account for all programs, or another name',
  EPERM: 'the system does not permit it: check the limits and capabilities of this account or container',
  ENOENT: 'there is no such segment: start the program that makes it first',
  EEXIST: 'it exists already: open it, use another name, or delete it in /dev/shm',
  EROFS: 'it is on a read-only file system: mount a tmpfs at /dev/shm (docker run --tmpfs /dev/shm)',
  ENOSPC: () =>
    `not enough shared memory: delete old segments in /dev/shm, make it larger (docker run --shm-size), or let segments take less (VERBENA_SHM_MIB; ${segmentSetting()})`,
  ENOMEM: () =>
    `not enough memory or address space: ask for less (VERBENA_SHM_MIB; ${segmentSetting()}), or raise \`ulimit -v\` and vm.overcommit_memory`,
  EMFILE: 'too many open files: raise `ulimit -n`',
  ENFILE: 'too many open files in the system',
  ELOOP: 'it is a symbolic link: delete it',
}

/** The error for `what` ("segment 'x' could not be mapped"), with advice for the codes that have any. */
export function nativeError(syscall: string, code: string, errno: number, what: string): NativeError {
  const known = advice[code]
  const todo = typeof known === 'function' ? known() : known
  return new NativeError(code, errno, syscall, todo === undefined ? what : `${what}: ${todo}`)
}
