/**
 * Files that programs have open at doors. One is known by the inode of its memory file, so that it does not matter how a program came to
 * its descriptor: opened, duplicated, inherited, or received from another process. inotify says that a program has written a doorbell, and
 * that nobody has the file any more, which no call has to be stopped for.
 */
import { fstatSync, statSync } from 'node:fs'
import { closeFd, type FileEvents, FileWatcher, reopenMemoryFile } from '../../memory/index.ts'
import { type Door, doorbellPosition, type OpenedFile } from '../door.ts'

export interface OpenFile {
  readonly door: Door
  readonly file: OpenedFile
}

interface Entry extends OpenFile {
  readonly inode: number
  readonly watch: number
}

export class OpenFiles implements FileEvents {
  readonly #onFailure: (path: string, error: unknown) => void
  readonly #watcher = new FileWatcher()
  readonly #byInode = new Map<number, Entry>()
  readonly #byWatch = new Map<number, Entry>()
  /** Of all memory files. */
  #device = -1

  /** `onFailure`: a file could not do what it was told, which ends nothing else. */
  constructor(onFailure: (path: string, error: unknown) => void) {
    this.#onFailure = onFailure
  }

  /** Readable when `look` has something to do. */
  get descriptor(): number {
    return this.#watcher.fd
  }

  get count(): number {
    return this.#byInode.size
  }

  /**
   * Takes a file that a door has opened: returns the descriptor for the program, which the caller closes after it was handed over. If
   * it was not, that closes the file.
   */
  add(door: Door, file: OpenedFile): number {
    try {
      return this.#add(door, file)
    } catch (error) {
      file.closed()
      throw error
    }
  }

  #add(door: Door, file: OpenedFile): number {
    const { ino, dev } = fstatSync(file.descriptor)
    const theirs = reopenMemoryFile(file.descriptor, doorbellPosition)
    closeFd(file.descriptor)
    const watch = this.#watcher.watch(theirs)
    const entry: Entry = { door, file, inode: ino, watch }
    this.#device = dev
    this.#byInode.set(ino, entry)
    this.#byWatch.set(watch, entry)
    return theirs
  }

  /** The file that descriptor `fd` of a thread is, undefined if it is none of ours. */
  find(tid: number, fd: number): OpenFile | undefined {
    if (this.#byInode.size === 0) return undefined
    try {
      const { ino, dev } = statSync(`/proc/${tid}/fd/${fd}`)
      return dev === this.#device ? this.#byInode.get(ino) : undefined
    } catch {
      return undefined
    }
  }

  /** Reports doorbells and the ends of files. */
  look(): void {
    this.#watcher.drain(this)
  }

  modified(watch: number): void {
    const entry = this.#byWatch.get(watch)
    if (entry !== undefined) this.#tell(entry)
  }

  closed(watch: number): void {
    const entry = this.#byWatch.get(watch)
    // Whoever has one descriptor can have opened others by way of /proc.
    if (entry?.file.isLeft()) this.#end(entry)
  }

  overflowed(): void {
    for (const entry of [...this.#byInode.values()])
      if (entry.file.isLeft()) this.#end(entry)
      else this.#tell(entry)
  }

  #tell({ door, file }: Entry): void {
    try {
      file.rung()
    } catch (error) {
      this.#onFailure(door.path, error)
    }
  }

  #end(entry: Entry): void {
    this.#byWatch.delete(entry.watch)
    this.#byInode.delete(entry.inode)
    this.#watcher.unwatch(entry.watch)
    try {
      entry.file.closed()
    } catch (error) {
      this.#onFailure(entry.door.path, error)
    }
  }

  /** Ends all that are open, as if programs had closed them. */
  close(): void {
    for (const entry of [...this.#byInode.values()]) this.#end(entry)
    closeFd(this.#watcher.fd)
  }
}
