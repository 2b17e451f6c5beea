/**
 * Superspreaders: sources with many different destinations, such as hosts that send to many hosts. The first bytes of each key are the
 * source, and the number of different keys of a source is counted. The sketch of OpenSketch (Yu, Jose and Miao, NSDI 2013, section 4.2): a
 * Count-Min sketch with a bitmap in each place instead of a counter.
 *
 * A bitmap has the keys of all sources that hash to it, so that the smallest of d estimates is too large by at most e D / w with a
 * confidence of 1 − e^−d, D the keys of all sources (theorem 1 of Count-Min); and it is linear counting (cardinality.ts), whose three
 * standard errors are added on both sides, as D is. Each of these d + 1 may be wrong by 0.01: confidence is 1 − e^−d − 0.01 (d + 1). A full
 * bitmap shows only that there are many: then the upper bound is D.
 *
 * Where we differ: all keys are counted, the paper samples them; D is counted by a bitmap of its own.
 */
import { descending, type Estimate, type KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { linearCount, onesIn } from './cardinality.ts'
import { atLeast, tableKeys } from './count-min.ts'
import { manyKeys, mostAmount, oneKey, SketchError, wholeNumber } from './error.ts'
import { KeyReader, placeAt, placeOf } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { type KeyConfig, KeySketch, Scalar, type SketchOptions, scalarCount } from './sketch.ts'
import { TopTable } from './top-table.ts'

export interface SpreadConfig extends KeyConfig {
  /** Number of first bytes of a key that are its source. */
  sourceBytes: number
  rows: number
  width: number
  /** Words of 32 bits of a bitmap. */
  words: number
  /** Words of the bitmap of all keys. */
  allWords: number
  candidates: number
}

export interface SpreadOptions extends SketchOptions {
  /** Number of first bytes of a key that are its source: fewer than `keyBytes`. */
  sourceBytes: number
  /** Number d of rows, 1 to 4 (default 3). */
  rows?: number
  /** Bits of a bitmap, a multiple of 32 (default 512: up to about 2000 keys of a source). */
  bits?: number
  /** Sources that are kept for `topK` and `heavyHitters` (default 100). */
  candidates?: number
}

const planOf = (config: SpreadConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.candidates],
    [Int32Array, config.candidates * ((config.sourceBytes + 3) >> 2)],
    [Uint32Array, config.allWords],
    [Uint32Array, config.rows * config.width * config.words],
    [Uint32Array, config.rows * config.width],
  ] as const

/** Returns the confidence of answers of so many rows, as at the head of this file. */
export function spreadConfidence(rows: number): number {
  return Math.max(0, 1 - Math.exp(-rows) - 0.01 * (rows + 1))
}

export class SpreadSketch extends KeySketch<SpreadConfig> {
  readonly #maps: Uint32Array
  /** Bits that are set in each bitmap. */
  readonly #ones: Uint32Array
  readonly #all: Uint32Array
  readonly #top: TopTable
  readonly #sources: KeyReader

  /** @internal */
  constructor(config: SpreadConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('spread', config, seed, plan, block)
    const [scalars, counts, keys, all, maps, ones] = views(this.block, plan)
    this.#maps = maps
    this.#ones = ones
    this.#all = all
    this.#sources = new KeyReader(config.sourceBytes, seed)
    this.#top = new TopTable(config.candidates, this.#sources, scalars, keys, counts)
    this.keys.omitWords()
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['spread']
  }

