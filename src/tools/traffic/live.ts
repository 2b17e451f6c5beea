/** Status line of a run in progress, which is rewritten. */
import { StatusLine, type StatusStream } from '../../cli/terminal/index.ts'
import { rateText, whole } from '../../text/index.ts'
import { Live } from '../../traffic/run/index.ts'

/** Milliseconds after which progress is noted where there is no status line, and milliseconds between further notes. */
const firstNoteMs = 2000
const noteEveryMs = 10_000

/** Progress of a run: on a terminal a line that is rewritten, elsewhere a line now and then. */
export class Progress {
  readonly #line: StatusLine
  readonly #note: ((text: string) => void) | null
  readonly #now: () => number
  readonly #rates = new LiveLine()
  #nextMs: number

  /**
   * @param note writes a line where there is no terminal; null: no notes are written there
   * @param now returns milliseconds, from any start
   */
  constructor(terminal: StatusStream, note: ((text: string) => void) | null, now: () => number) {
    this.#line = new StatusLine(terminal)
    this.#note = note
    this.#now = now
    this.#nextMs = now() + firstNoteMs
  }

  /** Shows the progress. `live`: values that the data thread publishes. */
  show(live: Float64Array): void {
    const text = this.#rates.text(live)
    if (this.#line.visible) this.#line.show(text)
    else if (this.#now() >= this.#nextMs) {
      this.#nextMs = this.#now() + noteEveryMs
      this.#note?.(text)
    }
  }

  /** Removes the line at the end of the run. */
  clear(): void {
    this.#line.clear()
  }
}

/** Nanoseconds over which rates are averaged, about the last second. */
const windowNs = 1e9

export class LiveLine {
  /** Readings of the window: time, number of complete requests, and their bytes. */
  readonly #readings: { ns: number; done: number; bytes: number }[] = []

  /** Returns the line. `live`: values that the data thread publishes. */
  text(live: Float64Array): string {
    const [ns, done, bytes] = [live[Live.ns]!, live[Live.done]!, live[Live.bytes]!]
    const readings = this.#readings
    if (ns <= 0) return 'measuring the fastest request'
    readings.push({ ns, done, bytes })
    while (readings.length > 2 && ns - readings[1]!.ns >= windowNs) readings.shift()
    const first = readings.length > 1 ? readings[0]! : { ns: 0, done: 0, bytes: 0 }
    const seconds = (ns - first.ns) / 1e9
    const rate = (amount: number): number => (seconds > 0 ? amount / seconds : 0)
    const trouble = live[Live.lost]! + live[Live.failed]!
    return [
      `${(ns / 1e9).toFixed(1)} s`,
      `${whole(done)} of ${whole(live[Live.asked]!)} requests`,
      `${whole(rate(done - first.done))}/s`,
      rateText(rate(8 * (bytes - first.bytes))),
      `${whole(live[Live.waiting]!)} waiting`,
      ...(trouble > 0 ? [`${whole(live[Live.lost]!)} lost`, `${whole(live[Live.failed]!)} failed`] : []),
    ].join('  ')
  }
}
