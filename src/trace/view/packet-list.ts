/** Packets that the page lists: all of them, or those that match a filter, for which the search may still go on. */
import { type Filter, parseFilter } from '../index.ts'
import type { CaptureView } from './capture-view.ts'

/** Number of packets between two checks of the clock and the messages. */
const block = 4096

export class PacketList {
  readonly #view: CaptureView
  /** Packets from 0, ascending; undefined while all are shown. */
  #found: Uint32Array | undefined
  #count = 0
  #turn = 0

  constructor(view: CaptureView) {
    this.#view = view
  }

  get length(): number {
    return this.#found === undefined ? this.#view.index.count : this.#count
  }

  /** Ends the search in progress; its results stay. */
  cancel(): void {
    this.#turn++
  }

  /**
   * Shows the packets that match the filter; all if it is empty. Resolves with false if it was cancelled. Throws a FilterError.
   * `onProgress` is called at intervals, and awaited.
   */
  async filter(text: string, onProgress: (shown: number, looked: number) => Promise<void>): Promise<boolean> {
    const filter = text.trim() === '' ? undefined : parseFilter(text)
    const turn = ++this.#turn
    this.#found = filter && new Uint32Array(1024)
    this.#count = 0
    return filter === undefined || (await this.#search(filter, turn, onProgress))
  }

  async #search(
    filter: Filter,
    turn: number,
    onProgress: (shown: number, looked: number) => Promise<void>,
  ): Promise<boolean> {
    const { index } = this.#view
    for (let from = 0; from < index.count; from += block) {
      const packets = Uint32Array.from({ length: Math.min(block, index.count - from) }, (_, i) => from + i)
      await this.#view.rows(packets, (row) => {
        if (turn !== this.#turn) return false
        if (filter(row)) this.#add(index.withNumber(row.number))
        return undefined
      })
      await onProgress(this.#count, from + packets.length)
      if (turn !== this.#turn) return false
    }
    return true
  }

  /** Returns the packets, from 0, at the positions [from, from + count). */
  slice(from: number, count: number): Uint32Array {
    const start = Math.max(0, Math.min(from, this.length))
    const end = Math.min(this.length, start + count)
    if (this.#found !== undefined) return this.#found.slice(start, end)
    return Uint32Array.from({ length: end - start }, (_, i) => start + i)
  }

  /** Returns the position of a packet, from 0, or of the first one after it that is listed. */
  placeOf(packet: number): number {
    const found = this.#found
    if (found === undefined) return Math.min(packet, this.length)
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (found[middle]! < packet) low = middle + 1
      else high = middle
    }
    return low
  }

  #add(packet: number): void {
    if (this.#count === this.#found!.length) {
      const grown = new Uint32Array(this.#count * 2)
      grown.set(this.#found!)
      this.#found = grown
    }
    this.#found![this.#count++] = packet
  }
}