  /** @internal */
  static get fields(): readonly (keyof SpreadConfig & string)[] {
    return ['keyBytes', 'sourceBytes', 'rows', 'width', 'words', 'allWords', 'candidates']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SpreadOptions): SpreadSketch {
    return createOf(SpreadSketch, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): SpreadSketch {
    return fromBytesOf(SpreadSketch, bytes)
  }

  /** @internal */
  static configure(options: SpreadOptions): SpreadConfig {
    const sourceBytes = wholeNumber('sourceBytes', options.sourceBytes, 1, options.keyBytes - 1)
    const rows = wholeNumber('rows', options.rows ?? 3, 1, 4)
    const words = wholeNumber('bits', options.bits ?? 512, 32, 2 ** 20) / 32
    wholeNumber('bits / 32', words, 1, 2 ** 15)
    const candidates = wholeNumber('candidates', options.candidates ?? 100, 1, 2 ** 20)
    const left = options.bytes - 8 * scalarCount - TopTable.bytesFor(candidates, sourceBytes)
    // An eighth for the keys of all sources.
    const allWords = Math.floor(left / 32)
    const width = Math.floor((left - 4 * allWords) / (rows * 4 * (words + 1)))
    return {
      keyBytes: options.keyBytes,
      sourceBytes,
      rows,
      width: atLeast('bytes', options.bytes, width),
      words,
      allWords,
      candidates,
    }
  }

  /** @internal */
  static check(config: SpreadConfig): number {
    wholeNumber('sourceBytes', config.sourceBytes, 1, config.keyBytes - 1)
    wholeNumber('rows', config.rows, 1, 4)
    wholeNumber('width', config.width, 8, 2 ** 24)
    wholeNumber('words', config.words, 1, 2 ** 15)
    wholeNumber('allWords', config.allWords, 1, 2 ** 26)
    wholeNumber('candidates', config.candidates, 1, 2 ** 20)
    return plannedBytes(planOf(config))
  }

  protected override add(count: number): void {
    throw new SketchError('ERR_SKETCH_UNSUPPORTED', `spread: blocks of ${count} keys are read one by one`)
  }

  override update(key: Uint8Array, amount: number = 1): void {
    oneKey('key', key, this.keyBytes)
    this.updateMany(key, wholeNumber('amount', amount, 0, mostAmount))
  }

  /** Adds keys. Amounts are only added to `total`: different keys are counted. A key with the amount 0 is ignored. */
  override updateMany(keys: Uint8Array, amounts: Uint32Array | number = 1): void {
    const count = manyKeys(keys, this.keyBytes, amounts)
    for (let i = 0; i < count; i++) {
      const amount = typeof amounts === 'number' ? amounts : amounts[i]!
      this.scalars[Scalar.total]! += amount
      if (amount > 0) this.#mark(keys, i * this.keyBytes)
    }
  }

  #mark(keys: Uint8Array, offset: number): void {
    const { rows, words } = this.config
    this.keys.load(keys, offset, 1)
    const { h1, h2 } = this.keys
    const all = placeAt(h1[0]!, (32 * this.#all.length) / 2 ** 32)
    this.#all[all >>> 5]! |= 1 << (all & 31)
    const bit = placeAt(h2[0]!, (32 * words) / 2 ** 32)
    this.#sources.load(keys, offset, 1)
    let isNew = false
    for (let row = 0; row < rows; row++) {
      const map = this.#mapOf(row)
      const at = map * words + (bit >>> 5)
      if (this.#maps[at]! & (1 << (bit & 31))) continue
      this.#maps[at]! |= 1 << (bit & 31)
      this.#ones[map]!++
      isNew = true
    }
    if (isNew) this.#top.offer(this.#sources.word, 0, this.#sources.h1[0]!, this.#leastOnes())
  }

  #mapOf(row: number): number {
    const { width } = this.config
    const { h1, h2, multipliers } = this.#sources
    return row * width + placeOf(h1[0]!, h2[0]!, multipliers[row]!, width / 2 ** 32)
  }

  #leastOnes(): number {
    let least = Number.POSITIVE_INFINITY
    for (let row = 0; row < this.config.rows; row++) least = Math.min(least, this.#ones[this.#mapOf(row)]!)
    return least
  }

  /** Returns the number of different keys of all sources (0.99). */
  cardinality(): Estimate {
    return linearCount(32 * this.#all.length, 32 * this.#all.length - onesIn(this.#all), this.total)
  }

  /** Returns the number of different keys of a source. Bounds: at the head of this file. */
  estimate(source: Uint8Array): Estimate {
    oneKey('source', source, this.config.sourceBytes)
    return this.#estimated(source, this.cardinality().upper)
  }

  #estimated(source: Uint8Array, all: number): Estimate {
    const { rows, width, words } = this.config
    this.#sources.load(source, 0, 1)
    const bits = 32 * words
    const ones = this.#leastOnes()
    const { value, lower, upper } = linearCount(bits, bits - ones, all)
    const least = Math.max(0, Math.floor(lower - (Math.E * all) / width))
    return { value, lower: Math.min(least, value), upper, confidence: spreadConfidence(rows) }
  }

  #kept(): KeyEstimate[] {
    const all = this.cardinality().upper
    return tableKeys(this.#top).map((key) => ({ key, ...this.#estimated(key, all) }))
  }

  /** Returns the `k` kept sources with the most keys. */
  topK(k: number): KeyEstimate[] {
    wholeNumber('k', k, 1, 2 ** 31)
    return this.#kept().sort(descending).slice(0, k)
  }

  /** Returns the kept sources with at least `threshold` keys: the superspreaders. */
  heavyHitters(threshold: number): KeyEstimate[] {
    return this.topK(2 ** 31).filter(({ value }) => value >= threshold)
  }

  /** Combines the bits of both by OR: exactly the sketch of both streams; of the kept sources of both, the largest stay. */
  merge(other: SpreadSketch): void {
    this.assertFits(other)
    for (const [mine, theirs] of [
      [this.#maps, other.#maps],
      [this.#all, other.#all],
    ] as const)
      for (let at = 0; at < mine.length; at++) mine[at]! |= theirs[at]!
    this.#recount()
    this.scalars[Scalar.total]! += other.total
    const sources = [...tableKeys(this.#top), ...tableKeys(other.#top)]
    this.#top.clear()
    for (const source of sources) {
      this.#sources.load(source, 0, 1)
      this.#top.offer(this.#sources.word, 0, this.#sources.h1[0]!, this.#leastOnes())
    }
  }

  #recount(): void {
    const { words } = this.config
    for (let map = 0; map < this.#ones.length; map++)
      this.#ones[map] = onesIn(this.#maps.subarray(map * words, (map + 1) * words))
  }

  protected override restored(): string | undefined {
    const { words } = this.config
    for (const [map, ones] of this.#ones.entries())
      if (ones !== onesIn(this.#maps.subarray(map * words, (map + 1) * words))) return 'bits are not as many as counted'
    if (onesIn(this.#all) > this.total) return 'there are more keys than amounts'
    return this.#top.restored()
  }
}
