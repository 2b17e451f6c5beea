/** Errnos that doors answer with, by name (errno.h): all processors have these numbers. */
import { Errno } from './door.ts'

export const errnos = {
  EPERM: 1,
  ENOENT: 2,
  EIO: 5,
  EBADF: 9,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EFAULT: 14,
  EBUSY: 16,
  ENODEV: 19,
  EINVAL: 22,
  EMFILE: 24,
  ENOTTY: 25,
  ENOSPC: 28,
  ENOSYS: 38,
  ENODATA: 61,
  EPROTONOSUPPORT: 93,
  EOPNOTSUPP: 95,
  EADDRINUSE: 98,
  EADDRNOTAVAIL: 99,
  ENETUNREACH: 101,
  EHOSTUNREACH: 113,
} as const

export type ErrnoName = keyof typeof errnos

/** Ends a command; `reason` names the verb, what is wrong and what is allowed. */
export function fail(code: ErrnoName, reason: string): never {
  throw new Errno(errnos[code], reason)
}
