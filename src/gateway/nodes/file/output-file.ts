/**
 * A file that is written in blocks: bytes are gathered and go out when the buffer is full, on `flush`, and at the end. A full disk makes it
 * fail: bytes that could not be written stay counted, and nothing more is written.
 *
 * A FIFO never blocks its writer, which could not be stopped then: a block that no process reads is dropped as a whole.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fifo, isFifo } from './fifo.ts'
import { PlainFile, type Sink } from './plain-file.ts'

export interface OutputFileOptions {
  /** Bytes that are gathered; 0: each write goes out at once. */
  bufferBytes: number
  /** True to write after the contents of the file, which are removed otherwise. */
  append: boolean
}

export class OutputFile {
  readonly path: string
  /** Bytes that are in the file. */
  written = 0
  /** Blocks that no process read. */
  dropped = 0
  readonly buffer: Uint8Array
  readonly #sink: Sink
  #filled = 0

  private constructor(path: string, sink: Sink, bufferBytes: number) {
    this.path = path
    this.#sink = sink
    this.buffer = new Uint8Array(bufferBytes)
  }

  /** Makes the file, and the folder that it is in, if they are not there. Throws an error of the system. */
  static open(path: string, { bufferBytes, append }: OutputFileOptions): OutputFile {
    mkdirSync(dirname(path), { recursive: true })
    return new OutputFile(path, isFifo(path) ? new Fifo(path) : PlainFile.open(path, append ? 'a' : 'w'), bufferBytes)
  }

  static standardOutput(bufferBytes: number): OutputFile {
    return new OutputFile('standard output', PlainFile.standardOutput(), bufferBytes)
  }

  /** True if there is room for so many bytes in `buffer`, from `at` on; the caller writes them there, and calls `advance`. */
  has(bytes: number): boolean {
    return this.#filled + bytes <= this.buffer.length
  }

  get at(): number {
    return this.#filled
  }

  advance(at: number): void {
    this.#filled = at
  }

  /** Writes bytes, which may be overwritten when it has returned. Throws as `flush`. */
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

  /**
   * Writes what was gathered; returns false if no process reads it, and it is dropped. Throws an error of the system, for example ENOSPC;
   * bytes that were not written then are dropped, too.
   */
  flush(): boolean {
    const count = this.#filled
    this.#filled = 0
    return count === 0 || this.#out(this.buffer, count)
  }

  /** Writes what is left. Returns and throws as `flush`; the file is closed in any case. */
  close(): boolean {
    try {
      return this.flush()
    } finally {
      this.#sink.close()
    }
  }

  #out(bytes: Uint8Array, count: number): boolean {
    const written = this.#sink.write(bytes, count)
    if (written) this.written += count
    else this.dropped++
    return written
  }
}
