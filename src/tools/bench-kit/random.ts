import { seededBits } from '../../stats/index.ts'

/** Seeded source of numbers: the same seed gives the same payload and the same order of runs. */
export class Random {
  /** Returns 32 random bits, signed. */
  readonly next: () => number

  constructor(seed: number) {
    this.next = seededBits(seed)
  }

  /** Returns a number with 0 ≤ value < limit. */
  below(limit: number): number {
    return Math.floor(((this.next() >>> 0) / 4294967296) * limit)
  }

  /** Shuffles in place (Fisher and Yates). */
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
