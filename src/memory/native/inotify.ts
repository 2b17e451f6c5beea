/** Notification that files change (inotify), those without a name too: they are watched by their descriptors. */
import { errnoName, errnos, NativeError, nativeError } from './error.ts'
import { libc, nativeScratch, requireLibc } from './libc.ts'
import { callNumber } from './system-calls.ts'

const IN_NONBLOCK_CLOEXEC = 0o2004000
const IN_MODIFY = 2
const IN_ATTRIB = 4
const IN_CLOSE_WRITE = 8
const IN_Q_OVERFLOW = 0x4000
const IN_IGNORED = 0x8000

const roomBytes = 16_384
const room = libc === null ? null : nativeScratch(roomBytes)
const pathBytes = 64
const path = libc === null ? null : nativeScratch(pathBytes)

export interface FileEvents {
  /** Called when the file was written to. */
  modified(watch: number): void
  /** The last descriptor and the last mapping of one description that could write have gone; there may be others. */
  closed(watch: number): void
  /** Events were lost: each file may have been written to, or closed. */
  overflowed(): void
}

/** Events for which a file is watched: writes to it, and the ends of its descriptions; or changes of its times. */
export const watchedFor: Readonly<Record<'changes' | 'touches', number>> = {
  changes: IN_MODIFY | IN_CLOSE_WRITE,
  touches: IN_ATTRIB,
}

/** Sets the times of the file of a descriptor to now, which needs the right to write to it. */
export function touchFile(file: number): void {
  requireLibc('futimens').futimens(file, 0)
}

/** A descriptor that is readable when files have changed. */
export class FileWatcher {
  readonly fd: number

  constructor() {
    const { syscall, koffi } = requireLibc('inotify_init1')
    this.fd = Number(syscall(callNumber('inotify_init1'), IN_NONBLOCK_CLOEXEC, 0, 0, 0, 0, 0))
    if (this.fd >= 0) return
    const errno = koffi.errno()
    const name = errnoName(errno)
    if (errno !== errnos.EMFILE) throw nativeError('inotify_init1', name, errno, 'no file can be watched')
    throw new NativeError(
      ...([name, errno, 'inotify_init1'] as const),
      'no file can be watched: programs of this user have all the inotify instances that one may have (sysctl fs.inotify.max_user_instances), or this process all its descriptors',
    )
  }

  /** Watches the file of a descriptor; the number that its events have. */
  watch(file: number, mask: number = watchedFor.changes): number {
    const { syscall, koffi } = requireLibc('inotify_add_watch')
    path!.u8.fill(0)
    new TextEncoder().encodeInto(`/proc/self/fd/${file}`, path!.u8)
    const watch = Number(syscall(callNumber('inotify_add_watch'), this.fd, path!.address, mask, 0, 0, 0))
    if (watch >= 0) return watch
    const errno = koffi.errno()
    throw nativeError('inotify_add_watch', errnoName(errno), errno, 'the file cannot be watched')
  }

  unwatch(watch: number): void {
    requireLibc('inotify_rm_watch').syscall(callNumber('inotify_rm_watch'), this.fd, watch, 0, 0, 0, 0)
  }

  /** Reports what has happened since. */
  drain(events: FileEvents): void {
    const { read, koffi } = requireLibc('read')
    const { u32, address } = room!
    for (;;) {
      const length = Number(read(this.fd, address, roomBytes))
      if (length < 0) {
        const errno = koffi.errno()
        if (errno === errnos.EAGAIN) return
        if (errno === errnos.EINTR) continue
        throw nativeError('read', errnoName(errno), errno, 'changes of files cannot be read')
      }
      // struct inotify_event { int wd; uint32_t mask, cookie, len; char name[] }; files have no names here.
      for (let at = 0; at < length; at += 16 + u32[(at >> 2) + 3]!) {
        const watch = u32[at >> 2]! | 0
        const mask = u32[(at >> 2) + 1]!
        if ((mask & IN_Q_OVERFLOW) !== 0) events.overflowed()
        if ((mask & IN_IGNORED) !== 0) continue
        if ((mask & IN_MODIFY) !== 0) events.modified(watch)
        if ((mask & IN_CLOSE_WRITE) !== 0) events.closed(watch)
      }
      if (length < roomBytes / 2) return
    }
  }
}
