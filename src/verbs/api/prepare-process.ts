/**
 * Makes the segment that the threads of a process share, without native code: for a thread that starts others before it has loaded the
 * rest of the library.
 */
import { prepareProcessMemory } from '../../memory/index.ts'
import { segmentOptions } from './segment-options.ts'

/** Workers started from now on find the same devices as this thread. */
export function prepareProcess(): void {
  try {
    prepareProcessMemory(segmentOptions())
  } catch {
    // Opening a device reports the error.
  }
}
