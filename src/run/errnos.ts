/** Errors of doors' calls: the errnos that the kernel's RDMA files return. */
import { errnos } from '../memory/index.ts'
import { Errno } from './door.ts'

/** Errnos that programs receive; all others become EIO. */
const answered = [
  'EPERM',
  'ENOENT',
  'EIO',
  'EBADF',
  'EAGAIN',
  'ENOMEM',
  'EACCES',
  'EFAULT',
  'EBUSY',
  'ENODEV',
  'EINVAL',
  'EMFILE',
  'ENOTTY',
  'ENOSPC',
  'ENOSYS',
  'ENODATA',
  'EPROTONOSUPPORT',
  'EOPNOTSUPP',
  'EADDRINUSE',
  'EADDRNOTAVAIL',
  'ENETUNREACH',
  'EHOSTUNREACH',
] as const

export type ErrnoName = (typeof answered)[number]

/** True if programs receive this code unchanged. */
export const isAnswered = (code: string): code is ErrnoName => (answered as readonly string[]).includes(code)

/** Ends a command; `reason` names the verb, what is wrong and what is allowed. */
export function fail(code: ErrnoName, reason: string): never {
  throw new Errno(errnos[code], reason)
}
