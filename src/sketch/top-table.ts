/**
 * Keys with counts, at most `capacity` of them: a heap with the smallest count at its root, and an index by hash (open addressing, linear
 * probing, deletion by shifting back). Slots of keys and counts are in the block of a sketch; heap and index are derived.
 *
 * Counts mostly grow, and those of large keys most often. So a count that grows leaves the heap as it is, ordered by earlier counts; only
 * when the smallest one is needed, the root sinks until its recorded count is its present one.
 */
import { blockKeys, type KeyReader, keyOf, sameRest } from './keys.ts'
import { Scalar } from './sketch.ts'

export class TopTable {
  readonly capacity: number
  readonly keys: Int32Array
  readonly counts: Float64Array
  readonly #scalars: Float64Array
  readonly #reader: KeyReader
  readonly #words: number
  readonly #hash: Int32Array
  /** Earlier count of each slot, by which the heap is ordered. Never above the count. */
  readonly #order: Float64Array
  /** Slots in heap order, and position of each slot in the heap. */
  readonly #heap: Int32Array
  readonly #place: Int32Array
  /** Slot + 1 by hash, 0 if there is none. */
  readonly #index: Int32Array
  readonly #mask: number

  constructor(capacity: number, reader: KeyReader, scalars: Float64Array, keys: Int32Array, counts: Float64Array) {
    this.capacity = capacity
    this.#reader = reader
    this.#words = reader.words
    this.#scalars = scalars
    this.keys = keys
    this.counts = counts
    this.#hash = new Int32Array(capacity)
    this.#order = new Float64Array(capacity)
    this.#heap = new Int32Array(capacity)
    this.#place = new Int32Array(capacity)
    this.#mask = indexSize(capacity) - 1
    this.#index = new Int32Array(this.#mask + 1)
  }

  /** Returns the bytes of `capacity` keys, with heap and index. */
  static bytesFor(capacity: number, keyBytes: number): number {
    return capacity === 0 ? 0 : capacity * (4 * ((keyBytes + 3) >> 2) + 16 + 12) + 4 * indexSize(capacity)
  }

  get size(): number {
    return this.#scalars[Scalar.tableSize]!
  }

  get isFull(): boolean {
    return this.#scalars[Scalar.tableSize] === this.capacity
  }

  /** Smallest count; 0 if there is none. */
  get least(): number {
    return this.#scalars[Scalar.tableSize] === 0 ? 0 : this.counts[this.leastSlot]!
  }

  /** Slot of a smallest count. */
  get leastSlot(): number {
    const heap = this.#heap
    const order = this.#order
    const counts = this.counts
    for (let slot = heap[0]!; ; slot = heap[0]!) {
      if (order[slot] === counts[slot]) return slot
      order[slot] = counts[slot]!
      this.#down(0)
    }
  }

  /** Returns the slot of the key whose words begin at `at`, or −1. */
  find(words: Int32Array, at: number, hash: number): number {
    const keys = this.keys
    const hashes = this.#hash
    const index = this.#index
    const mask = this.#mask
    const many = this.#words
    for (let i = hash & mask; ; i = (i + 1) & mask) {
      const slot = index[i]! - 1
      if (slot < 0) return -1
      if (hashes[slot] !== hash) continue
      if (keys[slot * many] === words[at] && sameRest(keys, slot * many, words, at, many)) return slot
    }
  }

