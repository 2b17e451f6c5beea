/**
 * Cores for the two ends of a run on one host. Two processes that have just talked to each other are easily put on the
 * same core, where polling for one another takes a time slice instead of a microsecond.
 */
import { currentCores, pinThread } from '../../memory/index.ts'

/** What this thread may use before it is pinned. */
const available = currentCores()

let pinned = false

/** Puts this thread on a core that the other end does not use, if there are two. True if it did. */
export function pinApart(role: 'client' | 'server', cores: readonly number[] = available): boolean {
  if (cores.length < 2) return false
  const done = pinThread([role === 'server' ? cores[0]! : cores[1]!])
  pinned ||= done
  return done
}

/** Gives this thread back the cores that it had: one that goes on when the program has ended. */
export function unpin(): void {
  if (pinned) pinThread(available)
  pinned = false
}
