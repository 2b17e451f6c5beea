/**
 * What reaches a thread that rests when nothing else does. Who cannot wake a thread of another process, since its pipe cannot be opened,
 * touches the file of the segment; a thread that rests for long watches that file (inotify), so that it need not look by itself often.
 * One descriptor for all segments of a thread: a user has 128 of these.
 */
import { commitShared, FileWatcher, NativeError, sharedDescriptor } from './native/index.ts'

let watcher: FileWatcher | null | undefined

/** Watches the file of a segment; the descriptor that can be read once one is touched, −1 if there is none to be had. */
export function watchTouches(buffer: ArrayBuffer): number {
  try {
    if (watcher === undefined) watcher = new FileWatcher()
    watcher?.watch(sharedDescriptor(buffer), false)
    return watcher?.fd ?? -1
  } catch (error) {
    if (!(error instanceof NativeError)) throw error
    watcher ??= null
    return -1
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
