/** Lines for a program or a person that may read them more slowly than they are made. */
import type { Writable } from 'node:stream'

const batchLength = 1 << 16

/**
 * Writes lines in batches. Node keeps in memory all that the reader of a pipe has not taken, so a command that may write any number of
 * lines awaits `flush` now and then.
 */
export class Lines {
  readonly #stream: Writable
  #text = ''
  #draining: Promise<void> | undefined

  constructor(stream: Writable) {
    this.#stream = stream
  }

  add(line: string): void {
    this.#text += `${line}\n`
    if (this.#text.length >= batchLength) this.#write()
  }

  /** Writes the lines that were added; resolves when the stream wants more, or has been closed. */
  flush(): Promise<void> | undefined {
    this.#write()
    if (!this.#stream.writableNeedDrain) return undefined
    this.#draining ??= this.#drained()
    return this.#draining
  }

  #drained(): Promise<void> {
    const stream = this.#stream
    return new Promise((resolve) => {
      const done = (): void => {
        stream.off('drain', done)
        stream.off('close', done)
        this.#draining = undefined
        resolve()
      }
      stream.once('drain', done)
      stream.once('close', done)
    })
  }

  #write(): void {
    if (this.#text !== '') this.#stream.write(this.#text)
    this.#text = ''
  }
}
