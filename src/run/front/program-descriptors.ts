/** Resources within the limits of a program: free descriptor numbers, and the size of files. */
import { lstatSync, readFileSync } from 'node:fs'
import { errnos } from '../../memory/index.ts'
import { Errno } from '../door.ts'
import type { Numbers } from './numbers.ts'

const quiet = { throwIfNoEntry: false } as const

/**
 * Returns the lowest of these numbers that is free in the process of a thread, −1 if there is none. Putting a descriptor there closes one
 * that is open under its number, as dup2 does; so it must be free.
 */
export function freeNumber(tid: number, { from, to }: Numbers): number {
  for (let number = from; number < to; number++)
    if (lstatSync(`/proc/${tid}/fd/${number}`, quiet) === undefined) return number
  return -1
}

/** Returns the maximum size of files that the process of a thread writes (`ulimit -f`), bytes; Infinity without a limit. */
export function fileSizeLimit(tid: number): number {
  try {
    const soft = /^Max file size\s+(\d+)/m.exec(readFileSync(`/proc/${tid}/limits`, 'latin1'))?.[1]
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

const O_NONBLOCK = 0o4000

/**
 * True if a descriptor of a thread does not block, by the last `fcntl`. Throws an Errno if that cannot be determined: a guess could block a
 * call for ever.
 */
export function isNonBlocking(tid: number, fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/${tid}/fdinfo/${fd}`, 'latin1'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & O_NONBLOCK) !== 0
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EMFILE') throw new Errno(errnos.EMFILE, `verbena run itself has too many files open: ${message}`)
    return false
  }
}
