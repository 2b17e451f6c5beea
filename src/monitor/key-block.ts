/** Keys and amounts on their way to sketches, in blocks, which makes sketches fast. A repeated key is one entry with larger amounts. */
import { type CocoSketch, KeySketch } from '../sketch/index.ts'
import { keyBytes, keyWords, Word } from './key.ts'

const most = 256
/** Number of keys of a flow that are compared: of first, middle and last packets of a message, and a response. */
const mostOfFlow = 4
const mostAmount = 0xffffffff

/** Index of the last key of a flow, as long as `epoch` is that of the block. */
export class KeyPlace {
  epoch = -1
  at = 0
}

export class KeyBlock {
  readonly words: Int32Array = new Int32Array(most * keyWords)
  readonly #bytes: Uint8Array = new Uint8Array(this.words.buffer)
  /** Amounts of each key, by sketch. */
  readonly amounts: readonly Uint32Array[]
  /** Index of the previous key of the same flow, by key; −1 without one. */
  readonly #before = new Int16Array(most)
  /** Number of keys in the block. */
  count = 0
  #epoch = 0

  /** @param sketches number of sketches that are filled from each block */
  constructor(sketches: number) {
    this.amounts = Array.from({ length: sketches }, () => new Uint32Array(most))
  }

  get isFull(): boolean {
    return this.count === most
  }

  /**
   * Returns the index of a key. All keys that come with one `place` have the same addresses. A new one has amounts of 0. An event has a
   * number, and no `place`. The block must not be full.
   */
  find(key: Int32Array, place?: KeyPlace, event: number = 0): number {
    const { words } = this
    const known = place !== undefined && place.epoch === this.#epoch ? place.at : -1
    for (let at = known, looked = 0; at >= 0 && looked < mostOfFlow; at = this.#before[at]!, looked++) {
      let same = true
      for (let word = Word.sourceQp; word < keyWords && same; word++) same = words[at * keyWords + word] === key[word]
      if (same) return at
    }
    const at = this.count++
    for (let i = 0; i < keyWords; i++) words[at * keyWords + i] = key[i]!
    words[at * keyWords + Word.rest]! |= event << 24
    for (const amounts of this.amounts) amounts[at] = 0
    this.#before[at] = known
    if (place !== undefined) {
      place.at = at
      place.epoch = this.#epoch
    }
    return at
  }

  /**
   * Adds to the amount of a key for a sketch. Returns false, and adds nothing, if the amount would be too large: then the block has to be
   * emptied first.
   */
  add(sketch: number, at: number, amount: number): boolean {
    const amounts = this.amounts[sketch]!
    const sum = amounts[at]! + amount
    if (sum > mostAmount) return false
    amounts[at] = sum
    return true
  }

  /** Adds the keys to the sketches, which have one seed, and begins anew. */
  into(sketches: readonly CocoSketch[]): void {
    const count = this.count
    this.count = 0
    this.#epoch++
    if (count === 0) return
    KeySketch.updateAll(
      sketches,
      this.#bytes.subarray(0, count * keyBytes),
      this.amounts.map((amounts) => amounts.subarray(0, count)),
    )
  }
}
