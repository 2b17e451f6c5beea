/**
 * Count-Min (Cormode and Muthukrishnan, "An improved data stream summary", J. Algorithms 55, 2005): d rows of w counters; a key adds
 * to one counter of each row, and its estimate is the smallest of them.
 *
 * Theorem 1 there, with N the total: f ≤ f̂, and f̂ ≤ f + (e / w) N with probability of at least 1 − e^−d.
 * With conservative update (Estan and Varghese, SIGCOMM 2002) a key raises its counters only to f̂ + amount: no counter is larger than
 * that of Count-Min, so the same bounds hold, and the errors are smaller; the order of updates matters, and nothing can be
 * subtracted.
 *
 * Where we differ: counters have 31 bits and saturate; a saturated one answers with the total as upper bound. Candidates for heavy
 * hitters are kept in a table of the largest estimates (section 4.2 of the paper has a heap). Rows: see keys.ts.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { views } from './block.ts'
import { SketchError, wholeNumber } from './error.ts'
import { placeOf } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { AmountSketch, mostBytes, mostCount, Scalar, type SketchOptions, saturatingSum, scalarCount } from './sketch.ts'
import { TopTable } from './top-table.ts'

export interface CountMinConfig {
  keyBytes: number
  rows: number
  width: number
  candidates: number
  conservative: number
}

export interface CountMinOptions extends SketchOptions {
  /** Number d of rows, 1 to 16 (default 3): the bounds hold with a confidence of 1 − e^−d. */
  rows?: number
  /** Keys that are kept for `topK` and `heavyHitters` (default 0: none; updates are then faster). */
  candidates?: number
}

const planOf = (config: CountMinConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.candidates],
    [Int32Array, config.candidates * ((config.keyBytes + 3) >> 2)],
    [Int32Array, config.rows * config.width],
  ] as const

export class CountMin extends AmountSketch<CountMinConfig> {
  readonly #counters: Int32Array
  readonly #top: TopTable
  /** Counters of one key, by row. */
  readonly #places: Int32Array = new Int32Array(16)

  /** @internal */
  constructor(config: CountMinConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super(config.conservative ? 'conservative' : 'count-min', config, seed, plan, block)
    const [scalars, counts, keys, counters] = views(this.block, plan)
    this.#counters = counters
    this.#top = new TopTable(config.candidates, this.keys, scalars, keys, counts)
    if (config.candidates === 0) this.keys.omitWords()
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['count-min', 'conservative']
  }

  /** @internal */
  static get fields(): readonly (keyof CountMinConfig & string)[] {
    return ['keyBytes', 'rows', 'width', 'candidates', 'conservative']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: CountMinOptions): CountMin {
    return createOf(CountMin, options)
  }

  /** Creates a sketch with conservative update: smaller errors, and no `subtract`. */
  static createConservative(options: CountMinOptions): CountMin {
    return createOf(CountMin, options, { configure: (given) => CountMin.configure(given, true) })
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): CountMin {
    return fromBytesOf(CountMin, bytes)
  }

  /** Returns the dimensions that fit into `options.bytes`. @internal */
  static configure(options: CountMinOptions, conservative: boolean = false): CountMinConfig {
    const rows = wholeNumber('rows', options.rows ?? 3, 1, 16)
    const candidates = wholeNumber('candidates', options.candidates ?? 0, 0, 2 ** 24)
    const width = rowWidth(options, candidates, rows, 4)
    return { keyBytes: options.keyBytes, rows, width, candidates, conservative: conservative ? 1 : 0 }
  }

  /** Returns the bytes of the block. Throws if the dimensions, which may come from untrusted bytes, are impossible. @internal */
  static check(config: CountMinConfig): number {
    checkRows(config)
    wholeNumber('conservative', config.conservative, 0, 1)
    return planBytes(config)
  }

