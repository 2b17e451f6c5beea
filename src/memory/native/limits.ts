/**
 * Limits of open files (RLIMIT_NOFILE): Node.js raises its own at its start, and what it starts would have that, too. And a mark that
 * a process and all that it starts have, whatever they do about their environment: the limit of file locks, which Linux has not looked at since 2.6
 * (getrlimit(2)), and which /proc/PID/limits shows.
 */
import { errnoName, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const RLIMIT_NOFILE = 7
const RLIMIT_LOCKS = 10
/** Marks are taken from so many numbers below the limit that there is. */
const marks = 2 ** 40
/** Value above which a limit counts as unlimited. */
const most = 2 ** 52

/** struct rlimit64: of now, and the most. */
const limits = libc === null ? null : nativeScratch(16)

/** prlimit64 with what `limits` has; `reads`: it gets what is set instead. */
function callLimit(limit: number, reads: boolean): boolean {
  const { address } = limits!
  const { syscall } = requireLibc('prlimit64')
  return Number(syscall(callNumber('prlimit64'), 0, limit, reads ? 0 : address, reads ? address : 0, 0, 0)) === 0
}

/** Sets the limit of open files of this process, which may be at most `hard`. */
export function setOpenFileLimit(soft: number, hard: number): void {
  limits!.u32.set([soft % 2 ** 32, Math.floor(soft / 2 ** 32), hard % 2 ** 32, Math.floor(hard / 2 ** 32)])
  if (callLimit(RLIMIT_NOFILE, false)) return
  const errno = requireLibc('prlimit64').koffi.errno()
  throw nativeError('prlimit64', errnoName(errno), errno, `the limit of open files cannot be ${soft}`)
}

/**
 * Returns a number to mark processes with, which no other processes have; null where this process's limit is too low. `choose` is
 * `randomInt` of node:crypto, which a thread that only sets limits does not load.
 */
export function newMark(choose: (from: number, to: number) => number): number | null {
  if (!callLimit(RLIMIT_LOCKS, true)) return null
  const { u32 } = limits!
  const hard = Math.min(most, u32[2]! + u32[3]! * 2 ** 32)
  return hard > marks ? hard - choose(1, marks) : null
}

/** Marks what `start` starts, and all that comes of it; this process has the mark meanwhile. */
export function withMark<T>(mark: number, start: () => T): T {
  const { u32 } = limits!
  callLimit(RLIMIT_LOCKS, true)
  const before = u32.slice()
  u32.set([mark % 2 ** 32, Math.floor(mark / 2 ** 32)])
  callLimit(RLIMIT_LOCKS, false)
  try {
    return start()
  } finally {
    u32.set(before)
    callLimit(RLIMIT_LOCKS, false)
  }
}

/** The beginning of the line of /proc/PID/limits that a marked process has, as a regular expression. */
export const markedLine = (mark: number): string => `Max file locks  *${mark} `
