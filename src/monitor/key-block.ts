/** Keys and amounts on their way to a sketch, a block at a time, which is how sketches are fast. */
import type { CocoSketch } from '../sketch/index.ts'
import { keyBytes, keyWords, Word } from './key.ts'

const most = 256

export class KeyBlock {
  readonly words: Int32Array = new Int32Array(most * keyWords)
  readonly amounts: Uint32Array = new Uint32Array(most)
  readonly #bytes: Uint8Array = new Uint8Array(this.words.buffer)
  count = 0

  get isFull(): boolean {
    return this.count === most
  }

  /** Adds a key, for an event with its number. The block must not be full. */
  add(key: Int32Array, amount: number, event: number = 0): void {
    const to = this.count * keyWords
    for (let i = 0; i < keyWords; i++) this.words[to + i] = key[i]!
    this.words[to + Word.rest]! |= event << 24
    this.amounts[this.count++] = amount
  }

  /** Adds the keys with their amounts. */
  into(sketch: CocoSketch): void {
    if (this.count > 0)
      sketch.updateMany(this.#bytes.subarray(0, this.count * keyBytes), this.amounts.subarray(0, this.count))
  }

  /** Adds the keys with 1 each. */
  countInto(sketch: CocoSketch): void {
    if (this.count > 0) sketch.updateMany(this.#bytes.subarray(0, this.count * keyBytes), 1)
  }

  clear(): void {
    this.count = 0
  }
}
