/**
 * Frequent keys, with certain bounds: Space-Saving and Misra-Gries. Both keep k keys with counts, and their answers do not depend on the
 * quality of a hash: they hold for every stream and every seed.
 *
 * Space-Saving (Metwally, Agrawal and El Abbadi, ICDT 2005): a key that is not kept replaces a key of the smallest count, and inherits its
 * count as its error. A count is never too small, and too large by at most its error, which is at most N / k (theorem 2 there); every key
 * above N / k is kept (theorem 3).
 *
 * Misra-Gries (Science of Computer Programming 2, 1982): a key that is not kept takes from all counts what it takes from its own, until one
 * is zero. A count is never too large, and too small by at most D, the total that was taken from one count, and D ≤ N / (k + 1). Counts are
 * kept with D added, so that taking from all of them is adding to D (Demaine, López-Ortiz and Munro, ESA 2002).
 *
 * Merging: Agarwal, Cormode, Huang, Phillips, Wei and Yi, "Mergeable summaries", PODS 2012; both keep their bounds, N then being that of
 * both.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { tableKeys } from './count-min.ts'
import { SketchError, wholeNumber } from './error.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { AmountSketch, type KeyConfig, Scalar, type SketchOptions, scalarCount } from './sketch.ts'
import { TopTable } from './top-table.ts'

export interface FrequentConfig extends KeyConfig {
  /** Number k of keys. */
  capacity: number
}

/** D of Misra-Gries. */
const taken = Scalar.own

const planOf = (config: FrequentConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.capacity],
    [Float64Array, config.capacity],
    [Int32Array, config.capacity * ((config.keyBytes + 3) >> 2)],
  ] as const

abstract class Frequent extends AmountSketch<FrequentConfig> {
  protected readonly top: TopTable
  /** Error by slot; Misra-Gries has none. */
  protected readonly errors: Float64Array

  protected constructor(kind: string, config: FrequentConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super(kind, config, seed, plan, block)
    const [scalars, counts, errors, keys] = views(this.block, plan)
    this.errors = errors
    this.top = new TopTable(config.capacity, this.keys, scalars, keys, counts)
  }

  /** @internal */
  static configure(options: SketchOptions): FrequentConfig {
    const left = options.bytes - 8 * scalarCount
    let capacity = Math.floor(left / (4 * ((options.keyBytes + 3) >> 2) + 8 + 28))
    // The index size is a power of two: fewer keys may need one of half the size.
    while (capacity > 0 && TopTable.bytesFor(capacity, options.keyBytes) + 8 * capacity > left)
      capacity = Math.floor(capacity * 0.99)
    if (capacity < 1) throw new SketchError('ERR_SKETCH_VALUE', `bytes: ${options.bytes} are too few for one key`)
    return { keyBytes: options.keyBytes, capacity: Math.min(capacity, 2 ** 24) }
  }

  /** @internal */
  static check(config: FrequentConfig): number {
    wholeNumber('capacity', config.capacity, 1, 2 ** 24)
    return plannedBytes(planOf(config))
  }

  /** Returns the slot of a key, or −1. */
  protected slotOf(key: Uint8Array): number {
    this.read(key)
    return this.top.find(this.keys.word, 0, this.keys.h1[0]!)
  }

  protected override kept(): KeyEstimate[] {
    return tableKeys(this.top).map((key) => ({ key, ...this.estimate(key) }))
  }

  /** Puts a key into a free slot. */
  protected put(key: Uint8Array, count: number, error: number): void {
    this.read(key)
    const slot = this.top.insert(this.keys.word, 0, this.keys.h1[0]!, count)
    this.errors[slot] = error
  }

  /** Returns the keys of both sketches, each with its slots in this one and in the other (−1: none). */
  protected union(other: Frequent): { key: Uint8Array; mine: number; theirs: number }[] {
    const found = new Map<string, { key: Uint8Array; mine: number; theirs: number }>()
    for (const [slot, key] of tableKeys(this.top).entries())
      found.set(String.fromCharCode(...key), { key, mine: slot, theirs: -1 })
    for (const [slot, key] of tableKeys(other.top).entries()) {
      const same = found.get(String.fromCharCode(...key))
      if (same) same.theirs = slot
      else found.set(String.fromCharCode(...key), { key, mine: -1, theirs: slot })
    }
    return [...found.values()]
  }
}

export class SpaceSaving extends Frequent {
  /** @internal */
  constructor(config: FrequentConfig, seed: Uint8Array, block?: ArrayBuffer) {
    super('space-saving', config, seed, block)
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['space-saving']
  }

  /** @internal */
  static get fields(): readonly (keyof FrequentConfig & string)[] {
    return ['keyBytes', 'capacity']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SketchOptions): SpaceSaving {
    return createOf(SpaceSaving, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): SpaceSaving {
    return fromBytesOf(SpaceSaving, bytes)
  }

  protected override add(count: number): void {
    const { h1, word, words } = this.keys
    const [top, errors, amounts] = [this.top, this.errors, this.amounts]
    for (let i = 0; i < count; i++) {
      const amount = amounts[i]!
      if (amount === 0) continue
      const slot = top.find(word, i * words, h1[i]!)
      if (slot >= 0) top.set(slot, top.counts[slot]! + amount)
      else if (top.isFull) {
        const least = top.least
        errors[top.replaceLeast(word, i * words, h1[i]!, least + amount)] = least
      } else errors[top.insert(word, i * words, h1[i]!, amount)] = 0
    }
  }

  /** Maximum amount of a key that is not kept. */
  get #absent(): number {
    return this.top.isFull ? this.top.least : 0
  }

