/** What the processes of a group have read so far, by Linux's accounting: whether a program still takes its input can be seen by nothing else. */
import { readdirSync, readFileSync } from 'node:fs'

/** Bytes; 0 where that cannot be seen. */
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
