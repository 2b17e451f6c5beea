/**
 * CocoSketch (Zhang, Liu, Wang, Yang, Li, Yang, SIGCOMM 2021), the version for software (section 4): d arrays of l buckets with a
 * key and a count each. A key that is in one of its d buckets adds there. Otherwise the bucket of the smallest count takes the amount, and
 * the key replaces the one there with a probability of amount / count. So the recorded count of every key is unbiased, and sums of
 * them are unbiased for every partial key.
 *
 * Bounds: section 5 of the paper shows, for one array, a variance of f (N − f) / l, N the total, also for sums over keys; choosing the
 * least of d buckets is there to make it smaller. By Chebyshev |f̂ − f| ≤ √(k f) with k = N / (l δ), solved for f:
 * f̂ + k / 2 ± √(k f̂ + k² / 4), with a confidence of 1 − δ. Where we differ: the variance of one array is used for d of them, which the
 * paper does not prove for every stream; the bounds are wide, and the tests hold them over 200 seeds. Besides, the sketch sums the amounts
 * that it may have attributed to another key: the amount of the update, if the key of its bucket stays, otherwise the count of that key. No
 * error of an answer exceeds this sum (the triangle inequality), so while keys have buckets to themselves, answers are exact. Counters have
 * 31 bits, or 53 if those are too few, and saturate.
 */