  /** Gives a slot another count. */
  set(slot: number, count: number): void {
    this.counts[slot] = count
    if (count >= this.#order[slot]!) return
    this.#order[slot] = count
    this.#up(this.#place[slot]!)
  }

  /** Inserts a new key; the table must not be full, and must not have it. Returns its slot. */
  insert(words: Int32Array, at: number, hash: number, count: number): number {
    const slot = this.#scalars[Scalar.tableSize]!++
    this.#put(slot, words, at, hash)
    this.counts[slot] = count
    this.#order[slot] = count
    this.#heap[slot] = slot
    this.#place[slot] = slot
    this.#up(slot)
    return slot
  }

  /** Replaces a key of the smallest count by a new key. Returns its slot. */
  replaceLeast(words: Int32Array, at: number, hash: number, count: number): number {
    const slot = this.leastSlot
    this.#forget(slot)
    this.#put(slot, words, at, hash)
    this.counts[slot] = count
    this.#order[slot] = count
    this.#down(0)
    return slot
  }

  /** Removes a key of the smallest count: the last slot moves into its place. */
  removeLeast(): void {
    const slot = this.leastSlot
    const last = --this.#scalars[Scalar.tableSize]!
    const moved = this.#heap[last]!
    this.#heap[0] = moved
    this.#place[moved] = 0
    this.#forget(slot)
    if (last > 0) this.#down(0)
    if (slot === last) return
    const words = this.#words
    this.#forget(last)
    this.counts[slot] = this.counts[last]!
    this.#order[slot] = this.#order[last]!
    const place = this.#place[last]!
    this.#heap[place] = slot
    this.#place[slot] = place
    this.#put(slot, this.keys, last * words, this.#hash[last]!)
  }

  /** Keeps a key if its count is among the largest. For sketches that count elsewhere. */
  offer(words: Int32Array, at: number, hash: number, count: number): void {
    const full = this.isFull
    if (full && count <= this.least) return
    const slot = this.find(words, at, hash)
    if (slot >= 0) this.set(slot, count)
    else if (full) this.replaceLeast(words, at, hash, count)
    else this.insert(words, at, hash, count)
  }

  key(slot: number): Uint8Array {
    return keyOf(this.keys, slot * this.#words, this.#reader.keyBytes)
  }

  clear(): void {
    this.#index.fill(0)
    this.keys.fill(0)
    this.counts.fill(0)
    this.#scalars[Scalar.tableSize] = 0
  }

  /** Builds heap and index for the slots that are in the block. Returns their defect, if any. */
  restored(): string | undefined {
    const size = this.size
    if (!Number.isInteger(size) || size < 0 || size > this.capacity) return 'the number of top keys is impossible'
    this.#scalars[Scalar.tableSize] = 0
    this.#index.fill(0)
    for (let slot = 0; slot < size; slot++) {
      if (!(this.counts[slot]! > Number.NEGATIVE_INFINITY && this.counts[slot]! < Number.POSITIVE_INFINITY))
        return 'the count of a top key is not a number'
      const at = slot * this.#words
      if (!this.#reader.isPadded(this.keys, at)) return 'a top key is too long'
      this.#reader.rehash(this.keys, at)
      const hash = this.#reader.h1[blockKeys]!
      if (this.find(this.keys, at, hash) >= 0) return 'a top key is there twice'
      this.insert(this.keys, at, hash, this.counts[slot]!)
    }
    return undefined
  }

  #put(slot: number, words: Int32Array, at: number, hash: number): void {
    const many = this.#words
    for (let w = 0; w < many; w++) this.keys[slot * many + w] = words[at + w]!
    this.#hash[slot] = hash
    const mask = this.#mask
    let i = hash & mask
    while (this.#index[i] !== 0) i = (i + 1) & mask
    this.#index[i] = slot + 1
  }

  #forget(slot: number): void {
    const index = this.#index
    const mask = this.#mask
    let hole = this.#hash[slot]! & mask
    while (index[hole] !== slot + 1) hole = (hole + 1) & mask
    for (let i = (hole + 1) & mask; index[i] !== 0; i = (i + 1) & mask) {
      // Keys that probed past the hole move into it.
      const home = this.#hash[index[i]! - 1]! & mask
      if (((i - home) & mask) < ((i - hole) & mask)) continue
      index[hole] = index[i]!
      hole = i
    }
    index[hole] = 0
  }

  #up(from: number): void {
    const heap = this.#heap
    const place = this.#place
    const order = this.#order
    const slot = heap[from]!
    const count = order[slot]!
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent]!
      if (order[above]! <= count) break
      heap[at] = above
      place[above] = at
      at = parent
    }
    heap[at] = slot
    place[slot] = at
  }

  #down(from: number): void {
    const heap = this.#heap
    const place = this.#place
    const order = this.#order
    const size = this.size
    const slot = heap[from]!
    const count = order[slot]!
    let at = from
    for (let child = 2 * at + 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && order[heap[child + 1]!]! < order[heap[child]!]!) child++
      const below = heap[child]!
      if (order[below]! >= count) break
      heap[at] = below
      place[below] = at
      at = child
    }
    heap[at] = slot
    place[slot] = at
  }
}

/** Returns a power of two, so that at most half of the index is used. */
export function indexSize(capacity: number): number {
  return 2 ** Math.ceil(Math.log2(2 * Math.max(1, capacity)))
}