  /** Returns a certain estimate (confidence 1). A key that is not kept has 0, and at most the smallest count. */
  override estimate(key: Uint8Array): Estimate {
    const slot = this.slotOf(key)
    if (slot < 0) return { value: 0, lower: 0, upper: this.#absent, confidence: 1 }
    const value = this.top.counts[slot]!
    return { value, lower: value - this.errors[slot]!, upper: value, confidence: 1 }
  }

  /**
   * Adds the counts of both; for a key that one sketch does not have, the smallest count of that sketch is added to count and error. The
   * largest stay.
   */
  merge(other: SpaceSaving): void {
    this.assertFits(other)
    const [mine, theirs] = [this.#absent, other.#absent]
    const entries = this.union(other).map(({ key, mine: a, theirs: b }) => ({
      key,
      count: (a < 0 ? mine : this.top.counts[a]!) + (b < 0 ? theirs : other.top.counts[b]!),
      error: (a < 0 ? mine : this.errors[a]!) + (b < 0 ? theirs : other.errors[b]!),
    }))
    this.top.clear()
    this.errors.fill(0)
    for (const { key, count, error } of entries.sort((x, y) => y.count - x.count).slice(0, this.top.capacity))
      this.put(key, count, error)
    this.scalars[Scalar.total]! += other.total
  }

  protected override restored(): string | undefined {
    for (let slot = 0; slot < this.top.capacity; slot++) {
      const [count, error] = [this.top.counts[slot]!, this.errors[slot]!]
      if (!(error >= 0 && error <= count && count <= this.total)) return 'a count or its error is impossible'
    }
    return this.top.restored()
  }
}

export class MisraGries extends Frequent {
  /** @internal */
  constructor(config: FrequentConfig, seed: Uint8Array, block?: ArrayBuffer) {
    super('misra-gries', config, seed, block)
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['misra-gries']
  }

  /** @internal */
  static get fields(): readonly (keyof FrequentConfig & string)[] {
    return ['keyBytes', 'capacity']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: SketchOptions): MisraGries {
    return createOf(MisraGries, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): MisraGries {
    return fromBytesOf(MisraGries, bytes)
  }

  protected override add(count: number): void {
    const { h1, word, words } = this.keys
    const [top, amounts, scalars] = [this.top, this.amounts, this.scalars]
    for (let i = 0; i < count; i++) {
      let amount = amounts[i]!
      if (amount === 0) continue
      const slot = top.find(word, i * words, h1[i]!)
      if (slot >= 0) {
        top.set(slot, top.counts[slot]! + amount)
        continue
      }
      if (top.isFull) {
        const least = top.least - scalars[taken]!
        const both = Math.min(amount, least)
        scalars[taken]! += both
        amount -= both
        while (top.size > 0 && top.least <= scalars[taken]!) top.removeLeast()
      }
      if (amount > 0) top.insert(word, i * words, h1[i]!, scalars[taken]! + amount)
    }
  }

  /** Returns a certain estimate (confidence 1). */
  override estimate(key: Uint8Array): Estimate {
    const slot = this.slotOf(key)
    const value = slot < 0 ? 0 : this.top.counts[slot]! - this.scalars[taken]!
    return { value, lower: value, upper: value + this.scalars[taken]!, confidence: 1 }
  }

  /** Adds the counts of both, and subtracts the largest count that does not fit from all of them. */
  merge(other: MisraGries): void {
    this.assertFits(other)
    const [mine, theirs] = [this.scalars[taken]!, other.scalars[taken]!]
    const entries = this.union(other)
      .map(({ key, mine: a, theirs: b }) => ({
        key,
        count: (a < 0 ? 0 : this.top.counts[a]! - mine) + (b < 0 ? 0 : other.top.counts[b]! - theirs),
      }))
      .sort((x, y) => y.count - x.count)
    const all = mine + theirs + (entries[this.top.capacity]?.count ?? 0)
    this.top.clear()
    this.scalars[taken] = all
    for (const { key, count } of entries) {
      const left = count - (all - mine - theirs)
      if (left > 0) this.put(key, all + left, 0)
    }
    this.scalars[Scalar.total]! += other.total
  }

  protected override restored(): string | undefined {
    const offset = this.scalars[taken]!
    if (!(offset >= 0 && offset * (this.top.capacity + 1) <= this.total)) return 'more was taken than there is'
    if (this.errors.some((error) => error !== 0)) return 'errors, of which it has none'
    for (let slot = 0; slot < Math.min(this.top.size, this.top.capacity); slot++)
      if (!(this.top.counts[slot]! > offset && this.top.counts[slot]! - offset <= this.total))
        return 'a count is impossible'
    return this.top.restored()
  }
}
