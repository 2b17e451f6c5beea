/**
 * What this thread does when it exits. One listener of `process` for all of it: programs have ten before Node.js warns of a leak, and a
 * process may have loaded this package more than once.
 */
const callbacks: (() => void)[] = []

/** Calls back on `exit` of `process`, in the order in which this was called. */
export function atExit(callback: () => void): void {
  if (callbacks.length === 0) process.on('exit', exit)
  callbacks.push(callback)
}

function exit(): void {
  for (const callback of callbacks) callback()
}
