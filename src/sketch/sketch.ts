/**
 * Base classes of sketches. `Sketch`: bytes, and rejection of sketches that do not match; a subclass supplies the plan of its block, of
 * which the first array is always `scalars`. `KeySketch`: reading keys and amounts; a subclass adds a block of keys at a time in `add`.
 * `AmountSketch`: answers by key.
 */
import { descending, type Estimate, type KeyEstimate } from './answers.ts'
import { type Plan, plannedBytes, views } from './block.ts'
import { encode } from './bytes.ts'
import { manyKeys, mostAmount, oneKey, SketchError, wholeNumber, wrongNumber } from './error.ts'
import { blockKeys, KeyReader } from './keys.ts'
import type { SeedLike } from './seed.ts'

export interface SketchOptions {
  /** Memory of all contents of the sketch, tables of top keys included. */
  bytes: number
  /** Length of every key, 1 to 256. */
  keyBytes: number
  /** Seed; an attacker who knows it can choose keys that collide: random by default. Sketches that are to be merged need the same. */
  seed?: SeedLike
}

export interface KeyConfig {
  keyBytes: number
}

/** Count at which counters saturate: V8 keeps numbers below 2^31 in integer registers. */
export const mostCount: number = 2 ** 31 - 1

/**
 * Returns the sum of a count and an amount, not above `mostCount`. `small`: the total of the sketch is below 2^31, so that no count can be
 * above; then the sum stays an integer for V8, and takes half the time.
 */
export function saturatingSum(count: number, amount: number, small: boolean): number {
  return small ? (count + amount) | 0 : Math.min(count + amount, mostCount)
}
export const mostBytes: number = 2 ** 31

/** Indices in the first array of a block. Those from `own` on belong to the kind. */
export const Scalar = { total: 0, random: 1, tableSize: 2, own: 3 } as const
export const scalarCount = 8

/** Sketch with dimensions `C`: numbers, kept in the bytes in the order of the kind's fields. */
export abstract class Sketch<C extends object = object> {
  readonly kind: string
  /** Dimensions that `bytes` and the other options gave. */
  readonly config: Readonly<C>
  readonly #seed: Uint8Array
  protected readonly block: ArrayBuffer
  protected readonly scalars: Float64Array

  protected constructor(kind: string, config: C, seed: Uint8Array, plan: Plan, block?: ArrayBuffer) {
    this.kind = kind
    this.config = config
    this.#seed = seed
    this.block = block ?? new ArrayBuffer(plannedBytes(plan))
    const [scalars] = views(this.block, [[Float64Array, scalarCount]])
    this.scalars = scalars
  }

  /** Memory of counters, keys and tables. */
  get bytes(): number {
    return this.block.byteLength
  }

  /** Seed of 16 bytes. Keep it secret from those who choose keys. */
  get seed(): Uint8Array {
    return this.#seed.slice()
  }

  /** Sum of all amounts, exact up to 2^53. */
  get total(): number {
    return this.scalars[Scalar.total]!
  }

  /** Computes the data that are derived from the block after another state was put there. Returns the defect of the state, if any. */
  protected abstract restored(): string | undefined

  /** Returns version, kind, dimensions, seed and state, with a checksum. `sketchFromBytes` reads them. */
  toBytes(): Uint8Array {
    return encode(this.kind, this.config as Record<string, number>, this.#seed, this.block)
  }

  /** Checks the properties of every state, then those of the kind's. */
  protected verify(): void {
    const sound = Number.isSafeInteger(this.total) && this.total >= 0
    const wrong = sound ? this.restored() : 'the total is impossible'
    if (wrong !== undefined) throw new SketchError('ERR_SKETCH_BYTES', `${this.kind}: ${wrong}`)
  }

  /** Throws ERR_SKETCH_MISMATCH unless `other` has the same kind, dimensions and seed, and is not this sketch itself. */
  protected assertFits(other: Sketch): void {
    const differs = (what: string) =>
      new SketchError('ERR_SKETCH_MISMATCH', `${this.kind}: the other sketch ${what}, so they cannot be combined`)
    if ((other as unknown) === this) throw differs('is the same one')
    if (other.kind !== this.kind) throw differs(`is of kind ${other.kind}`)
    const theirs = other.config as Record<string, number>
    for (const [name, value] of Object.entries(this.config))
      if (theirs[name] !== value) throw differs(`has ${name} ${theirs[name]} and not ${value}`)
    if (!this.hasSeedOf(other)) throw differs('has another seed')
  }

  protected hasSeedOf(other: Sketch): boolean {
    return this.#seed.every((byte, i) => other.#seed[i] === byte)
  }
}

/** Sketches to which keys with amounts are added. */
export abstract class KeySketch<C extends KeyConfig = KeyConfig> extends Sketch<C> {
  readonly keyBytes: number
  protected readonly keys: KeyReader
  /** Amounts of the keys of a block. */
  protected readonly amounts: Uint32Array = new Uint32Array(blockKeys)

  protected constructor(kind: string, config: C, seed: Uint8Array, plan: Plan, block?: ArrayBuffer) {
    super(kind, config, seed, plan, block)
    this.keyBytes = config.keyBytes
    this.keys = new KeyReader(config.keyBytes, seed)
    // A state of zero would stay zero (xorshift).
    if (block === undefined) this.scalars[Scalar.random] = this.keys.multipliers[0]!
  }

