/**
 * What reaches a thread that rests when nothing else does. Who cannot wake a thread of another process, since its pipe cannot be opened,
 * touches the file of the segment; a thread that rests for long watches that file (inotify), so that it need not look by itself often.
 */
import { closeFd, commitShared, FileWatcher, NativeError, sharedDescriptor } from './native/index.ts'

/** A descriptor that can be read once the file of a segment was touched. Throws `NativeError`: a user has 128 of these. */
export function watchTouches(buffer: ArrayBuffer): number {
  const watcher = new FileWatcher()
  try {
    watcher.watch(sharedDescriptor(buffer), false)
    return watcher.fd
  } catch (error) {
    closeFd(watcher.fd)
    throw error
  }
}

/** Touches the file of a segment: asks for memory that it has. */
export function touch(buffer: ArrayBuffer): void {
  try {
    commitShared(buffer, 0, 1)
  } catch (error) {
    // No memory: its threads look by themselves, later.
    if (!(error instanceof NativeError)) throw error
  }
}
