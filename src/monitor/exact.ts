/**
 * Exact counting beside the sketches of a window, as their reference: tables that grow with the keys, which sketches avoid. Their memory is
 * known to the byte, and limited.
 *
 *     index  slot + 1 by hash, linear probing, half full at most      4 bytes × 2 × capacity
 *     words  of the key, by slot                                      4 bytes × words × capacity
 *     sums   by slot and column                                       8 bytes × columns × capacity
 */
import { sizeText } from '../text/index.ts'
import { MonitorError } from './error.ts'
import { keyWords } from './key.ts'
import type { KeyBlock } from './key-block.ts'
import { flowKeyBytes, hostKeyBytes } from './window.ts'
import type { Witness } from './witness.ts'

const firstCapacity = 128

/** Memory that several tables share. */
export class Budget {
  readonly mostBytes: number
  bytes = 0
  /** Maximum that was taken at a time. */
  peak = 0

  constructor(mostBytes: number) {
    this.mostBytes = mostBytes
  }

  /** Takes memory. Throws ERR_MONITOR_MEMORY if not enough is left. */
  take(bytes: number): void {
    if (this.bytes + bytes > this.mostBytes)
      throw new MonitorError(
        'ERR_MONITOR_MEMORY',
        `exact counting needs more than the ${sizeText(this.mostBytes)} that it may take`,
      )
    this.bytes += bytes
    this.peak = Math.max(this.peak, this.bytes)
  }

  give(bytes: number): void {
    this.bytes -= bytes
  }
}

export class ExactCounts {
  readonly words: number
  readonly columns: number
  readonly #budget: Budget
  #capacity = firstCapacity
  #index: Int32Array
  #stored: Int32Array
  #sums: Float64Array
  /** Random factor of the hash: a peer that chooses keys must not be able to choose their collisions. */
  readonly #factor = (crypto.getRandomValues(new Int32Array(1))[0]! & ~7) | 5
  readonly #start = crypto.getRandomValues(new Int32Array(1))[0]!
  /** Number of keys. */
  size = 0

  constructor(words: number, columns: number, budget: Budget) {
    this.words = words
    this.columns = columns
    this.#budget = budget
    budget.take(this.#bytesOf(firstCapacity))
    this.#index = new Int32Array(2 * firstCapacity)
    this.#stored = new Int32Array(words * firstCapacity)
    this.#sums = new Float64Array(columns * firstCapacity)
  }

  get bytes(): number {
    return this.#bytesOf(this.#capacity)
  }

  /**
   * Returns the slot of the key whose words begin at `at`; a new key is entered. Throws ERR_MONITOR_MEMORY if there is no room for more.
   */
  slotOf(key: Int32Array, at: number = 0): number {
    const place = this.#find(key, at)
    const known = this.#index[place]! - 1
    if (known >= 0) return known
    if (this.size === this.#capacity) {
      this.#grow()
      return this.#enter(this.#find(key, at), key, at)
    }
    return this.#enter(place, key, at)
  }

  /** Adds to a column of a slot. */
  add(slot: number, column: number, amount: number): void {
    this.#sums[slot * this.columns + column]! += amount
  }

  sumAt(slot: number, column: number): number {
    return this.#sums[slot * this.columns + column]!
  }

  /** Copies the words of the key of a slot. */
  keyAt(slot: number, out: Int32Array): void {
    for (let w = 0; w < this.words; w++) out[w] = this.#stored[slot * this.words + w]!
  }

  /** Adds all entries of another table with the same columns. */
  merge(other: ExactCounts): void {
    const key = new Int32Array(this.words)
    for (let slot = 0; slot < other.size; slot++) {
      other.keyAt(slot, key)
      const own = this.slotOf(key)
      for (let column = 0; column < this.columns; column++) this.add(own, column, other.sumAt(slot, column))
    }
  }

  /** Removes all entries, and returns the memory except for a small table. */
  clear(): void {
    this.#budget.give(this.bytes - this.#bytesOf(firstCapacity))
    this.#capacity = firstCapacity
    this.size = 0
    this.#index = new Int32Array(2 * firstCapacity)
    this.#stored = new Int32Array(this.words * firstCapacity)
    this.#sums = new Float64Array(this.columns * firstCapacity)
  }

  #bytesOf(capacity: number): number {
    return capacity * (8 + 4 * this.words + 8 * this.columns)
  }

