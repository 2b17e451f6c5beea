/** Which numbers of a row were there: almost all in order, some later, each once. In bounded memory. */

/** Numbers that may be ahead of the first missing one; if there are more, the missing ones count as gone. */
const mostAhead = 1024

export class Sequences {
  /** All before this one were there, or are given up. */
  next = 0
  readonly #ahead = new Set<number>()
  /** How many were there. */
  count = 0
  #end = 0

  /** How many were not, though later ones were. */
  get missing(): number {
    return this.#end - this.count
  }

  /** Whether this is the first time. */
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