  protected override add(count: number): void {
    if (this.config.conservative) this.#raise(count)
    else this.#count(count)
  }

  #count(count: number): void {
    const { rows, candidates } = this.config
    let row = 0
    if (this.isSmall) for (; row + 3 <= rows; row += 3) this.#countThree(count, row)
    for (; row < rows; row++) this.#countOne(count, row)
    if (candidates === 0) return
    const { h1, word, words } = this.keys
    // Estimates are taken when the whole block is counted: not smaller than at once, and still never above the bound.
    for (let i = 0; i < count; i++) this.#top.offer(word, i * words, h1[i]!, this.#least(i))
  }

  /** Counts in three rows at once, which takes two thirds of the time that it takes one by one. Nothing can saturate. */
  #countThree(count: number, row: number): void {
    const { width } = this.config
    const { h1, h2, multipliers } = this.keys
    const [counters, amounts] = [this.#counters, this.amounts]
    const scale = width / 2 ** 32
    const [m0, m1, m2] = [multipliers[row]!, multipliers[row + 1]!, multipliers[row + 2]!]
    const [row0, row1, row2] = [row * width, (row + 1) * width, (row + 2) * width]
    for (let i = 0; i < count; i++) {
      const a = h1[i]!
      const b = h2[i]!
      const amount = amounts[i]!
      const at0 = row0 + placeOf(a, b, m0, scale)
      const at1 = row1 + placeOf(a, b, m1, scale)
      const at2 = row2 + placeOf(a, b, m2, scale)
      counters[at0] = (counters[at0]! + amount) | 0
      counters[at1] = (counters[at1]! + amount) | 0
      counters[at2] = (counters[at2]! + amount) | 0
    }
  }

  #countOne(count: number, row: number): void {
    const { width } = this.config
    const { h1, h2, multipliers } = this.keys
    const [counters, amounts] = [this.#counters, this.amounts]
    const scale = width / 2 ** 32
    const small = this.isSmall
    const multiplier = multipliers[row]!
    for (let i = 0; i < count; i++) {
      const at = row * width + placeOf(h1[i]!, h2[i]!, multiplier, scale)
      counters[at] = saturatingSum(counters[at]!, amounts[i]!, small)
    }
  }

  #raise(count: number): void {
    const { rows, width, candidates } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    const [counters, amounts, places] = [this.#counters, this.amounts, this.#places]
    const scale = width / 2 ** 32
    const small = this.isSmall
    for (let i = 0; i < count; i++) {
      let least = mostCount
      for (let row = 0; row < rows; row++) {
        const at = row * width + placeOf(h1[i]!, h2[i]!, multipliers[row]!, scale)
        places[row] = at
        const value = counters[at]!
        if (value < least) least = value
      }
      const sum = saturatingSum(least, amounts[i]!, small)
      for (let row = 0; row < rows; row++) if (counters[places[row]!]! < sum) counters[places[row]!] = sum
      if (candidates > 0) this.#top.offer(word, i * words, h1[i]!, sum)
    }
  }

  /** Returns the smallest counter of a key of the block. */
  #least(i: number): number {
    const { rows, width } = this.config
    const { h1, h2, multipliers } = this.keys
    const scale = width / 2 ** 32
    let least = mostCount
    for (let row = 0; row < rows; row++) {
      const value = this.#counters[row * width + placeOf(h1[i]!, h2[i]!, multipliers[row]!, scale)]!
      if (value < least) least = value
    }
    return least
  }

  /** Returns an estimate that is never below the truth, and above it by at most e N / w with confidence 1 − e^−d (Theorem 1). */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const { rows, width } = this.config
    const value = this.#least(0)
    const excess = (Math.E * this.total) / width
    const upper = value === mostCount ? this.total : value
    return { value, lower: Math.max(0, Math.ceil(value - excess)), upper, confidence: 1 - Math.exp(-rows) }
  }

  protected override kept(): KeyEstimate[] {
    assertCandidates(this.kind, this.config.candidates)
    return tableKeys(this.#top).map((key) => ({ key, ...this.estimate(key) }))
  }

  /**
   * Adds the counters of a sketch of the same kind, dimensions and seed: the sketch of both streams, exactly for Count-Min. With
   * conservative update the sum is not what one sketch of both would hold, but keeps all its bounds: it is neither below the
   * truth nor above Count-Min's.
   */
  merge(other: CountMin): void {
    this.assertFits(other)
    for (let i = 0; i < this.#counters.length; i++)
      this.#counters[i] = Math.min(mostCount, this.#counters[i]! + other.#counters[i]!)
    this.scalars[Scalar.total]! += other.total
    this.#offerAgain([...tableKeys(this.#top), ...tableKeys(other.#top)])
  }

  /**
   * Subtracts an earlier state of the same stream, so that only the later updates remain. Throws ERR_SKETCH_MISMATCH, and changes
   * nothing, if a counter would fall below zero: then `earlier` is not such a state. Not with conservative update, and not after
   * saturation.
   */
  subtract(earlier: CountMin): void {
    this.assertFits(earlier)
    if (this.config.conservative)
      throw new SketchError(
        'ERR_SKETCH_UNSUPPORTED',
        'conservative: updates depend on their order: nothing to subtract',
      )
    if (this.#counters.some((value, i) => value < earlier.#counters[i]! || value === mostCount))
      throw new SketchError(
        'ERR_SKETCH_MISMATCH',
        'count-min: the other is no earlier state, or a counter is saturated',
      )
    for (let i = 0; i < this.#counters.length; i++) this.#counters[i]! -= earlier.#counters[i]!
    this.scalars[Scalar.total]! -= earlier.total
    this.#offerAgain(tableKeys(this.#top))
  }

  #offerAgain(keys: readonly Uint8Array[]): void {
    this.#top.clear()
    if (this.config.candidates === 0) return
    for (const key of keys) {
      this.read(key)
      this.#top.offer(this.keys.word, 0, this.keys.h1[0]!, this.#least(0))
    }
  }

  protected override restored(): string | undefined {
    if (this.#counters.some((counter) => counter < 0)) return 'a counter is below zero'
    return this.#top.restored()
  }
}

/** Returns the counters of a row if the rest of `bytes` is shared among rows. Throws ERR_SKETCH_VALUE if too few are left. */
export function rowWidth(options: SketchOptions, candidates: number, rows: number, counterBytes: number): number {
  const left = options.bytes - 8 * scalarCount - TopTable.bytesFor(candidates, options.keyBytes)
  return atLeast('bytes', options.bytes, Math.floor(left / (rows * counterBytes)))
}

/** Returns `width` if it is 8 or more: with fewer counters no bound is meaningful. */
export function atLeast(name: string, bytes: number, width: number): number {
  if (width >= 8 && width <= mostBytes) return width
  throw new SketchError('ERR_SKETCH_VALUE', `${name}: ${bytes} leave ${Math.max(0, width)} cells, 8 are the least`)
}

export function checkRows(config: { rows: number; width: number; candidates: number }): void {
  wholeNumber('rows', config.rows, 1, 16)
  wholeNumber('width', config.width, 8, mostBytes)
  wholeNumber('candidates', config.candidates, 0, 2 ** 24)
}

function planBytes(config: CountMinConfig): number {
  return planOf(config).reduce((sum, [type, length]) => sum + type.BYTES_PER_ELEMENT * length, 0)
}

export function assertCandidates(kind: string, candidates: number): void {
  if (candidates > 0) return
  throw new SketchError('ERR_SKETCH_UNSUPPORTED', `${kind}: no keys are kept: create it with { candidates: … }`)
}

export function tableKeys(top: TopTable): Uint8Array[] {
  return Array.from({ length: top.size }, (_, slot) => top.key(slot))
}
