/**
 * LD-Sketch (Huang and Lee, "A hybrid local and distributed sketching design for accurate and scalable heavy key detection in network data
 * streams", INFOCOM 2014): rows of buckets as in Count-Min, and in each bucket the total V, a table of keys as in Misra-Gries, and e, the
 * maximum loss of a key there. The table of a bucket grows with the amount that the bucket gets: to (k + 1)(k + 2) − 1 keys, k = ⌊V / T⌋, T
 * the expansion parameter (algorithm 1 there).
 *
 * Certain bounds (lemmas 1 and 2 there): a key has at least its count in the table of any of its buckets, and at most this count plus e.
 * While tables can grow, e stays below T; so every key above a threshold is found, and none that is more than T below it (theorem 1). The
 * estimate is the upper bound: no heavy key is missed.
 *
 * Where we differ: memory is fixed. Tables share one pool of entries; once it is empty, or a table has 512 keys, one that should grow
 * counts down instead, and its e contains the loss. Without a `threshold` all tables have the same size. Distributed detection:
 * ld-distributed.ts.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { SketchError, wholeNumber } from './error.ts'
import { blockKeys, keyOf, placeOf, sameRest } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { AmountSketch, type KeyConfig, Scalar, type SketchOptions, scalarCount } from './sketch.ts'

export interface LdConfig extends KeyConfig {
  rows: number
  /** Buckets of a row. */
  width: number
  /** Number of entries that all tables share. */
  entries: number
  /** Expansion parameter T; 0: tables of the same size. */
  expansion: number
}

export interface LdOptions extends SketchOptions {
  /** Number d of rows, 1 to 8 (default 2). */
  rows?: number
  /** Amount from which on keys are to be found: buckets that get more than half of it grow (T = threshold / 2, ε = 0.5 in the paper). */
  threshold?: number
}

/** Average number of entries for each bucket. */
const entriesEach = 8
/**
 * Maximum number of keys in a table: an update reads all of its keys, and an attacker could otherwise make their number as large as the
 * memory allows.
 */
const mostInTable = 512
/** Index of the first free entry + 1. */
const free = Scalar.own

const planOf = ({ rows, width, entries, keyBytes }: LdConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, rows * width],
    [Float64Array, rows * width],
    [Float64Array, entries],
    [Int32Array, rows * width],
    [Int32Array, rows * width],
    [Int32Array, entries],
    [Int32Array, entries * ((keyBytes + 3) >> 2)],
  ] as const

export class LdSketch extends AmountSketch<LdConfig> {
  /** Total V and loss e, by bucket. */
  readonly #totals: Float64Array
  readonly #errors: Float64Array
  readonly #counts: Float64Array
  /** First entry of a bucket + 1, and number of its entries. */
  readonly #heads: Int32Array
  readonly #sizes: Int32Array
  /** Next entry after an entry + 1, in a bucket or among the free ones. */
  readonly #next: Int32Array
  readonly #stored: Int32Array

  /** @internal */
  constructor(config: LdConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('ld', config, seed, plan, block)
    const [scalars, totals, errors, counts, heads, sizes, next, stored] = views(this.block, plan)
    this.#totals = totals
    this.#errors = errors
    this.#counts = counts
    this.#heads = heads
    this.#sizes = sizes
    this.#next = next
    this.#stored = stored
    if (block) this.verify()
    else {
      for (let entry = 0; entry < config.entries; entry++) next[entry] = entry + 1 < config.entries ? entry + 2 : 0
      scalars[free] = 1
    }
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['ld']
  }

