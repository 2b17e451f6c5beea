/** Interface between doors and the observer of programs. Without an observer no records are made. */
import type { ProgramRecord } from './records.ts'

/** The process that has opened a device. */
export interface Observed {
  readonly pid: number
  readonly program: string
}

export interface Observer {
  /** True if records are to have all of their fields; else those that explain a failure, or are counted, are enough. */
  readonly detailed: boolean
  /** Returns the process with this number, with the name of the file that it executes now. */
  observed(pid: number): Observed
  record(record: ProgramRecord): void
}

/** Microseconds since 1970. */
export function nowUs(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000)
}
