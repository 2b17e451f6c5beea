/**
 * Numbers of system calls and layouts that differ between processors: what a filter of programs' calls has to know, and what the C
 * library has no function for, or not everywhere. `test/memory/system-calls.test.ts` compares them with the kernel's headers.
 */

/** Calls that arm64 does not have: there the calls with `at` in their names do the same. */
type OldCall = 'dup2' | 'open' | 'stat' | 'lstat' | 'access' | 'readlink'

export type SystemCall =
  | 'getxattr'
  | 'lgetxattr'
  | 'listxattr'
  | 'llistxattr'
  | 'read'
  | 'write'
  | 'fstat'
  | 'ioctl'
  | 'dup'
  | 'dup3'
  | 'fcntl'
  | 'socket'
  | 'openat'
  | 'newfstatat'
  | 'readlinkat'
  | 'faccessat'
  | 'statx'
  | 'openat2'
  | 'faccessat2'
  | 'seccomp'
  | 'memfd_create'
  | 'epoll_create1'
  | 'epoll_ctl'
  | 'epoll_pwait'
  | 'inotify_init1'
  | 'inotify_add_watch'
  | 'inotify_rm_watch'
  | 'waitid'
  | 'prlimit64'
  | 'ptrace'
  | 'tkill'
  | 'rt_sigprocmask'

export interface Processor {
  /** AUDIT_ARCH_…: architecture that seccomp reports for a call, because a 64-bit process can make calls by the numbers of 32 bits. */
  readonly auditArch: number
  readonly calls: Readonly<Record<SystemCall, number> & Partial<Record<OldCall, number>>>
  /** struct stat: its size, where the mode is, and the number of a device. */
  readonly stat: { readonly bytes: number; readonly mode: number; readonly rdev: number }
  /** O_DIRECTORY and other flags whose values differ between processors. */
  readonly openFlags: { readonly directory: number; readonly noFollow: number; readonly direct: number }
}

export const processors: Readonly<Record<'x64' | 'arm64', Processor>> = {
  x64: {
    auditArch: 0xc000003e,
    calls: {
      read: 0,
      write: 1,
      open: 2,
      stat: 4,
      fstat: 5,
      lstat: 6,
      rt_sigprocmask: 14,
      ioctl: 16,
      access: 21,
      dup: 32,
      dup2: 33,
      socket: 41,
      fcntl: 72,
      readlink: 89,
      ptrace: 101,
      tkill: 200,
      getxattr: 191,
      lgetxattr: 192,
      listxattr: 194,
      llistxattr: 195,
      epoll_ctl: 233,
      waitid: 247,
      inotify_add_watch: 254,
      inotify_rm_watch: 255,
      openat: 257,
      newfstatat: 262,
      readlinkat: 267,
      faccessat: 269,
      epoll_pwait: 281,
      epoll_create1: 291,
      dup3: 292,
      inotify_init1: 294,
      prlimit64: 302,
      seccomp: 317,
      memfd_create: 319,
      statx: 332,
      openat2: 437,
      faccessat2: 439,
    },
    stat: { bytes: 144, mode: 24, rdev: 40 },
    openFlags: { directory: 0o200000, noFollow: 0o400000, direct: 0o40000 },
  },
  arm64: {
    auditArch: 0xc00000b7,
    calls: {
      getxattr: 8,
      lgetxattr: 9,
      listxattr: 11,
      llistxattr: 12,
      epoll_create1: 20,
      epoll_ctl: 21,
      epoll_pwait: 22,
      dup: 23,
      dup3: 24,
      fcntl: 25,
      inotify_init1: 26,
      inotify_add_watch: 27,
      inotify_rm_watch: 28,
      ioctl: 29,
      faccessat: 48,
      openat: 56,
      read: 63,
      write: 64,
      readlinkat: 78,
      newfstatat: 79,
      fstat: 80,
      waitid: 95,
      ptrace: 117,
      tkill: 130,
      rt_sigprocmask: 135,
      socket: 198,
      prlimit64: 261,
      seccomp: 277,
      memfd_create: 279,
      statx: 291,
      openat2: 437,
      faccessat2: 439,
    },
    stat: { bytes: 128, mode: 16, rdev: 32 },
    openFlags: { directory: 0o40000, noFollow: 0o100000, direct: 0o200000 },
  },
}

/** Constants of this processor; undefined where programs cannot be served. */
export const thisProcessor: Processor | undefined = processors[process.arch as keyof typeof processors]

/** Returns the number of the call on this processor; −1, which no kernel has, on one that is not listed. */
export function callNumber(name: SystemCall): number {
  return thisProcessor?.calls[name] ?? -1
}
