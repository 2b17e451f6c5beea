/** One line about a run that goes on, written over and over: on a terminal, never elsewhere. */
import { currentRun } from './io.ts'
import { isTerminal } from './output.ts'

/** Part of a stream that such a line needs. */
export interface StatusStream {
  isTTY?: boolean | undefined
  columns?: number | undefined
  write(text: string): unknown
}

export class StatusLine {
  /** True if a person sees it. */
  readonly visible: boolean
  readonly #stream: StatusStream
  #shown = false

  constructor(stream: StatusStream = currentRun().io.stderr) {
    this.#stream = stream
    this.visible = isTerminal(stream)
  }

  /**
   * Number of characters that have room: the last column stays free, since a terminal may continue in the next line after it. A terminal
   * that reports 0 columns does not know their number.
   */
  get room(): number {
    return (this.#stream.columns || 80) - 1
  }

  /** Writes the text over the last one, as far as there is room. */
  show(text: string): void {
    if (!this.visible) return
    this.#shown = true
    this.#stream.write(`\r\u001b[K${text.slice(0, this.room)}`)
  }

  /** Removes the line. */
  clear(): void {
    if (this.#shown) this.#stream.write('\r\u001b[K')
    this.#shown = false
  }
}
