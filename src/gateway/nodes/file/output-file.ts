/**
 * A file that is written in blocks: bytes are gathered and go out when the buffer is full, on `flush`, and at the end. A full disk
 * makes it fail: what could not be written stays counted, and nothing more is.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const waiter = new Int32Array(new SharedArrayBuffer(4))

export interface OutputFileOptions {
  /** Bytes that are gathered; 0: each write goes out at once. */
  bufferBytes: number
  /** Behind what is in the file already, which otherwise is gone. */
  append: boolean
}

export class OutputFile {
  readonly path: string
  /** Bytes that are in the file. */
  written = 0
  readonly buffer: Uint8Array
  readonly #fd: number
  readonly #closes: boolean
  #filled = 0

  private constructor(path: string, fd: number, bufferBytes: number, closes: boolean) {
    this.path = path
    this.#fd = fd
    this.#closes = closes
    this.buffer = new Uint8Array(bufferBytes)
  }

  /** Makes the file, and the folder that it is in, if they are not there. Throws an error of the system. */
  static open(path: string, { bufferBytes, append }: OutputFileOptions): OutputFile {
    mkdirSync(dirname(path), { recursive: true })
    return new OutputFile(path, openSync(path, append ? 'a' : 'w'), bufferBytes, true)
  }

  static standardOutput(bufferBytes: number): OutputFile {
    return new OutputFile('standard output', 1, bufferBytes, false)
  }

  /** Whether there is room for so many bytes in `buffer`, from `at` on; write them there, and tell by `advance`. */
  has(bytes: number): boolean {
    return this.#filled + bytes <= this.buffer.length
  }

  get at(): number {
    return this.#filled
  }

  advance(at: number): void {
    this.#filled = at
  }

  /** The bytes may be overwritten when it has returned. Throws as `flush`. */
  write(bytes: Uint8Array): void {
    if (bytes.length > this.buffer.length) {
      this.flush()
      this.#out(bytes, bytes.length)
      return
    }
    if (!this.has(bytes.length)) this.flush()
    this.buffer.set(bytes, this.#filled)
    this.#filled += bytes.length
  }

  /** Throws an error of the system, for example ENOSPC; what was not written then is dropped. */
  flush(): void {
    const count = this.#filled
    this.#filled = 0
    if (count > 0) this.#out(this.buffer, count)
  }

  /** Writes what is left. Throws as `flush`; the file is closed all the same. */
  close(): void {
    try {
      this.flush()
    } finally {
      if (this.#closes) closeSync(this.#fd)
    }
  }

  #out(bytes: Uint8Array, count: number): void {
    let from = 0
    while (from < count) {
      try {
        const written = writeSync(this.#fd, bytes, from, count - from)
        from += written
        this.written += written
      } catch (error) {
        // A pipe that is full, as standard output may be.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
        Atomics.wait(waiter, 0, 0, 1)
      }
    }
  }
}