  /** @internal */
  static get fields(): readonly (keyof LdConfig & string)[] {
    return ['keyBytes', 'rows', 'width', 'entries', 'expansion']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: LdOptions): LdSketch {
    return createOf(LdSketch, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): LdSketch {
    return fromBytesOf(LdSketch, bytes)
  }

  /** @internal */
  static configure(options: LdOptions): LdConfig {
    const rows = wholeNumber('rows', options.rows ?? 2, 1, 8)
    const threshold = options.threshold ?? 0
    if (!(threshold >= 0 && threshold < 2 ** 53))
      throw new SketchError('ERR_SKETCH_VALUE', `threshold: ${threshold} is not a number from 0 to 2^53`)
    const left = options.bytes - 8 * scalarCount
    const entry = 12 + 4 * ((options.keyBytes + 3) >> 2)
    const width = Math.floor(left / (rows * (24 + entriesEach * entry)))
    if (width < 1)
      throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} are too few for one bucket in a row`)
    const entries = Math.min(2 ** 24, Math.floor((left - rows * width * 24) / entry))
    return { keyBytes: options.keyBytes, rows, width, entries, expansion: threshold / 2 }
  }

  /** @internal */
  static check(config: LdConfig): number {
    wholeNumber('rows', config.rows, 1, 8)
    wholeNumber('width', config.width, 1, 2 ** 24)
    wholeNumber('entries', config.entries, 1, 2 ** 24)
    if (!(config.expansion >= 0 && config.expansion < 2 ** 53))
      throw new SketchError('ERR_SKETCH_VALUE', `expansion: ${config.expansion} is impossible`)
    return plannedBytes(planOf(config))
  }

  protected override add(count: number): void {
    const { rows, width } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    for (let i = 0; i < count; i++) {
      const amount = this.amounts[i]!
      if (amount === 0) continue
      for (let row = 0; row < rows; row++) {
        const bucket = row * width + placeOf(h1[i]!, h2[i]!, multipliers[row]!, width / 2 ** 32)
        this.#count(bucket, word, i * words, amount)
      }
    }
  }

  #count(bucket: number, word: Int32Array, at: number, amount: number): void {
    this.#totals[bucket]! += amount
    const entry = this.#find(bucket, word, at)
    if (entry >= 0) {
      this.#counts[entry]! += amount
      return
    }
    if (this.#sizes[bucket]! < this.#limit(bucket) && this.scalars[free]! > 0) {
      this.#insert(bucket, word, at, amount)
      return
    }
    const least = Math.min(amount, this.#least(bucket))
    this.#decrement(bucket, least)
    if (amount > least && this.scalars[free]! > 0) this.#insert(bucket, word, at, amount - least)
    else if (amount > least) this.#errors[bucket]! += amount - least
  }

  /** Returns the maximum number of keys in the table of a bucket. */
  #limit(bucket: number): number {
    const { expansion, entries, rows, width } = this.config
    if (expansion === 0) return Math.min(mostInTable, Math.max(1, Math.floor(entries / (rows * width))))
    const k = Math.floor(this.#totals[bucket]! / expansion)
    return Math.min(mostInTable, (k + 1) * (k + 2) - 1)
  }

  /** Returns the entry of the key whose words begin at `at`, or −1. */
  #find(bucket: number, word: Int32Array, at: number): number {
    const [next, stored, words] = [this.#next, this.#stored, this.keys.words]
    for (let entry = this.#heads[bucket]! - 1; entry >= 0; entry = next[entry]! - 1)
      if (stored[entry * words] === word[at] && sameRest(stored, entry * words, word, at, words)) return entry
    return -1
  }

  /** Returns the smallest count of a bucket; infinity without one. */
  #least(bucket: number): number {
    let least = Number.POSITIVE_INFINITY
    for (let entry = this.#heads[bucket]! - 1; entry >= 0; entry = this.#next[entry]! - 1)
      least = Math.min(least, this.#counts[entry]!)
    return least
  }

  /** Subtracts from all counts of a bucket; keys without a count leave. */
  #decrement(bucket: number, amount: number): void {
    const { words } = this.keys
    this.#errors[bucket]! += amount
    let before = -1
    for (let entry = this.#heads[bucket]! - 1; entry >= 0; ) {
      const behind = this.#next[entry]! - 1
      this.#counts[entry]! -= amount
      if (this.#counts[entry]! > 0) before = entry
      else {
        if (before < 0) this.#heads[bucket] = behind + 1
        else this.#next[before] = behind + 1
        this.#sizes[bucket]!--
        this.#counts[entry] = 0
        this.#stored.fill(0, entry * words, (entry + 1) * words)
        this.#next[entry] = this.scalars[free]!
        this.scalars[free] = entry + 1
      }
      entry = behind
    }
  }

  #insert(bucket: number, word: Int32Array, at: number, count: number): void {
    const { words } = this.keys
    const entry = this.scalars[free]! - 1
    this.scalars[free] = this.#next[entry]!
    this.#next[entry] = this.#heads[bucket]!
    this.#heads[bucket] = entry + 1
    this.#sizes[bucket]!++
    this.#counts[entry] = count
    for (let w = 0; w < words; w++) this.#stored[entry * words + w] = word[at + w]!
  }

  /** Returns a certain estimate (confidence 1), which is never too small. */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const { rows, width } = this.config
    const { h1, h2, multipliers, word } = this.keys
    let [lower, upper] = [0, this.total]
    for (let row = 0; row < rows; row++) {
      const bucket = row * width + placeOf(h1[0]!, h2[0]!, multipliers[row]!, width / 2 ** 32)
      const entry = this.#find(bucket, word, 0)
      const count = entry < 0 ? 0 : this.#counts[entry]!
      lower = Math.max(lower, count)
      upper = Math.min(upper, count + this.#errors[bucket]!)
    }
    return { value: upper, lower, upper, confidence: 1 }
  }

  /** Returns the keys of all tables. A key that no table has is at most the largest e. */
  protected override kept(): KeyEstimate[] {
    const keys = new Map<string, Uint8Array>()
    for (const head of this.#heads)
      for (let entry = head - 1; entry >= 0; entry = this.#next[entry]! - 1) {
        const key = keyOf(this.#stored, entry * this.keys.words, this.keyBytes)
        keys.set(String.fromCharCode(...key), key)
      }
    return [...keys.values()].map((key) => ({ key, ...this.estimate(key) }))
  }

  /** Maximum amount of a key that `topK` and `heavyHitters` can miss: a larger one is in the table of a bucket in each row. */
  get missable(): number {
    const { rows, width } = this.config
    const each = Array.from({ length: rows }, (_, row) => this.#errors.subarray(row * width, (row + 1) * width))
    return Math.min(...each.map((errors) => errors.reduce((most, error) => Math.max(most, error), 0)))
  }

  /** Adds the tables bucket by bucket, and the maximum losses of keys in both. Bounds stay certain, for both streams. */
  merge(other: LdSketch): void {
    this.assertFits(other)
    this.scalars[Scalar.total]! += other.total
    const { words } = this.keys
    for (let bucket = 0; bucket < this.#heads.length; bucket++) {
      const before = this.#totals[bucket]! + other.#totals[bucket]!
      this.#errors[bucket]! += other.#errors[bucket]!
      for (let entry = other.#heads[bucket]! - 1; entry >= 0; entry = other.#next[entry]! - 1)
        this.#count(bucket, other.#stored, entry * words, other.#counts[entry]!)
      this.#totals[bucket] = before
    }
  }

  protected override restored(): string | undefined {
    const { entries, rows, width } = this.config
    const { words } = this.keys
    let sum = 0
    for (let bucket = 0; bucket < rows * width; bucket++) {
      const [total, error] = [this.#totals[bucket]!, this.#errors[bucket]!]
      if (!(Number.isInteger(total) && total >= 0 && error >= 0 && error <= total)) return 'a bucket is impossible'
      sum += total
    }
    if (sum !== rows * this.total) return 'the buckets are not the total'
    const seen = new Uint8Array(entries)
    /** Returns the length of a list; NaN if it is not a valid list. */
    const length = (head: number): number => {
      let many = 0
      for (let entry = head; entry !== 0; entry = this.#next[entry - 1]!) {
        if (!(Number.isInteger(entry) && entry > 0 && entry <= entries) || seen[entry - 1] === 1) return Number.NaN
        seen[entry - 1] = 1
        many++
      }
      return many
    }
    if (Number.isNaN(length(this.scalars[free]!))) return 'the list of free entries is none'
    for (let bucket = 0; bucket < rows * width; bucket++)
      if (length(this.#heads[bucket]!) !== this.#sizes[bucket] || this.#sizes[bucket]! > mostInTable)
        return 'the table of a bucket is none'
    if (seen.includes(0)) return 'an entry is lost'
    for (const [bucket, head] of this.#heads.entries())
      for (let entry = head - 1; entry >= 0; entry = this.#next[entry]! - 1) {
        if (!(this.#counts[entry]! > 0 && this.#counts[entry]! <= this.#totals[bucket]!)) return 'a count is impossible'
        if (!this.keys.isPadded(this.#stored, entry * words)) return 'a key is too long'
        this.keys.rehash(this.#stored, entry * words)
        const { h1, h2, multipliers } = this.keys
        const row = Math.floor(bucket / width)
        const home = placeOf(h1[blockKeys]!, h2[blockKeys]!, multipliers[row]!, width / 2 ** 32)
        if (row * width + home !== bucket) return 'a key is in a bucket that is not its own'
        if (this.#find(bucket, this.#stored, entry * words) !== entry) return 'a key is there twice'
      }
    return undefined
  }
}
