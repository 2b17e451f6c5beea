/** What doors tell of programs, and to whom. Where nobody wants to know there is no observer, and nothing is put together. */
import type { ProgramRecord } from './records.ts'

/** The process that has opened a device. */
export interface Observed {
  readonly pid: number
  readonly program: string
}

export interface Observer {
  /** Whether records are to have all of their fields; else those that say why something failed, and what is counted, will do. */
  readonly detailed: boolean
  /** The process with this number, with the name of what it executes now. */
  observed(pid: number): Observed
  record(record: ProgramRecord): void
}

/** Microseconds since 1970. */
export function nowUs(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000)
}
