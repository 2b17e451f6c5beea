/**
 * Notification of a resting thread that no wake-up reaches. A thread that cannot wake a thread of another process, since its pipe cannot be
 * opened, touches the file of the segment; a thread that rests for long watches that file (inotify), so that it need not look by itself
 * often.
 *
 * A user has 128 such watchers (fs.inotify.max_user_instances). So only the main thread has one for each segment, and a thread that drives
 * adapters; other threads look.
 */
import { isMainThread } from 'node:worker_threads'
import { closeFd, FileWatcher, sharedDescriptor, touchFile, watchedFor } from './native/index.ts'

let rests = isMainThread

/** Notes that this thread sleeps most of the time: it is to be notified, rather than to look. */
export function letThreadRest(): void {
  rests = true
}

/** A descriptor that can be read once the file of a segment was touched; −1 for a thread that looks. Throws `NativeError` where there is none left. */
export function watchTouches(buffer: ArrayBuffer): number {
  if (!rests) return -1
  const watcher = new FileWatcher()
  try {
    watcher.watch(sharedDescriptor(buffer), watchedFor.touches)
    return watcher.fd
  } catch (error) {
    closeFd(watcher.fd)
    throw error
  }
}

/** Touches the file of a segment. Allocation does not count as a touch. */
export function touch(buffer: ArrayBuffer): void {
  touchFile(sharedDescriptor(buffer))
}
