/** A seeded source of numbers (mulberry32): the same seed gives the same payload and the same order of runs. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** 32 random bits, signed. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return t ^ (t >>> 14)
  }

  /** 0 ≤ value < limit. */
  below(limit: number): number {
    return Math.floor(((this.next() >>> 0) / 4294967296) * limit)
  }

  /** Fisher and Yates, in place. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1)
      const item = items[i]!
      items[i] = items[j]!
      items[j] = item
    }
    return items
  }

  fill(words: Int32Array): void {
    for (let i = 0; i < words.length; i++) words[i] = this.next()
  }
}
