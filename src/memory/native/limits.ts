/** Limits of open files (RLIMIT_NOFILE). Node.js raises its own at its start, and what it starts would have that, too. */
import { errnoName, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const RLIMIT_NOFILE = 7
/** struct rlimit64: of now, and the most. */
const limits = libc === null ? null : nativeScratch(16)

/** Sets the limit of this process, which may be at most `hard`. */
export function setOpenFileLimit(soft: number, hard: number): void {
  const { syscall, koffi } = requireLibc('prlimit64')
  const { u32, address } = limits!
  u32.set([soft % 2 ** 32, Math.floor(soft / 2 ** 32), hard % 2 ** 32, Math.floor(hard / 2 ** 32)])
  if (Number(syscall(callNumber('prlimit64'), 0, RLIMIT_NOFILE, address, 0, 0, 0)) === 0) return
  const errno = koffi.errno()
  throw nativeError('prlimit64', errnoName(errno), errno, `the limit of open files cannot be ${soft}`)
}
