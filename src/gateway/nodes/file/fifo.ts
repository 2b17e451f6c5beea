/**
 * A FIFO that is written. Opening one blocks until there is a reader, and so does writing to a full one; a thread that blocks so cannot be
 * stopped. So it is opened without waiting, again and again until a process reads, and bytes for which it has no room are not written.
 */
import { closeSync, constants, openSync, statSync, writeSync } from 'node:fs'
import type { Sink } from './plain-file.ts'

/** Time for which a slower reader may hold up the writer, each time. */
const patienceMs = 20
/** Time for the same at the end. */
const lastPatienceMs = 1000

const waiter = new Int32Array(new SharedArrayBuffer(4))
const none = new Uint8Array(0)

export function isFifo(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true
}

export class Fifo implements Sink {
  readonly #path: string
  /** File descriptor; -1: no process reads. */
  #fd = -1
  /** Rest of a block whose first part was written: it precedes anything else. */
  #rest: Uint8Array = none

  constructor(path: string) {
    this.#path = path
  }

  write(bytes: Uint8Array, count: number): boolean {
    if (!this.#isOpen() || !this.#writeRest(patienceMs)) return false
    const written = this.#attempt(bytes, count, patienceMs)
    if (written > 0 && written < count && this.#fd >= 0) this.#rest = bytes.slice(written, count)
    return written > 0
  }

  close(): void {
    if (this.#fd < 0) return
    this.#writeRest(lastPatienceMs)
    this.#shut()
  }

  #isOpen(): boolean {
    if (this.#fd >= 0) return true
    try {
      this.#fd = openSync(this.#path, constants.O_WRONLY | constants.O_NONBLOCK)
      return true
    } catch (error) {
      // ENXIO: no process has it open for reading. ENOENT: it was removed.
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENXIO' || code === 'ENOENT') return false
      throw error
    }
  }

  #writeRest(ms: number): boolean {
    if (this.#rest.length === 0) return true
    this.#rest = this.#rest.subarray(this.#attempt(this.#rest, this.#rest.length, ms))
    return this.#rest.length === 0 && this.#fd >= 0
  }

  /** Writes as many bytes as the reader takes within `ms`, and returns their number. */
  #attempt(bytes: Uint8Array, count: number, ms: number): number {
    let at = 0
    for (let waited = 0; at < count; ) {
      try {
        at += writeSync(this.#fd, bytes, at, count - at)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'EPIPE') {
          this.#shut()
          return 0
        }
        if (code !== 'EAGAIN') throw error
        if (waited++ >= ms) break
        Atomics.wait(waiter, 0, 0, 1)
      }
    }
    return at
  }

  #shut(): void {
    if (this.#fd >= 0) closeSync(this.#fd)
    this.#fd = -1
    this.#rest = none
  }
}
