/** Ends this process as the program has ended. */
import { constants } from 'node:os'
import { dumpNoCore, endAtOnce } from '../../memory/index.ts'
import type { Ended } from '../../run/programs/index.ts'

/** Returns the exit code of a program; for one that a signal has ended, the code that a shell gives. */
export function exitCodeOf({ code, signal }: Ended): number {
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal]
}

/**
 * Ends this process, which has no handlers of its own any more, by the same code or signal, so that a shell sees how the program ended;
 * where the signal does not end a process, by the exit code that stands for it.
 */
export function endLike(ended: Ended): never {
  const { signal } = ended
  if (signal !== null) {
    // The program has left its own core file, if core dumps are enabled.
    dumpNoCore()
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  }
  endAtOnce(exitCodeOf(ended))
}
