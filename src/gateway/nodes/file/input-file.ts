/** A file that is read in blocks, never waiting: a regular file, a pipe, a terminal, or standard input ("-"). */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { nativeAvailable, waitReadable } from '../../../memory/index.ts'

const waiter = new Int32Array(new SharedArrayBuffer(4))

export class InputFile {
  readonly #fd: number
  /** True if reading may block, so that the file is polled first. */
  readonly #blocks: boolean
  readonly #fds: Int32Array
  /** True if it can be read from its beginning again. */
  readonly rewinds: boolean
  #at: number | null

  /** Opens the file. Throws an error of the system. */
  constructor(path: string) {
    const opened = path === '-' ? reopenInput() : openFile(path)
    this.#blocks = opened === undefined
    this.#fd = opened ?? 0
    this.#fds = Int32Array.of(this.#fd)
    this.rewinds = fstatSync(this.#fd).isFile()
    this.#at = this.rewinds ? 0 : null
  }

  /** Reads bytes to `into[from…]` and returns their number; 0: the end; −1: nothing for now. Throws an error of the system. */
  read(into: Uint8Array, from: number): number {
    if (this.#blocks && nativeAvailable && waitReadable([], this.#fds, 1, 0) === 0) return -1
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

  /** Blocks until there may be more, for at most `ms`. */
  wait(ms: number): void {
    if (nativeAvailable && !this.rewinds) waitReadable([], this.#fds, 1, ms)
    else Atomics.wait(waiter, 0, 0, ms)
  }

  close(): void {
    if (this.#fd !== 0) closeSync(this.#fd)
  }
}

function openFile(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
}

/**
 * Opens standard input anew, which makes it non-blocking for this process and no other one; undefined for a socket, which cannot be opened
 * again.
 */
function reopenInput(): number | undefined {
  try {
    return openFile('/dev/stdin')
  } catch {
    return undefined
  }
}
