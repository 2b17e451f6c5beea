/**
 * Merging of the windows of many sources by their time. A window is complete when every source has come to a later one; the wait for a
 * source that lags is limited: windows that it delivers afterwards are handed on by themselves, as late. A source that delivers only late
 * ones is not waited for until it delivers one in time.
 */
import { mergeWindow } from './merge.ts'
import type { Window } from './window.ts'

/** Options of the time at which windows are handed on. */
export interface MergerOptions {
  /** Receives complete windows in the order of their time, and late ones at any time. */
  onWindow(window: Window): void
  /** Maximum number of windows that wait for a source that lags (default 8). */
  mostWaiting?: number
  /** Number of windows by which all sources must be past a window before it is complete: for sources that are not known yet (default 0). */
  hold?: number
}

/** Merges the windows of several sources by their time, and hands each on when it is complete. */
export class Merger {
  readonly #options: MergerOptions
  readonly #most: number
  readonly #hold: number
  readonly #waiting = new Map<number, Window>()
  /** Position of each source: all its windows before this one have come. */
  readonly #positions = new Map<string, number>()
  /** Number of successive late windows of each source. */
  readonly #lateOf = new Map<string, number>()
  /** Index before which all windows are handed on. */
  #handed = Number.NEGATIVE_INFINITY
  /** Number of windows that came after their time had been handed on. */
  late = 0

  constructor(options: MergerOptions) {
    this.#options = options
    this.#most = options.mostWaiting ?? 8
    this.#hold = options.hold ?? 0
  }

  /** Makes windows wait for this source from now on. */
  join(source: string): void {
    if (!this.#positions.has(source) && !this.#isAlwaysLate(source))
      this.#positions.set(source, Number.NEGATIVE_INFINITY)
  }

  leave(source: string): void {
    this.#positions.delete(source)
    this.#lateOf.delete(source)
    this.#handOn(this.#complete())
  }

  /** Returns the number of windows that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Returns the number of windows by which a source is ahead of the slowest one. */
  lead(source: string): number {
    const position = this.#positions.get(source)
    if (position === undefined || position === Number.NEGATIVE_INFINITY) return 0
    let before = 0
    for (const index of this.#waiting.keys()) if (index < position) before++
    return before
  }

  /** Takes a window; it must not be used any more. Throws ERR_MONITOR_MISMATCH if it does not fit the other windows. */
  add(source: string, window: Window): void {
    const { index } = window
    if (index < this.#handed) {
      this.late++
      window.late = true
      this.#options.onWindow(window)
      this.#lateOf.set(source, (this.#lateOf.get(source) ?? 0) + 1)
      if (this.#isAlwaysLate(source) && this.#positions.delete(source)) this.#handOn(this.#complete())
      return
    }
    if (this.#isAlwaysLate(source)) this.#positions.set(source, index)
    this.#lateOf.delete(source)
    const known = this.#waiting.get(index)
    if (known === undefined) this.#waiting.set(index, window)
    else mergeWindow(known, window)
    this.advance(source, index + 1)
  }

  /** Records that a source delivers no more windows before this index. */
  advance(source: string, index: number): void {
    if (this.#positions.has(source)) this.#positions.set(source, Math.max(this.#positions.get(source)!, index))
    this.#handOn(this.#complete())
    if (this.#waiting.size > this.#most) this.#handOn([...this.#waiting.keys()].sort((a, b) => a - b)[0]! + 1)
  }

  /** Hands on all windows that wait. */
  flush(): void {
    this.#handOn(Number.POSITIVE_INFINITY)
  }

  #isAlwaysLate(source: string): boolean {
    return (this.#lateOf.get(source) ?? 0) >= this.#most
  }

  #complete(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...this.#positions.values()) - this.#hold
  }

  #handOn(before: number): void {
    const due = [...this.#waiting.keys()].filter((index) => index < before).sort((a, b) => a - b)
    for (const index of due) {
      const window = this.#waiting.get(index)!
      this.#waiting.delete(index)
      this.#handed = Math.max(this.#handed, index + 1)
      this.#options.onWindow(window)
    }
  }
}
