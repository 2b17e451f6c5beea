/**
 * Fast path of SketchVisor (Huang, Jin, Lee, Li, Tang, Chen and Zhang, SIGCOMM 2017, section 4): a table of k keys as in Misra-Gries, in
 * which one scan of the table makes room for many keys, so that an update costs little, whatever the number of keys.
 *
 * The table has two numbers for each key: c, the amount counted since it entered, and e, the maximum that it lost before; E is the maximum
 * of a key outside. When the table is full, E rises by ê, and the keys with c + e ≤ E leave. So c ≤ f ≤ c + e for keys in the table and f ≤
 * E for all others, always (lemma 4.1 there; r + d of the paper is c).
 *
 * Where we differ: ê is the fourth of 32 keys of the table, taken at equal distances and ordered by their amounts, instead of one that is
 * computed from a power law fitted to the largest and the smallest counts: an eighth of the table leaves in a scan whatever the
 * distribution is. Then E is about 8/7 N / k; the bounds use the actual E.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { SketchError, wholeNumber } from './error.ts'
import { blockKeys, keyOf, sameRest } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { AmountSketch, type KeyConfig, Scalar, type SketchOptions, scalarCount } from './sketch.ts'
import { indexSize } from './top-table.ts'

export interface FastPathConfig extends KeyConfig {
  /** Number k of keys. */
  capacity: number
}

/** Maximum E of a key outside of the table. */
const outside = Scalar.own
const samples = 32
const leaving = 4

const planOf = (config: FastPathConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.capacity],
    [Float64Array, config.capacity],
    [Int32Array, config.capacity * ((config.keyBytes + 3) >> 2)],
  ] as const

export class FastPath extends AmountSketch<FastPathConfig> {
  /** Count c, by slot. Used slots come first. */
  readonly #counts: Float64Array
  /** Error e, by slot. */
  readonly #errors: Float64Array
  readonly #stored: Int32Array
  /** Slot + 1 by hash, 0 if there is none; not in the block. */
  readonly #index: Int32Array
  readonly #mask: number
  /** Hash by slot; not in the block. */
  readonly #hashes: Int32Array
  /** Lower limit of all c + e. */
  #floor = Number.POSITIVE_INFINITY

  /** @internal */
  constructor(config: FastPathConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('fast-path', config, seed, plan, block)
    const [, counts, errors, stored] = views(this.block, plan)
    this.#counts = counts
    this.#errors = errors
    this.#stored = stored
    this.#index = new Int32Array(indexSize(config.capacity))
    this.#mask = this.#index.length - 1
    this.#hashes = new Int32Array(config.capacity)
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['fast-path']
  }

