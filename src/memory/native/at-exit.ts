/**
 * Callbacks that this thread runs when it exits. There is one listener of `process` for all of them: programs have ten before Node.js warns
 * of a leak, and a process may have loaded this package more than once.
 */
const callbacks: (() => void)[] = []
const last: (() => void)[] = []

/** Calls back on `exit` of `process`, in the order in which this was called. */
export function atExit(callback: () => void): void {
  listen()
  callbacks.push(callback)
}

/** The same after all of those: they may need the threads that this ends. */
export function atExitLast(callback: () => void): void {
  listen()
  last.push(callback)
}

function listen(): void {
  if (callbacks.length + last.length === 0) process.on('exit', exit)
}

function exit(): void {
  for (const callback of [...callbacks, ...last]) callback()
}
