/** Ending as the program has ended. */
import { constants } from 'node:os'
import { dumpNoCore, endAtOnce } from '../../memory/index.ts'
import type { Ended } from '../../run/programs/index.ts'

/** The exit code that means it: of a program that a signal has ended, the one that a shell gives. */
export function exitCodeOf({ code, signal }: Ended): number {
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal]
}

/**
 * Ends this process, which has no handlers of its own any more, by the same code or signal, so that a shell sees how the program ended; by a code
 * that means the signal only where that does not end a process.
 */
export function endLike(ended: Ended): never {
  const { signal } = ended
  if (signal !== null) {
    // The program has left a core file, if one was to be.
    dumpNoCore()
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  }
  endAtOnce(exitCodeOf(ended))
}