  /** @internal */
  static get fields(): readonly (keyof FastPathConfig & string)[] {
    return ['keyBytes', 'capacity']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SketchOptions): FastPath {
    return createOf(FastPath, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): FastPath {
    return fromBytesOf(FastPath, bytes)
  }

  /** @internal */
  static configure(options: SketchOptions): FastPathConfig {
    const left = options.bytes - 8 * scalarCount
    const entry = 20 + 4 * ((options.keyBytes + 3) >> 2)
    let capacity = Math.min(2 ** 24, Math.floor(left / (entry + 8)))
    while (capacity > 0 && entry * capacity + 4 * indexSize(capacity) > left) capacity = Math.floor(capacity * 0.99)
    if (capacity < 1) throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} are too few for one key`)
    return { keyBytes: options.keyBytes, capacity }
  }

  /** @internal */
  static check(config: FastPathConfig): number {
    wholeNumber('capacity', config.capacity, 1, 2 ** 24)
    return plannedBytes(planOf(config))
  }

  get #size(): number {
    return this.scalars[Scalar.tableSize]!
  }

  protected override add(count: number): void {
    const { h1, word, words } = this.keys
    const [counts, amounts] = [this.#counts, this.amounts]
    for (let i = 0; i < count; i++) {
      const amount = amounts[i]!
      if (amount === 0) continue
      const slot = this.#find(word, i * words, h1[i]!)
      if (slot >= 0) counts[slot]! += amount
      else this.#enter(word, i * words, h1[i]!, amount)
    }
  }

  /** Returns the slot of the key whose words begin at `at`, or −1. */
  #find(word: Int32Array, at: number, hash: number): number {
    const [index, mask, stored, words] = [this.#index, this.#mask, this.#stored, this.keys.words]
    for (let i = hash & mask; ; i = (i + 1) & mask) {
      const slot = index[i]! - 1
      if (slot < 0) return -1
      if (stored[slot * words] === word[at] && sameRest(stored, slot * words, word, at, words)) return slot
    }
  }

  #enter(word: Int32Array, at: number, hash: number, amount: number): void {
    const before = this.scalars[outside]!
    if (this.#size === this.config.capacity) {
      // As long as no key would leave, E grows by the whole amount, without a scan.
      if (before + amount < this.#floor) {
        this.scalars[outside] = before + amount
        return
      }
      const rise = this.#rise()
      this.#sweep(before + rise)
      if (amount <= rise) return
    }
    this.#insert(word, at, hash, amount, before)
  }

  /** Returns ê. At least the keys from which it was taken leave. */
  #rise(): number {
    const { capacity } = this.config
    const many = Math.min(samples, capacity)
    const sample = Float64Array.from({ length: many }, (_, i) => {
      const slot = Math.floor((i * capacity) / many)
      return this.#counts[slot]! + this.#errors[slot]! - this.scalars[outside]!
    })
    return sample.sort()[Math.min(leaving, many) - 1]!
  }

  /** Raises E; keys that cannot have more leave. */
  #sweep(level: number): void {
    const [counts, errors, stored, words] = [this.#counts, this.#errors, this.#stored, this.keys.words]
    const size = this.#size
    let to = 0
    this.#floor = Number.POSITIVE_INFINITY
    for (let slot = 0; slot < size; slot++) {
      const most = counts[slot]! + errors[slot]!
      if (most <= level) continue
      this.#floor = Math.min(this.#floor, most)
      if (to < slot) {
        counts[to] = counts[slot]!
        errors[to] = errors[slot]!
        for (let w = 0; w < words; w++) stored[to * words + w] = stored[slot * words + w]!
        this.#hashes[to] = this.#hashes[slot]!
      }
      to++
    }
    for (const array of [counts, errors]) array.fill(0, to, size)
    stored.fill(0, to * words, size * words)
    this.scalars[outside] = level
    this.scalars[Scalar.tableSize] = to
    this.#index.fill(0)
    for (let slot = 0; slot < to; slot++) this.#point(this.#hashes[slot]!, slot)
  }

  #point(hash: number, slot: number): void {
    let i = hash & this.#mask
    while (this.#index[i] !== 0) i = (i + 1) & this.#mask
    this.#index[i] = slot + 1
    this.#hashes[slot] = hash
  }

  #insert(word: Int32Array, at: number, hash: number, count: number, error: number): void {
    const { words } = this.keys
    const slot = this.scalars[Scalar.tableSize]!++
    for (let w = 0; w < words; w++) this.#stored[slot * words + w] = word[at + w]!
    this.#counts[slot] = count
    this.#errors[slot] = error
    this.#floor = Math.min(this.#floor, count + error)
    this.#point(hash, slot)
  }

  /** Part of the total that no key in the table has: the share of it that a key has is only bounded. */
  get unattributed(): number {
    return this.total - this.#counts.reduce((sum, count) => sum + count, 0)
  }

  /** Returns a certain estimate (confidence 1): it is never too large. */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const slot = this.#find(this.keys.word, 0, this.keys.h1[0]!)
    if (slot < 0) return { value: 0, lower: 0, upper: this.scalars[outside]!, confidence: 1 }
    const value = this.#counts[slot]!
    return { value, lower: value, upper: value + this.#errors[slot]!, confidence: 1 }
  }

  #keyAt(slot: number): Uint8Array {
    return keyOf(this.#stored, slot * this.keys.words, this.keyBytes)
  }

  protected override kept(): KeyEstimate[] {
    return Array.from({ length: this.#size }, (_, slot) => {
      const key = this.#keyAt(slot)
      return { key, ...this.estimate(key) }
    })
  }

  /**
   * Adds both tables: a key that one of them does not have may have lost its E there. If there are too many keys, the largest stay, and E
   * rises to the maximum of all others. Bounds stay certain, for both streams.
   */
  merge(other: FastPath): void {
    this.assertFits(other)
    const keys = new Map<string, Uint8Array>()
    for (const sketch of [this, other])
      for (let slot = 0; slot < sketch.#size; slot++)
        keys.set(String.fromCharCode(...sketch.#keyAt(slot)), sketch.#keyAt(slot))
    const entries = [...keys.values()].map((key) => {
      const [a, b] = [this.estimate(key), other.estimate(key)]
      return { key, count: a.lower + b.lower, most: a.upper + b.upper }
    })
    entries.sort((a, b) => b.most - a.most)
    this.#index.fill(0)
    for (const array of [this.#counts, this.#errors, this.#stored]) array.fill(0)
    this.scalars[Scalar.tableSize] = 0
    this.#floor = Number.POSITIVE_INFINITY
    const level = this.scalars[outside]! + other.scalars[outside]!
    this.scalars[outside] = Math.max(level, entries[this.config.capacity]?.most ?? 0)
    for (const { key, count, most } of entries.slice(0, this.config.capacity)) {
      this.read(key)
      this.#insert(this.keys.word, 0, this.keys.h1[0]!, count, most - count)
    }
    this.scalars[Scalar.total]! += other.total
  }

  protected override restored(): string | undefined {
    const [size, level, { words }] = [this.#size, this.scalars[outside]!, this.keys]
    if (!(Number.isInteger(size) && size >= 0 && size <= this.config.capacity))
      return 'the number of keys is impossible'
    if (!(level >= 0 && level <= this.total)) return 'more was lost than there is'
    let sum = 0
    for (let slot = 0; slot < size; slot++) {
      const [count, error] = [this.#counts[slot]!, this.#errors[slot]!]
      if (!(count >= 0 && error >= 0 && error <= this.total)) return 'a count or its error is impossible'
      if (!this.keys.isPadded(this.#stored, slot * words)) return 'a key is too long'
      this.keys.rehash(this.#stored, slot * words)
      const hash = this.keys.h1[blockKeys]!
      if (this.#find(this.#stored, slot * words, hash) >= 0) return 'a key is there twice'
      this.#point(hash, slot)
      this.#floor = Math.min(this.#floor, count + error)
      sum += count
    }
    return sum <= this.total ? undefined : 'the counts are more than the total'
  }
}
