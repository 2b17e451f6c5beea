/**
 * Files that programs have open at doors. A file is identified by its inode, however a program came to its descriptor: opened, duplicated,
 * inherited, or received from another process. No call has to be stopped to detect that no process has a file open any more: for a queue
 * file inotify reports it, and reports doorbells as well; for a polled file the other end of its pipe does.
 */
import {
  closeFd,
  type FileEvents,
  FileWatcher,
  fileIdentity,
  HangupWatcher,
  identify,
  reopenMemoryFile,
} from '../../memory/index.ts'
import { type Door, doorbellPosition, type OpenedFile, type PolledFile, type QueueFile } from '../door.ts'

export interface OpenFile<File extends OpenedFile = OpenedFile> {
  readonly door: Door
  readonly file: File
}

interface Entry<File extends OpenedFile = OpenedFile> extends OpenFile<File> {
  /** File system and inode. */
  readonly dev: number
  readonly ino: number
}

export class OpenFiles implements FileEvents {
  readonly #onFailure: (path: string, error: unknown) => void
  readonly #watcher = new FileWatcher()
  readonly #hangups = new HangupWatcher()
  /** Entries by file system, of which there are two, and inode. */
  readonly #byInode = new Map<number, Map<number, Entry>>()
  readonly #byWatch = new Map<number, Entry<QueueFile>>()
  readonly #byOtherEnd = new Map<number, Entry<PolledFile>>()

  /** `onFailure`: called when a file could not execute a notification; nothing else ends by that. */
  constructor(onFailure: (path: string, error: unknown) => void) {
    this.#onFailure = onFailure
  }

  /** Descriptor that is readable when `look` has work to do. */
  get descriptor(): number {
    return this.#watcher.fd
  }

  /** Descriptor that is readable when `lookForEnds` has work to do. */
  get endsDescriptor(): number {
    return this.#hangups.fd
  }

  get count(): number {
    return this.#byWatch.size + this.#byOtherEnd.size
  }

  /**
   * Adds a file that a door has opened: returns the descriptor for the program, which the caller closes after it was handed over. If it was
   * not, closing it ends the file.
   */
  add(door: Door, file: OpenedFile): number {
    try {
      return file.kind === 'queues' ? this.#addQueues(door, file) : this.#addPolled(door, file)
    } catch (error) {
      file.closed()
      throw error
    }
  }

  #addQueues(door: Door, file: QueueFile): number {
    const { ino, dev } = identityOf(file)
    const theirs = reopenMemoryFile(file.descriptor, doorbellPosition)
    closeFd(file.descriptor)
    const watch = this.#watcher.watch(theirs)
    const entry = { door, file, dev, ino }
    this.#byWatch.set(watch, entry)
    this.#addInode(entry)
    return theirs
  }

  #addPolled(door: Door, file: PolledFile): number {
    const { ino, dev } = identityOf(file)
    this.#hangups.watch(file.otherEnd)
    const entry = { door, file, dev, ino }
    this.#byOtherEnd.set(file.otherEnd, entry)
    this.#addInode(entry)
    return file.descriptor
  }

  #addInode(entry: Entry): void {
    const { dev, ino } = entry
    let files = this.#byInode.get(dev)
    if (files === undefined) {
      files = new Map()
      this.#byInode.set(dev, files)
    }
    files.set(ino, entry)
  }

  /** Returns the file of descriptor `fd` of a thread, undefined if it is not one of ours. */
  find(tid: number, fd: number): OpenFile | undefined {
    if (this.count === 0 || !identify(tid, fd)) return undefined
    return this.#byInode.get(fileIdentity.dev)?.get(fileIdentity.ino)
  }

  /** Reports doorbells, and the ends of queue files. */
  look(): void {
    this.#watcher.drain(this)
  }

  /** Reports the ends of polled files. */
  lookForEnds(): void {
    this.#hangups.drain((fd) => this.#endPolled(this.#byOtherEnd.get(fd)!))
  }

  modified(watch: number): void {
    const entry = this.#byWatch.get(watch)
    if (entry !== undefined) this.#tell(entry)
  }

  closed(watch: number): void {
    const entry = this.#byWatch.get(watch)
    // A process with one descriptor can have opened further ones through /proc.
    if (entry?.file.isLeft()) this.#endQueues(watch, entry)
  }

  overflowed(): void {
    for (const [watch, entry] of [...this.#byWatch])
      if (entry.file.isLeft()) this.#endQueues(watch, entry)
      else this.#tell(entry)
  }

  #tell({ door, file }: Entry<QueueFile>): void {
    try {
      file.rung()
    } catch (error) {
      this.#onFailure(door.path, error)
    }
  }

  #endQueues(watch: number, entry: Entry<QueueFile>): void {
    this.#byWatch.delete(watch)
    this.#watcher.unwatch(watch)
    this.#end(entry)
  }

  #endPolled(entry: Entry<PolledFile>): void {
    this.#byOtherEnd.delete(entry.file.otherEnd)
    this.#hangups.unwatch(entry.file.otherEnd)
    this.#end(entry)
  }

  #end({ door, file, dev, ino }: Entry): void {
    this.#byInode.get(dev)?.delete(ino)
    try {
      file.closed()
    } catch (error) {
      this.#onFailure(door.path, error)
    }
  }

  /** Ends all open files, as if programs had closed them. */
  close(): void {
    for (const entry of [...this.#byOtherEnd.values()]) this.#endPolled(entry)
    for (const [watch, entry] of [...this.#byWatch]) this.#endQueues(watch, entry)
    closeFd(this.#watcher.fd)
    closeFd(this.#hangups.fd)
  }
}

function identityOf({ descriptor }: OpenedFile): { dev: number; ino: number } {
  // It is open here.
  identify('self', descriptor)
  return { ...fileIdentity }
}
