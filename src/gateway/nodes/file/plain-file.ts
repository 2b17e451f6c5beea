/** Output of an `OutputFile`: a file on disk, a terminal, or standard output. */
import { closeSync, openSync, writeSync } from 'node:fs'

export interface Sink {
  /** Writes the first `count` bytes, all or none; returns false if no process reads them. Throws an error of the system. */
  write(bytes: Uint8Array, count: number): boolean
  close(): void
}

const waiter = new Int32Array(new SharedArrayBuffer(4))

export class PlainFile implements Sink {
  readonly #fd: number
  readonly #closes: boolean

  private constructor(fd: number, closes: boolean) {
    this.#fd = fd
    this.#closes = closes
  }

  /** Opens a file. Throws an error of the system. */
  static open(path: string, flags: 'a' | 'w'): PlainFile {
    return new PlainFile(openSync(path, flags), true)
  }

  static standardOutput(): PlainFile {
    return new PlainFile(1, false)
  }

  write(bytes: Uint8Array, count: number): boolean {
    for (let from = 0; from < count; ) {
      try {
        from += writeSync(this.#fd, bytes, from, count - from)
      } catch (error) {
        // A pipe that is full, as standard output may be.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
        Atomics.wait(waiter, 0, 0, 1)
      }
    }
    return true
  }

  close(): void {
    if (this.#closes) closeSync(this.#fd)
  }
}
