/** Lines for a program or a person that may read them more slowly than they are made. */
import type { Writable } from 'node:stream'

const batchLength = 1 << 16

/**
 * Writes lines in batches, and remembers whether the stream has taken them: Node keeps in memory whatever a pipe does
 * not take, so that whoever makes lines without end awaits `flush` now and then.
 */
export class Lines {
  readonly #stream: Writable
  #text = ''

  constructor(stream: Writable) {
    this.#stream = stream
  }

  add(line: string): void {
    this.#text += `${line}\n`
    if (this.#text.length >= batchLength) this.#write()
  }

  /** Writes what has been added; resolves when the stream wants more, or has been closed. */
  flush(): Promise<void> | undefined {
    this.#write()
    if (!this.#stream.writableNeedDrain) return undefined
    const stream = this.#stream
    return new Promise((resolve) => {
      const done = (): void => {
        stream.off('drain', done)
        stream.off('close', done)
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
