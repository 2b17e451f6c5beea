/** Progress through a plan of sets, with a bar: only on a terminal, and only for runs that last longer than a moment. */
import { type OutputStream, StatusLine } from '../../cli/terminal/index.ts'

const patienceMs = 2000
const barLength = 28

export class Progress {
  readonly #total: number
  readonly #line: StatusLine
  readonly #timer: NodeJS.Timeout
  #shows = false
  #text: string

  constructor(total: number, stream?: OutputStream) {
    this.#total = total
    this.#line = new StatusLine(stream)
    this.#text = this.#describe(0, '')
    this.#timer = setTimeout(() => this.#begin(), patienceMs).unref()
  }

  update(done: number, text: string): void {
    this.#text = this.#describe(done, text)
    if (this.#shows) this.#line.show(this.#text)
  }

  /** Removes the line. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#line.clear()
    this.#shows = false
  }

  #describe(done: number, text: string): string {
    const full = Math.min(barLength, Math.floor((barLength * done) / Math.max(1, this.#total)))
    return `${'█'.repeat(full)}${'░'.repeat(barLength - full)} ${done}/${this.#total}  ${text}`
  }

  #begin(): void {
    this.#shows = true
    this.#line.show(this.#text)
  }
}
