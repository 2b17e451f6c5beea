/** A process that has all the open files that it may have. */
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { outOfDescriptors, setOpenFileLimit } from '../../src/memory/native/index.ts'

/** Runs `work` while this process can open no file. */
export function withoutDescriptors(work: () => void): void {
  const [, soft, hard] = /^Max open files\s+(\d+)\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))!
  const taken: number[] = []
  // Not lower: what waits for descriptors may wait for so many.
  setOpenFileLimit(Math.max(...readdirSync('/proc/self/fd').map(Number)) + 1, Number(hard))
  try {
    for (;;)
      try {
        taken.push(openSync('/dev/null', 'r'))
      } catch (error) {
        if (outOfDescriptors(error)) break
        throw error
      }
    work()
  } finally {
    for (const fd of taken) closeSync(fd)
    setOpenFileLimit(Number(soft), Number(hard))
  }
}
