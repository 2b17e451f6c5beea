/** Ending by the signal that ended the program. */
import { dumpNoCore } from '../../memory/index.ts'

/** Sends it to this process, which has no handlers of its own any more; returns only if it does not end a process. */
export function dieBy(signal: NodeJS.Signals): void {
  // The program has left a core file, if one was to be.
  dumpNoCore()
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}