  /** True if no counter can have reached 2^31. */
  protected get isSmall(): boolean {
    return this.total < 2 ** 31
  }

  /** Adds `amount`, a whole number from 0 to 2^32 − 1, to a key. Throws ERR_SKETCH_VALUE if the key has another length. */
  update(key: Uint8Array, amount: number = 1): void {
    this.read(key)
    this.amounts[0] = wholeNumber('amount', amount, 0, mostAmount)
    this.scalars[Scalar.total]! += amount
    this.add(1)
  }

  /**
   * Adds many keys that are packed in one array, in order; `amounts` is one number for each of them, or one for all. This is the fast form
   * of `update`.
   */
  updateMany(keys: Uint8Array, amounts: Uint32Array | number = 1): void {
    const { keyBytes } = this
    const count = this.#start(keys, amounts)
    for (let from = 0; from < count; from += blockKeys) {
      const many = Math.min(blockKeys, count - from)
      this.keys.load(keys, from * keyBytes, many)
      this.#addBlock(amounts, from, many)
    }
  }

  /** Checks keys and amounts. Returns their number. */
  #start(keys: Uint8Array, amounts: Uint32Array | number): number {
    const count = manyKeys(keys, this.keyBytes, amounts)
    if (typeof amounts === 'number') this.amounts.fill(amounts)
    return count
  }

  #addBlock(amounts: Uint32Array | number, from: number, many: number): void {
    this.scalars[Scalar.total]! += typeof amounts === 'number' ? many * amounts : this.#take(amounts, from, many)
    this.add(many)
  }

  /**
   * Executes `updateMany` of several sketches with the same keys, each with amounts of its own: keys are read and hashed once. Throws
   * ERR_SKETCH_MISMATCH unless they have the same length of keys and the same seed, and are of kinds that keep keys and take them
   * unchanged.
   */
  static updateAll(sketches: readonly KeySketch[], keys: Uint8Array, amounts: readonly (Uint32Array | number)[]): void {
    const [first] = sketches
    if (first === undefined) return
    for (const sketch of sketches)
      if (!first.#sharesKeys(sketch))
        throw new SketchError('ERR_SKETCH_MISMATCH', `${first.kind}: ${sketch.kind} cannot share its keys`)
    if (amounts.length !== sketches.length)
      throw new SketchError(
        'ERR_SKETCH_VALUE',
        `amounts: they are for ${amounts.length} of ${sketches.length} sketches`,
      )
    let count = 0
    for (const [i, sketch] of sketches.entries()) count = sketch.#start(keys, amounts[i]!)
    for (let from = 0; from < count; from += blockKeys) {
      const many = Math.min(blockKeys, count - from)
      first.keys.load(keys, from * first.keyBytes, many)
      for (let i = 0; i < sketches.length; i++) {
        const sketch = sketches[i]!
        if (sketch !== first) sketch.keys.copy(first.keys, many)
        sketch.#addBlock(amounts[i]!, from, many)
      }
    }
  }

  /** Returns true if the keys that this sketch has read can be used for the other one. */
  #sharesKeys(other: KeySketch): boolean {
    return (
      other.keyBytes === this.keyBytes &&
      this.hasSeedOf(other) &&
      this.keys.hasWords &&
      other.keys.hasWords &&
      other.updateMany === KeySketch.prototype.updateMany &&
      this.updateMany === KeySketch.prototype.updateMany
    )
  }

  /** Takes the amounts of a block. Returns their sum. */
  #take(amounts: Uint32Array, from: number, count: number): number {
    this.amounts.set(amounts.subarray(from, from + count))
    let sum = 0
    for (let i = 0; i < count; i++) sum += this.amounts[i]!
    return sum
  }

  /** Adds the first `count` keys that `keys` has read, with `amounts`. `total` already contains them. */
  protected abstract add(count: number): void

  /** Reads one key into the first entry of `keys`. Throws ERR_SKETCH_VALUE if it has another length. */
  protected read(key: Uint8Array): void {
    oneKey('key', key, this.keyBytes)
    this.keys.load(key, 0, 1)
  }

  protected override verify(): void {
    const random = this.scalars[Scalar.random]!
    if (random === 0 || (random | 0) !== random)
      throw new SketchError('ERR_SKETCH_BYTES', `${this.kind}: the state of its random numbers is impossible`)
    super.verify()
  }
}

/** Sketches that answer by key: estimates, top keys, heavy hitters. */
export abstract class AmountSketch<C extends KeyConfig = KeyConfig> extends KeySketch<C> {
  /** Returns the amount of a key, with its bounds. Throws ERR_SKETCH_VALUE if the key has another length. */
  abstract estimate(key: Uint8Array): Estimate

  /** Returns all keys that are kept, with their estimates, in no order. */
  protected abstract kept(): KeyEstimate[]

  /** Returns the `k` kept keys with the largest estimates, largest first. */
  topK(k: number): KeyEstimate[] {
    wholeNumber('k', k, 1, 2 ** 31)
    return this.kept().sort(descending).slice(0, k)
  }

  /** Returns the kept keys whose estimate is at least `threshold`, largest first. */
  heavyHitters(threshold: number): KeyEstimate[] {
    if (!(typeof threshold === 'number' && threshold > 0)) throw wrongNumber('threshold', threshold, 'a number above 0')
    return this.kept()
      .filter(({ value }) => value >= threshold)
      .sort(descending)
  }
}
