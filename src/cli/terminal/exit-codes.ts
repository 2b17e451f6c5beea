/** Exit codes of commands. */
export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130, terminated: 143 } as const

/** Meaning of each exit code, for help and documentation. */
export const exitCodeTexts: Readonly<Record<number, string>> = {
  [exitCodes.done]: 'done',
  [exitCodes.failed]: 'failed: the message on standard error has the reason',
  [exitCodes.usage]: 'usage error: nothing was done',
  [exitCodes.interrupted]: 'interrupted by Ctrl-C (SIGINT)',
  [exitCodes.terminated]: 'ended by SIGTERM; a server that was stopped in order by it ends with 0',
}
