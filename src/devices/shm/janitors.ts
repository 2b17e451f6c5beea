/**
 * Who in this process notices that others of a named segment die. In a program that returns to its event loop that is a janitor
 * there, which looks now and then; a thread of its own, which costs memory and its start, is only for one that does not.
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
  inRootContext(() => new Janitor(host, 'loop'))
  watched.set(name, { host, byThread: false })
}

/** From now on it is noticed at once even while all that the program has polls, or waits outside its event loops. */
export function watchByThread(name: string): void {
  const segment = watched.get(name)
  if (segment === undefined || segment.byThread) return
  segment.byThread = true
  // A thread that a worker has started ends with it, so that the main thread never relies on one.
  if (!isMainThread && segment.host.segment.hasJanitorThread()) return
  const failed = (error: unknown): void =>
    process.emitWarning(
      `this process does not notice that others of shm:${name} die while it waits outside its event loop: ${(error as Error).message}`,
      'VerbenaWarning',
    )
  try {
    startDeviceThread('janitor-thread', { name, inode: segment.host.segment.inode }).on('error', failed)
  } catch (error) {
    // No thread is to be had.
    failed(error)
  }
}
