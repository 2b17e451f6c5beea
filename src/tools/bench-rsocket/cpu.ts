/** The processor time of this thread, and of the whole process. */
import { readFileSync } from 'node:fs'
import { nativeAvailable, threadCpuNs } from '../../memory/index.ts'

/** Number of cores that were busy: 0.5 is half of one. NaN where it is not known. */
export interface CpuUse {
  thread: number
  /** Use of the whole process, including the other end and threads that serve a device. */
  process: number
}

export const noCpu: CpuUse = { thread: Number.NaN, process: Number.NaN }

/** Returns the nanoseconds of both clocks. */
export function cpuNow(): CpuUse {
  const { user, system } = process.cpuUsage()
  return { thread: nativeAvailable ? threadCpuNs() : schedulerNs(), process: (user + system) * 1000 }
}

/** Returns this thread's nanoseconds on a processor. Linux lists three: on a processor, waiting for one, time slices. */
function schedulerNs(): number {
  try {
    return Number.parseInt(readFileSync('/proc/thread-self/schedstat', 'latin1'), 10)
  } catch {
    return Number.NaN
  }
}

export function cpuSince(before: CpuUse, elapsedNs: number): CpuUse {
  const now = cpuNow()
  return { thread: (now.thread - before.thread) / elapsedNs, process: (now.process - before.process) / elapsedNs }
}
