/** A file that is read in blocks, never waiting: a regular file, a pipe, a terminal, or standard input ("-"). */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { nativeAvailable, waitReadable } from '../../../memory/index.ts'

const waiter = new Int32Array(new SharedArrayBuffer(4))

export class InputFile {
  readonly #fd: number
  readonly #fds: Int32Array
  /** It can be read from its begin again. */
  readonly rewinds: boolean
  #at: number | null

  /** Throws an error of the system. */
  constructor(path: string) {
    // Opening it anew makes standard input non-blocking for us and for nobody else.
    this.#fd = openSync(path === '-' ? '/dev/stdin' : path, constants.O_RDONLY | constants.O_NONBLOCK)
    this.#fds = Int32Array.of(this.#fd)
    this.rewinds = fstatSync(this.#fd).isFile()
    this.#at = this.rewinds ? 0 : null
  }

  /** Bytes that were read to `into[from…]`; 0: the end; −1: nothing for now. Throws an error of the system. */
  read(into: Uint8Array, from: number): number {
    try {
      const count = readSync(this.#fd, into, from, into.length - from, this.#at)
      if (this.#at !== null) this.#at += count
      return count
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return -1
      throw error
    }
  }

  rewind(): void {
    this.#at = 0
  }

  /** Blocks until there may be more, at most so long. */
  wait(ms: number): void {
    if (nativeAvailable && !this.rewinds) waitReadable([], this.#fds, 1, ms)
    else Atomics.wait(waiter, 0, 0, ms)
  }

  close(): void {
    closeSync(this.#fd)
  }
}