  #enter(place: number, key: Int32Array, at: number): number {
    const slot = this.size++
    this.#index[place] = slot + 1
    for (let w = 0; w < this.words; w++) this.#stored[slot * this.words + w] = key[at + w]!
    return slot
  }

  /** Returns the position of the key in the index, or the one where it would be. */
  #find(key: Int32Array, at: number): number {
    const [index, stored, words] = [this.#index, this.#stored, this.words]
    const mask = index.length - 1
    for (let i = this.#hash(key, at) & mask; ; i = (i + 1) & mask) {
      const slot = index[i]! - 1
      if (slot < 0) return i
      let w = 0
      while (w < words && stored[slot * words + w] === key[at + w]) w++
      if (w === words) return i
    }
  }

  #hash(key: Int32Array, at: number): number {
    let h = this.#start
    for (let w = 0; w < this.words; w++) {
      h = Math.imul(h ^ key[at + w]!, this.#factor)
      h ^= h >>> 15
    }
    h = Math.imul(h, 0xc2b2ae35)
    return h ^ (h >>> 16)
  }

  #grow(): void {
    const before = this.bytes
    // While it grows, both tables exist.
    this.#budget.take(this.#bytesOf(2 * this.#capacity))
    this.#capacity *= 2
    const [stored, sums] = [this.#stored, this.#sums]
    this.#stored = new Int32Array(this.words * this.#capacity)
    this.#stored.set(stored)
    this.#sums = new Float64Array(this.columns * this.#capacity)
    this.#sums.set(sums)
    this.#index = new Int32Array(2 * this.#capacity)
    for (let slot = 0; slot < this.size; slot++) this.#index[this.#find(stored, slot * this.words)] = slot + 1
    this.#budget.give(before)
  }
}

/** Values, all of them. */
export class ExactValues {
  readonly #budget: Budget
  #values = new Float64Array(firstCapacity)
  count = 0

  constructor(budget: Budget) {
    this.#budget = budget
    budget.take(this.#values.byteLength)
  }

  add(value: number): void {
    if (this.count === this.#values.length) {
      this.#budget.take(2 * this.#values.byteLength)
      const before = this.#values
      this.#values = new Float64Array(2 * before.length)
      this.#values.set(before)
      this.#budget.give(before.byteLength)
    }
    this.#values[this.count++] = value
  }

  merge(other: ExactValues): void {
    for (let i = 0; i < other.count; i++) this.add(other.#values[i]!)
  }

  /** Returns the values in increasing order. */
  sorted(): Float64Array {
    return this.#values.subarray(0, this.count).sort()
  }

  clear(): void {
    this.#budget.give(this.#values.byteLength - 8 * firstCapacity)
    this.#values = new Float64Array(firstCapacity)
    this.count = 0
  }
}

/** Columns of the packets' table. */
export const Column = { bytes: 0, packets: 1 } as const

/** Exact counts of everything that goes into the sketches of a window. One serves window after window: `clear` it in between. */
export class ExactWindow implements Witness {
  readonly budget: Budget
  readonly packets: ExactCounts
  readonly messages: ExactCounts
  readonly events: ExactCounts
  readonly flows: ExactCounts
  readonly hosts: ExactCounts
  /** Latencies in nanoseconds. */
  readonly ack: ExactValues
  readonly read: ExactValues
  readonly #words = new Int32Array(flowKeyBytes / 4)
  readonly #bytes = new Uint8Array(this.#words.buffer)

  /** Throws ERR_MONITOR_MEMORY, as do all calls that make it grow. */
  constructor(budget: Budget) {
    this.budget = budget
    this.packets = new ExactCounts(keyWords, 2, budget)
    this.messages = new ExactCounts(keyWords, 1, budget)
    this.events = new ExactCounts(keyWords, 1, budget)
    this.flows = new ExactCounts(flowKeyBytes / 4, 0, budget)
    this.hosts = new ExactCounts(Math.ceil(hostKeyBytes / 4), 0, budget)
    this.ack = new ExactValues(budget)
    this.read = new ExactValues(budget)
  }

  keys(of: 'packets' | 'events', { words, amounts, count }: KeyBlock): void {
    const table = this[of]
    const [first, packets, messages] = amounts
    for (let i = 0; i < count; i++) {
      const slot = table.slotOf(words, i * keyWords)
      table.add(slot, 0, first![i]!)
      if (of === 'events') continue
      table.add(slot, Column.packets, packets![i]!)
      if (messages![i]! > 0) this.messages.add(this.messages.slotOf(words, i * keyWords), 0, messages![i]!)
    }
  }

  seen(of: 'flows' | 'hosts', key: Uint8Array): void {
    this.#words.fill(0)
    this.#bytes.set(key)
    this[of].slotOf(this.#words)
  }

  latency(of: 'ack' | 'read', ns: number): void {
    this[of].add(ns)
  }

  /** Adds the observations of another witness of the same time. */
  merge(other: ExactWindow): void {
    for (const of of ['packets', 'messages', 'events', 'flows', 'hosts'] as const) this[of].merge(other[of])
    for (const of of ['ack', 'read'] as const) this[of].merge(other[of])
  }

  clear(): void {
    for (const part of [this.packets, this.messages, this.events, this.flows, this.hosts, this.ack, this.read])
      part.clear()
  }
}
