/**
 * Samples to a file, in blocks. A full disk makes the node fail; lost samples are counted, as are those that no process reads from a FIFO.
 */
import { type Destination, type Encoder, GatewayError, type NodeContext } from '../../index.ts'
import type { OutputFile } from './output-file.ts'

/** Maximum time for which gathered bytes wait, once there is nothing more to write. */
const longestDelayNs = 1e9

export interface FileOutSettings {
  /** True if samples that are written go to the file at once. */
  readonly flush: boolean
  /** Samples after which nothing more is written; 0: none. */
  readonly limit: number
}

export class FileDestination implements Destination {
  released = 0
  /** Samples that the format cannot carry, and those that did not get to the disk. */
  unwritable = 0
  undelivered = 0
  readonly #context: NodeContext
  readonly #file: OutputFile
  readonly #encoder: Encoder
  readonly #settings: FileOutSettings
  #taken = 0
  #gathered = 0
  #lastFlushNs: number
  #failed = false

  constructor(context: NodeContext, file: OutputFile, encoder: Encoder, settings: FileOutSettings) {
    this.#context = context
    this.#file = file
    this.#encoder = encoder
    this.#settings = settings
    this.#lastFlushNs = context.clock.nowNs()
  }

  write(samples: Int32Array, count: number): number {
    this.released = count
    if (this.#failed) return 0
    const file = this.#file
    const encoder = this.#encoder
    const records = this.#context.pool.samples
    let written = 0
    const { limit } = this.#settings
    for (let i = 0; i < count; i++) {
      if ((limit > 0 && this.#taken++ >= limit) || !this.#makeRoom()) return written
      const bytes = file.buffer
      try {
        file.advance(encoder.encode(records, samples[i]!, bytes, file.at))
        written++
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        if (this.unwritable++ === 0) this.#context.log('warn', `a sample was not written: ${error.message}`)
      }
    }
    this.#gathered += written
    if (this.#settings.flush) this.#out()
    return written
  }

  flush(): void {
    if (this.#gathered === 0 || this.#context.clock.nowNs() - this.#lastFlushNs < longestDelayNs) return
    this.#out()
  }

  /** Writes what is left, and closes the file. */
  close(): void {
    if (!this.#failed) this.#out()
    this.#file.close()
  }

  #unread(): void {
    if (this.undelivered === 0)
      this.#context.log('warn', `${this.#file.path} is a FIFO that nobody reads, or not fast enough: samples are lost`)
    this.undelivered += this.#gathered
  }

  #makeRoom(): boolean {
    return this.#file.has(this.#encoder.bound) || this.#out()
  }

  #out(): boolean {
    try {
      if (!this.#file.flush()) this.#unread()
      this.#gathered = 0
      this.#lastFlushNs = this.#context.clock.nowNs()
      return true
    } catch (error) {
      this.#failed = true
      this.undelivered += this.#gathered
      const { message } = error as Error
      const lost = this.#gathered === 1 ? 'one sample is' : `${this.#gathered} samples are`
      this.#context.fail(new Error(`${this.#file.path}: ${message}; ${lost} not in the file`))
      return false
    }
  }
}
