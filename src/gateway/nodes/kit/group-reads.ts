/**
 * Bytes that the processes of a group have read so far, by Linux's accounting: nothing else shows whether a program still takes its input.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Returns the number of bytes; 0 where it is not accessible. */
export function bytesReadBy(group: number): number {
  let sum = 0
  let ids: string[]
  try {
    ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return 0
  }
  for (const id of ids) {
    try {
      // pid (name) state ppid pgrp: a name may have anything in it.
      const stat = readFileSync(`/proc/${id}/stat`, 'latin1')
      if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) !== group) continue
      sum += Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${id}/io`, 'latin1'))?.[1] ?? 0)
    } catch {
      // It has ended, or is another user's.
    }
  }
  return sum
}
