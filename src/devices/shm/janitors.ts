/**
 * Janitors of this process, which notice that other processes of a named segment die. In a program that returns to its event loop the
 * janitor is there and looks now and then; a thread of its own, which costs memory and its start, is only for a program that does not.
 */
import { isMainThread } from 'node:worker_threads'
import { inRootContext } from '../../memory/index.ts'
import type { Host } from '../../verbs/provider/index.ts'
import { Janitor } from './janitor.ts'
import { startDeviceThread } from './thread-data.ts'

/** Segments that this thread has open by name; `byThread`: a thread watches the segment. */
const watched = new Map<string, { host: Host; byThread: boolean }>()

/** Watches a segment that this thread has opened. Other threads of the process may compute, or end, so it relies on none of them. */
export function watchInLoop(name: string, host: Host): void {
  if (watched.has(name)) return
  inRootContext(() => new Janitor(host, 'loop'))
  watched.set(name, { host, byThread: false })
}

/**
 * Has a thread watch the segment, so that deaths are noticed at once even while all threads of the program poll, or wait outside their
 * event loops.
 */
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
    // No thread can be started.
    failed(error)
  }
}
