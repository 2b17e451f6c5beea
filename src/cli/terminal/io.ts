/**
 * Output of a command, and the signal that interrupts it. `verbena` as a process has the process's streams; a test, or a program that runs
 * commands within itself, has its own (`runWith`), and any number of runs at a time. AsyncLocalStorage finds those of the run of the
 * caller. The process itself stays without it: it slows every promise.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Writable } from 'node:stream'

/** Stream, with the properties that it has if it is a terminal. */
export type OutputStream = Writable & { isTTY?: boolean; columns?: number; hasColors?(): boolean }

export interface Io {
  stdout: OutputStream
  stderr: OutputStream
  /** Signal that is aborted with reason 'SIGINT' or 'SIGTERM', as by Ctrl-C and `kill`; without it these signals of the process count. */
  signal?: AbortSignal
}

interface Run {
  io: Io
  /** Command line, without `verbena`. */
  argv: readonly string[]
  exitCode: number
}

const runs = new AsyncLocalStorage<Run>()
const ofProcess: Run = { io: process, argv: process.argv.slice(2), exitCode: 0 }

/** Returns the run that the caller belongs to. */
export function currentRun(): Run {
  return runs.getStore() ?? ofProcess
}

/** Runs `body`, whose output, and that of all that it starts, goes to `io`. */
export function runWith<T>(io: Io, argv: readonly string[], body: () => T): T {
  return runs.run({ io, argv, exitCode: 0 }, body)
}

/** Sets the exit code of the command that is running: see `exitCodes`. */
export function endWith(exitCode: number): void {
  currentRun().exitCode = exitCode
}
