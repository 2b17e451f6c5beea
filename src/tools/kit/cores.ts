/**
 * Cores for the two ends of a run on one host. The scheduler tends to put two processes that have just communicated on the
 * same core, where polling for one another takes a time slice instead of a microsecond.
 */
import { pinThread, processCores } from '../../memory/index.ts'

let pinned = false

/** Puts this thread on a core that the other end does not use, if there are two. Returns true if it did. */
export function pinApart(role: 'client' | 'server', cores: readonly number[] = processCores): boolean {
  if (cores.length < 2) return false
  const done = pinThread([role === 'server' ? cores[0]! : cores[1]!])
  pinned ||= done
  return done
}

/** Gives this thread back all cores of the process, for a thread that continues when the program has ended. */
export function unpin(): void {
  if (pinned) pinThread([...processCores])
  pinned = false
}
