/**
 * Who in this process notices that others of a named segment die. In a program that returns to its event loop that is a janitor
 * there, which costs nothing while nobody dies; a thread of its own, which costs 15 MB and its start, is only for one that does not.
 */
import { isMainThread } from 'node:worker_threads'
import { inRootContext } from '../../memory/index.ts'
import type { Host } from '../../verbs/provider/index.ts'
import { Janitor } from './janitor.ts'
import { startDeviceThread } from './thread-data.ts'

/** The segments that this thread has open by name, and of each whether a thread watches it. */
const watched = new Map<string, { host: Host; byThread: boolean }>()

/** This thread has opened a segment. Others of the process may compute, or end, so that it relies on none of them. */
export function watchInLoop(name: string, host: Host): void {
  if (watched.has(name)) return
  watched.set(name, { host, byThread: false })
  inRootContext(() => new Janitor(host, 'loop'))
}

/** From now on it is noticed at once even while all that the program has polls, or waits outside its event loops. */
export function watchByThread(name: string): void {
  const segment = watched.get(name)
  if (segment === undefined || segment.byThread) return
  segment.byThread = true
  // A thread that a worker has started ends with it, so that the main thread never relies on one.
  if (!isMainThread && segment.host.segment.hasJanitorThread()) return
  startDeviceThread('janitor-thread', { name }).on('error', (error) => {
    const { message } = error as Error
    process.emitWarning(
      `this process no longer notices when others of shm:${name} die while it waits outside its event loop: ${message}`,
      'VerbenaWarning',
    )
  })
}