import { descending, type Estimate, type KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { atLeast } from './count-min.ts'
import { SketchError, wholeNumber } from './error.ts'
import { blockKeys, keyOf, placeOf, sameRest } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { nextRandom } from './seed.ts'
import { AmountSketch, mostBytes, mostCount, Scalar, type SketchOptions, saturatingSum, scalarCount } from './sketch.ts'

export interface CocoConfig {
  keyBytes: number
  arrays: number
  /** Buckets of an array. */
  width: number
  countBits: CountBits
}

export interface CocoOptions extends SketchOptions {
  /** Number d of arrays, 1 to 4 (default 2). */
  arrays?: number
  /**
   * Bits of a count, which saturates: 31 (default) hold the bytes of some tenths of a second at 100 Gbit/s. 53 take another word of each
   * bucket, and more time.
   */
  countBits?: CountBits
}

/** Bits of a count. */
export type CountBits = 31 | 53

/** Function that returns the partial key of a key: a part of its bytes, or any value computed from it. All have one length. */
export type PartialKey = (key: Uint8Array) => Uint8Array

const confidence = 0.95
/** Amount that may have been attributed to other keys. */
const disputed = Scalar.own

/** Words of a bucket: the low 31 bits of its count, the words of its key, and of 53 bits the high 22, so that all are in one cache line. */
const bucketWords = ({ keyBytes, countBits }: Pick<CocoConfig, 'keyBytes' | 'countBits'>) =>
  1 + ((keyBytes + 3) >> 2) + (countBits === 53 ? 1 : 0)
const lowBits = 0x7fffffff
const mostWide = Number.MAX_SAFE_INTEGER

const planOf = (config: CocoConfig) =>
  [
    [Float64Array, scalarCount],
    [Int32Array, config.arrays * config.width * bucketWords(config)],
  ] as const

export class CocoSketch extends AmountSketch<CocoConfig> {
  readonly #buckets: Int32Array
  /** Words of a bucket. */
  readonly #size: number
  readonly #isWide: boolean
  /** Count at which a count saturates. */
  readonly #most: number

  /** @internal */
  constructor(config: CocoConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('coco', config, seed, plan, block)
    const [, buckets] = views(this.block, plan)
    this.#buckets = buckets
    this.#size = bucketWords(config)
    this.#isWide = config.countBits === 53
    this.#most = this.#isWide ? mostWide : mostCount
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['coco']
  }

  /** @internal */
  static get fields(): readonly (keyof CocoConfig & string)[] {
    return ['keyBytes', 'arrays', 'width', 'countBits']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: CocoOptions): CocoSketch {
    return createOf(CocoSketch, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): CocoSketch {
    return fromBytesOf(CocoSketch, bytes)
  }

  /** @internal */
  static configure(options: CocoOptions): CocoConfig {
    const arrays = wholeNumber('arrays', options.arrays ?? 2, 1, 4)
    const { bytes, keyBytes, countBits = 31 } = options
    const width = Math.floor((bytes - 8 * scalarCount) / (4 * arrays * bucketWords({ keyBytes, countBits })))
    return { keyBytes, arrays, width: atLeast('bytes', bytes, width), countBits: bitsOf(countBits) }
  }

  /** @internal */
  static check(config: CocoConfig): number {
    wholeNumber('arrays', config.arrays, 1, 4)
    wholeNumber('width', config.width, 8, mostBytes)
    bitsOf(config.countBits)
    return plannedBytes(planOf(config))
  }

  protected override add(count: number): void {
    if (this.#isWide) {
      this.#addWide(count)
      return
    }
    const { arrays, width } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    const [buckets, amounts] = [this.#buckets, this.amounts]
    const scale = width / 2 ** 32
    const size = words + 1
    const [m0, m1] = [multipliers[0]!, multipliers[arrays === 1 ? 0 : 1]!]
    const second = arrays === 1 ? 0 : width * size
    const small = this.isSmall
    let random = this.scalars[Scalar.random]! | 0
    let moved = 0
    next: for (let i = 0; i < count; i++) {
      const amount = amounts[i]!
      if (amount === 0) continue
      const a = h1[i]!
      const b = h2[i]!
      const from = i * words
      const first = word[from]!
      // The first two buckets without a loop, and without a branch on which of them has less: such a branch is unpredictable.
      const at0 = placeOf(a, b, m0, scale) * size
      const at1 = placeOf(a, b, m1, scale) * size + second
      const count0 = buckets[at0]!
      const count1 = buckets[at1]!
      if (buckets[at0 + 1] === first && count0 > 0 && sameRest(buckets, at0 + 1, word, from, words)) {
        buckets[at0] = saturatingSum(count0, amount, small)
        continue
      }
      if (buckets[at1 + 1] === first && count1 > 0 && sameRest(buckets, at1 + 1, word, from, words)) {
        buckets[at1] = saturatingSum(count1, amount, small)
        continue
      }
      const less = (count1 - count0) >> 31
      let least = at0 ^ ((at0 ^ at1) & less)
      let leastCount = count0 ^ ((count0 ^ count1) & less)
      for (let array = 2; array < arrays; array++) {
        const at = (array * width + placeOf(a, b, multipliers[array]!, scale)) * size
        const here = buckets[at]!
        if (buckets[at + 1] === first && here > 0 && sameRest(buckets, at + 1, word, from, words)) {
          buckets[at] = saturatingSum(here, amount, small)
          continue next
        }
        if (here < leastCount) {
          leastCount = here
          least = at
        }
      }
      const sum = saturatingSum(leastCount, amount, small)
      buckets[least] = sum
      random = nextRandom(random)
      const stays = (random >>> 0) * sum >= amount * 2 ** 32
      moved += stays ? amount : this.#lost(leastCount)
      if (stays) continue
      for (let w = 0; w < words; w++) buckets[least + 1 + w] = word[from + w]!
    }
    this.scalars[Scalar.random] = random
    this.#dispute(moved)
  }

  /** Returns the amount that the replaced key of a bucket loses: for a saturated count it is unknown. */
  #lost(count: number): number {
    return count === this.#most ? mostWide : count
  }

  #dispute(amount: number): void {
    this.scalars[disputed] = Math.min(mostWide, this.scalars[disputed]! + amount)
  }

  /** Adds as `add`, with counts of 53 bits, of which every sum is exact. */
  #addWide(count: number): void {
    const { arrays, width } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    const [buckets, amounts, size] = [this.#buckets, this.amounts, this.#size]
    const scale = width / 2 ** 32
    let random = this.scalars[Scalar.random]! | 0
    let moved = 0
    next: for (let i = 0; i < count; i++) {
      const amount = amounts[i]!
      if (amount === 0) continue
      const from = i * words
      let least = 0
      let leastCount = Number.POSITIVE_INFINITY
      for (let array = 0; array < arrays; array++) {
        const at = (array * width + placeOf(h1[i]!, h2[i]!, multipliers[array]!, scale)) * size
        const here = this.#countAt(at)
        if (buckets[at + 1] === word[from] && here > 0 && sameRest(buckets, at + 1, word, from, words)) {
          this.#setCount(at, here + amount)
          continue next
        }
        if (here < leastCount) {
          leastCount = here
          least = at
        }
      }
      const sum = this.#setCount(least, leastCount + amount)
      random = nextRandom(random)
      const stays = (random >>> 0) * sum >= amount * 2 ** 32
      moved += stays ? amount : this.#lost(leastCount)
      if (stays) continue
      for (let w = 0; w < words; w++) buckets[least + 1 + w] = word[from + w]!
    }
    this.scalars[Scalar.random] = random
    this.#dispute(moved)
  }

  #countAt(at: number): number {
    return this.#isWide ? this.#buckets[at]! + this.#buckets[at + this.#size - 1]! * 2 ** 31 : this.#buckets[at]!
  }

  /** Gives a bucket a count, which saturates. Returns it. */
  #setCount(at: number, count: number): number {
    const kept = Math.min(count, this.#most)
    this.#buckets[at] = kept & lowBits
    if (this.#isWide) this.#buckets[at + this.#size - 1] = kept / 2 ** 31
    return kept
  }

  /**
   * Returns the amount of a key, unbiased. Bounds: at the head of this file; confidence 0.95, or 1 if the amount that may be attributed to
   * other keys alone bounds it.
   */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const { arrays, width } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    let value = 0
    let saturated = false
    for (let array = 0; array < arrays; array++) {
      const at = (array * width + placeOf(h1[0]!, h2[0]!, multipliers[array]!, width / 2 ** 32)) * this.#size
      if (this.#buckets[at + 1] !== word[0] || !sameRest(this.#buckets, at + 1, word, 0, words)) continue
      const count = this.#countAt(at)
      value += count
      saturated ||= count === this.#most
    }
    return this.#bounded(value, saturated)
  }

  /** Maximum amount of a key that is in no bucket, or of all such keys together that share a partial key. Confidence 0.95. */
  get mostOfAbsent(): number {
    return this.#bounded(0, false).upper
  }

  #bounded(value: number, saturated: boolean): Estimate {
    const { total } = this
    const k = total / (this.config.width * (1 - confidence))
    const half = Math.sqrt(k * value + (k * k) / 4)
    const off = this.scalars[disputed]!
    // The true amount and the total are integers, and no amount exceeds the total.
    const lower = Math.max(0, value - off, Math.ceil(value + k / 2 - half))
    const upper = saturated ? total : Math.min(total, value + off, Math.floor(value + k / 2 + half))
    const isSure = lower <= Math.max(0, value - off) && (saturated || upper === Math.min(total, value + off))
    return { value, lower, upper, confidence: isSure ? 1 : confidence }
  }

  protected override kept(): KeyEstimate[] {
    return this.#sums((key) => key)
  }

  /**
   * Returns the amounts by a partial key, largest first; the partial key may be chosen after the updates. Each amount is the sum over the
   * recorded keys that have it, unbiased, with bounds as of a whole key.
   */
  aggregate(partialKey: PartialKey): KeyEstimate[] {
    return this.#sums(partialKey).sort(descending)
  }

  #sums(partialKey: PartialKey): KeyEstimate[] {
    const sums = new Map<string, { key: Uint8Array; value: number; saturated: boolean }>()
    for (let at = 0; at < this.#buckets.length; at += this.#size) {
      const count = this.#countAt(at)
      if (count === 0) continue
      const key = partialKey(keyOf(this.#buckets, at + 1, this.keyBytes))
      const name = String.fromCharCode(...key)
      let sum = sums.get(name)
      if (!sum) {
        sum = { key, value: 0, saturated: false }
        sums.set(name, sum)
      }
      sum.value += count
      sum.saturated ||= count === this.#most
    }
    return [...sums.values()].map(({ key, value, saturated }) => ({ key, ...this.#bounded(value, saturated) }))
  }

  /**
   * Adds a sketch of another stream, bucket by bucket: counts are added, and one of the two keys stays, with a probability in
   * proportion to its count. Estimates stay unbiased; it is not bit by bit the sketch of both streams.
   */
  merge(other: CocoSketch): void {
    this.assertFits(other)
    const { words } = this.keys
    const [mine, theirs] = [this.#buckets, other.#buckets]
    let random = this.scalars[Scalar.random]! | 0
    for (let at = 0; at < mine.length; at += this.#size) {
      const added = other.#countAt(at)
      if (added === 0) continue
      const had = this.#countAt(at)
      const sum = had + added
      this.#setCount(at, sum)
      random = nextRandom(random)
      const stays = (random >>> 0) * sum >= added * 2 ** 32
      const isSame = mine[at + 1] === theirs[at + 1] && sameRest(mine, at + 1, theirs, at + 1, words)
      if (!isSame) this.#dispute(stays ? this.#lost(added) : this.#lost(had))
      if (stays) continue
      for (let w = at + 1; w <= at + words; w++) mine[w] = theirs[w]!
    }
    this.scalars[Scalar.random] = random
    this.scalars[Scalar.total]! += other.total
    this.#dispute(other.scalars[disputed]!)
  }

  protected override restored(): string | undefined {
    const { h1, h2, multipliers } = this.keys
    const { arrays, width } = this.config
    const off = this.scalars[disputed]!
    if (!Number.isSafeInteger(off) || off < 0) return 'what was put down to other keys is impossible'
    let sum = 0
    for (let bucket = 0; bucket < arrays * width; bucket++) {
      const at = bucket * this.#size
      const count = this.#countAt(at)
      sum += count
      if (this.#buckets[at]! < 0 || count < 0 || count > this.#most) return 'a count is impossible'
      if (count === 0) continue
      if (!this.keys.isPadded(this.#buckets, at + 1)) return 'a key is too long'
      this.keys.rehash(this.#buckets, at + 1)
      const place = placeOf(h1[blockKeys]!, h2[blockKeys]!, multipliers[Math.floor(bucket / width)]!, width / 2 ** 32)
      if (place !== bucket % width) return 'a key is in a bucket that is not its own'
    }
    return sum > this.total ? 'the counts are more than the total' : undefined
  }
}

function bitsOf(countBits: number): CountBits {
  if (countBits === 31 || countBits === 53) return countBits
  throw new SketchError('ERR_SKETCH_VALUE', `countBits: ${countBits} is neither 31 nor 53`)
}

/** Returns the function for a partial key of `length` bytes from `offset` on. */
export function keyPart(offset: number, length: number): PartialKey {
  wholeNumber('offset', offset, 0, 255)
  wholeNumber('length', length, 1, 256)
  return (key) => {
    if (key.length >= offset + length) return key.slice(offset, offset + length)
    throw new SketchError('ERR_SKETCH_VALUE', `bytes ${offset} to ${offset + length} are not in a key of ${key.length}`)
  }
}
