/** Sequence numbers that were seen: almost all in order, some later, each once. In bounded memory. */

/** Maximum number of sequence numbers ahead of the first missing one; if there are more, the missing ones count as gone. */
const mostAhead = 1024

export class Sequences {
  /** Sequence number before which all were seen, or are given up. */
  next = 0
  readonly #ahead = new Set<number>()
  /** Number of sequence numbers that were seen. */
  count = 0
  #end = 0

  /** Returns the number of those that were not seen, though later ones were. */
  get missing(): number {
    return this.#end - this.count
  }

  /** Adds a sequence number; true if it is new. */
  add(sequence: number): boolean {
    if (this.has(sequence)) return false
    this.#ahead.add(sequence)
    this.count++
    this.#end = Math.max(this.#end, sequence + 1)
    while (this.#ahead.delete(this.next)) this.next++
    if (this.#ahead.size > mostAhead) {
      this.next = Math.min(...this.#ahead)
      while (this.#ahead.delete(this.next)) this.next++
    }
    return true
  }

  has(sequence: number): boolean {
    return sequence < this.next || this.#ahead.has(sequence)
  }
}
