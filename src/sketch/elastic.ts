/**
 * Elastic Sketch (Yang, Jiang, Liu, Huang, Gong, Zhou, Miao, Li, Uhlig, SIGCOMM 2018, and its technical report), the version for
 * software: buckets of seven keys with positive votes and one negative vote, followed by rows of 8-bit counters. A key
 * that finds its bucket full counts against it; when the negative vote reaches eight times the smallest positive one, that key's
 * votes go to the counters (ostracism), and the new key takes its place, flagged as one that may have counts there.
 *
 * Theorem 1 of the paper: f ≤ f̂ ≤ f + ε L, where L is the total of the counters. In a row of w counters the excess is above c L / w with a
 * probability of at most 1 / c (Markov), in all of d rows 1 / c^d; answers take c^d = 20. A key with votes and without the flag is exact.
 *
 * Where we differ: the slots of a bucket are in the order of their votes, so that most keys are found in the first, and the smallest is the
 * last. There are two rows of counters, of which the smallest counter is used (the light part of the paper is a Count-Min sketch; its
 * experiments take one row, as `lightRows: 1` does). On Zipf traces of skew 0.8 to 1.4 two rows of half the length had smaller errors.
 * Evicted votes are added to their counters, as in the paper (its published code takes the larger of both); counters saturate at 255, and a
 * saturated one answers with L as upper bound; tasks on distributions: elastic-tasks.ts.
 */
import type { Estimate, KeyEstimate, SizeCount } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { atLeast } from './count-min.ts'
import { cardinalityOf, distributionOf, type ElasticParts, entropyOf, saturated } from './elastic-tasks.ts'
import { between, wholeNumber } from './error.ts'
import { blockKeys, keyOf, placeOf, sameRest } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { AmountSketch, mostBytes, Scalar, type SketchOptions, saturatingSum, scalarCount } from './sketch.ts'

export interface ElasticConfig {
  keyBytes: number
  /** Number of buckets, of seven keys each. */
  buckets: number
  /** Number of rows of 8-bit counters after the buckets. */
  rows: number
  /** Number of counters of a row. */
  counters: number
}

export interface ElasticOptions extends SketchOptions {
  /** Share of the memory for the buckets (default 0.25, as the paper's 150 of 600 KB). */
  heavyShare?: number
  /** Rows of small counters, 1 to 4 (default 2). */
  lightRows?: number
}

const slots = 7
/** Words of votes of a bucket: its slots, and the negative vote. */
const votesOf = 8
const ratio = 8
const mostVotes = 2 ** 31 - 1
/** Flag in the top bit of positive votes. */
const flagged = 1 << 31
const lightTotal = Scalar.own
/** Probability that the bounds of an estimate do not hold. */
const doubt = 0.05

const planOf = (config: ElasticConfig) =>
  [
    [Float64Array, scalarCount],
    [Int32Array, config.buckets * votesOf],
    [Int32Array, config.buckets * slots * ((config.keyBytes + 3) >> 2)],
    [Uint8Array, config.rows * config.counters],
  ] as const

export class ElasticSketch extends AmountSketch<ElasticConfig> {
  readonly #votes: Int32Array
  readonly #stored: Int32Array
  readonly #light: Uint8Array

  /** @internal */
  constructor(config: ElasticConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('elastic', config, seed, plan, block)
    const [, votes, stored, light] = views(this.block, plan)
    this.#votes = votes
    this.#stored = stored
    this.#light = light
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['elastic']
  }

  /** @internal */
  static get fields(): readonly (keyof ElasticConfig & string)[] {
    return ['keyBytes', 'buckets', 'rows', 'counters']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: ElasticOptions): ElasticSketch {
    return createOf(ElasticSketch, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): ElasticSketch {
    return fromBytesOf(ElasticSketch, bytes)
  }

  /** @internal */
  static configure(options: ElasticOptions): ElasticConfig {
    const share = between('heavyShare', options.heavyShare ?? 0.25, 0, 1)
    const rows = wholeNumber('lightRows', options.lightRows ?? 2, 1, 4)
    const words = (options.keyBytes + 3) >> 2
    const left = options.bytes - 8 * scalarCount
    const bucket = 4 * votesOf + 4 * slots * words
    const buckets = Math.max(1, Math.floor((left * share) / bucket))
    const counters = atLeast('bytes', options.bytes, Math.floor((left - buckets * bucket) / rows))
    return { keyBytes: options.keyBytes, buckets, rows, counters }
  }

  /** @internal */
  static check(config: ElasticConfig): number {
    wholeNumber('buckets', config.buckets, 1, mostBytes)
    wholeNumber('rows', config.rows, 1, 4)
    wholeNumber('counters', config.counters, 8, mostBytes)
    return plannedBytes(planOf(config))
  }

  protected override add(count: number): void {
    const { buckets } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    const votes = this.#votes
    const stored = this.#stored
    const amounts = this.amounts
    const scale = buckets / 2 ** 32
    const small = this.isSmall
    const multiplier = multipliers[0]!
    for (let i = 0; i < count; i++) {
      const amount = amounts[i]!
      if (amount === 0) continue
      const a = h1[i]!
      const b = h2[i]!
      const from = i * words
      const bucket = placeOf(a, b, multiplier, scale)
      const vote = bucket * votesOf
      const first = word[from]!
      let slot = 0
      for (let key = bucket * slots * words; slot < slots; slot++, key += words) {
        if (stored[key] === first && votes[vote + slot] !== 0 && sameRest(stored, key, word, from, words)) break
      }
      if (slot < slots) {
        const before = votes[vote + slot]!
        const sum = saturatingSum(before & mostVotes, amount, small)
        votes[vote + slot] = sum | (before & flagged)
        if (slot > 0 && (votes[vote + slot - 1]! & mostVotes) < sum) this.#rise(bucket, slot)
        continue
      }
      const least = votes[vote + slots - 1]! & mostVotes
      const against = votes[vote + slots]! + amount
      if (least === 0 || against >= ratio * least) {
        this.#enter(bucket, from, saturatingSum(0, amount, small))
        continue
      }
      votes[vote + slots] = saturatingSum(against, 0, small)
      this.#toLight(a, b, amount)
    }
  }

  /**
   * Puts the key whose words begin at `from` into its bucket: in the first empty slot, or in that of the fewest votes, which are added to
   * the counters.
   */
  #enter(bucket: number, from: number, amount: number): void {
    const { word, words } = this.keys
    const vote = bucket * votesOf
    let slot = 0
    while (slot < slots - 1 && this.#votes[vote + slot] !== 0) slot++
    const key = (bucket * slots + slot) * words
    const before = this.#votes[vote + slot]! & mostVotes
    if (before > 0) {
      this.keys.rehash(this.#stored, key)
      this.#toLight(this.keys.h1[blockKeys]!, this.keys.h2[blockKeys]!, before)
      this.#votes[vote + slots] = 0
    }
    this.#votes[vote + slot] = before > 0 ? amount | flagged : amount
    for (let w = 0; w < words; w++) this.#stored[key + w] = word[from + w]!
    this.#rise(bucket, slot)
  }

  /** Moves a slot before those with fewer votes. */
  #rise(bucket: number, from: number): void {
    const { words } = this.keys
    const votes = this.#votes
    const stored = this.#stored
    const vote = bucket * votesOf
    for (let slot = from; slot > 0; slot--) {
      const mine = votes[vote + slot]!
      const before = votes[vote + slot - 1]!
      if ((before & mostVotes) >= (mine & mostVotes)) return
      votes[vote + slot] = before
      votes[vote + slot - 1] = mine
      for (let w = (bucket * slots + slot) * words, end = w + words; w < end; w++) {
        const word = stored[w]!
        stored[w] = stored[w - words]!
        stored[w - words] = word
      }
    }
  }

  /** Returns the counter of a hash in a row. */
  #counterOf(h1: number, h2: number, row: number): number {
    const { counters } = this.config
    return row * counters + placeOf(h1, h2, this.keys.multipliers[1 + row]!, counters / 2 ** 32)
  }

  #toLight(h1: number, h2: number, amount: number): void {
    const { rows, counters } = this.config
    const light = this.#light
    const multipliers = this.keys.multipliers
    const scale = counters / 2 ** 32
    for (let row = 0; row < rows; row++) {
      const at = row * counters + placeOf(h1, h2, multipliers[1 + row]!, scale)
      light[at] = Math.min(light[at]! + amount, saturated)
    }
    this.scalars[lightTotal]! += amount
  }

  /** Returns the smallest counter of a hash. */
  #leastLight(h1: number, h2: number): number {
    let least = saturated
    for (let row = 0; row < this.config.rows; row++) least = Math.min(least, this.#light[this.#counterOf(h1, h2, row)]!)
    return least
  }

  /** Returns the first vote of the slot that has the first key of `keys`, or −1. */
  #slotOf(bucket: number): number {
    const { word, words } = this.keys
    for (let slot = 0; slot < slots; slot++) {
      const [vote, key] = [bucket * votesOf + slot, (bucket * slots + slot) * words]
      if (this.#votes[vote] === 0 || this.#stored[key] !== word[0]) continue
      if (sameRest(this.#stored, key, word, 0, words)) return vote
    }
    return -1
  }

  #bucketOf(h1: number, h2: number): number {
    return placeOf(h1, h2, this.keys.multipliers[0]!, this.config.buckets / 2 ** 32)
  }

  /**
   * Returns an exact amount for a key that never left its bucket (confidence 1). For other keys see the head of this file (confidence
   * 0.95).
   */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const [h1, h2] = [this.keys.h1[0]!, this.keys.h2[0]!]
    const at = this.#slotOf(this.#bucketOf(h1, h2))
    return this.#estimated(at < 0 ? flagged : this.#votes[at]!, this.#leastLight(h1, h2))
  }

  #estimated(vote: number, light: number): Estimate {
    const votes = vote & mostVotes
    if (votes === mostVotes) return { value: votes, lower: votes, upper: this.total, confidence: 1 }
    if ((vote & flagged) === 0) return { value: votes, lower: votes, upper: votes, confidence: 1 }
    const all = this.scalars[lightTotal]!
    const excess = (doubt ** (-1 / this.config.rows) * all) / this.config.counters
    const upper = votes + (light === saturated ? all : light)
    return { value: votes + light, lower: Math.ceil(votes + Math.max(0, light - excess)), upper, confidence: 1 - doubt }
  }

  /** Returns the keys of the buckets. A key that has counts only among the counters is not known any more. */
  protected override kept(): KeyEstimate[] {
    const keys: KeyEstimate[] = []
    this.#eachKept((vote, key) => {
      const light = this.#leastLight(this.keys.h1[blockKeys]!, this.keys.h2[blockKeys]!)
      keys.push({ key: keyOf(this.#stored, key, this.keyBytes), ...this.#estimated(vote, light) })
    })
    return keys
  }

  /** Calls `each` with the vote and the location of every kept key, whose hashes are stored after those of the block. */
  #eachKept(each: (vote: number, key: number) => void): void {
    for (let slot = 0; slot < this.config.buckets * slots; slot++) {
      const vote = this.#votes[Math.floor(slot / slots) * votesOf + (slot % slots)]!
      if (vote === 0) continue
      this.keys.rehash(this.#stored, slot * this.keys.words)
      each(vote, slot * this.keys.words)
    }
  }

  #parts(): ElasticParts {
    const { rows } = this.config
    const [exact, shared]: [number[], ElasticParts['shared']] = [[], []]
    this.#eachKept((vote) => {
      const [h1, h2] = [this.keys.h1[blockKeys]!, this.keys.h2[blockKeys]!]
      if ((vote & flagged) === 0) exact.push(vote)
      else {
        const counters = Array.from({ length: rows }, (_, row) => this.#counterOf(h1, h2, row))
        shared.push({ votes: vote & mostVotes, counters, least: this.#leastLight(h1, h2) })
      }
    })
    const light = this.#light
    return {
      exact,
      shared,
      light,
      width: this.config.counters,
      lightTotal: this.scalars[lightTotal]!,
      total: this.total,
    }
  }

  /** Returns the number of keys: those of the buckets, and linear counting for all others. Bounds of three standard deviations, at 0.99. */
  cardinality(): Estimate {
    return cardinalityOf(this.#parts())
  }

  /** Returns the entropy of the amounts in bits, Σ (f / N) log2(N / f), with bounds that follow from those of `cardinality`, at 0.99. */
  entropy(): Estimate {
    return entropyOf(this.#parts())
  }

  /**
   * Returns the number of keys of each amount: exact and large ones from the buckets, expectations (mrac.ts) for all others. No bound is
   * known.
   */
  distribution(): SizeCount[] {
    return distributionOf(this.#parts())
  }

  /**
   * Adds a sketch of another stream: of each bucket the seven keys with the most votes stay, and all others are moved to the counters.
   * Estimates keep their bounds; it is not bit by bit the sketch of both streams.
   */
  merge(other: ElasticSketch): void {
    this.assertFits(other)
    for (let i = 0; i < this.#light.length; i++)
      this.#light[i] = Math.min(saturated, this.#light[i]! + other.#light[i]!)
    this.scalars[lightTotal]! += other.scalars[lightTotal]!
    this.scalars[Scalar.total]! += other.total
    for (let bucket = 0; bucket < this.config.buckets; bucket++) this.#mergeBucket(other, bucket)
  }

  #mergeBucket(other: ElasticSketch, bucket: number): void {
    const { words } = this.keys
    const [mine, theirs] = [this.#entries(bucket), other.#entries(bucket)]
    // If a full bucket does not have a key, the key may have counts at the counters.
    const merged = mine.map((entry) => ({ ...entry, flag: entry.flag | (theirs.length === slots ? flagged : 0) }))
    for (const entry of theirs) {
      const same = merged.find((known) => known.key.every((word, i) => word === entry.key[i]))
      if (!same) merged.push({ ...entry, flag: entry.flag | (mine.length === slots ? flagged : 0) })
      else {
        const before = mine.find((known) => known.key === same.key)!
        same.flag = before.flag | entry.flag
        same.votes = Math.min(mostVotes, same.votes + entry.votes)
      }
    }
    merged.sort((a, b) => b.votes - a.votes)
    const [votes, keys] = [bucket * votesOf, bucket * slots * words]
    for (const [slot, entry] of merged.entries()) {
      if (slot < slots) {
        this.#votes[votes + slot] = entry.votes | entry.flag
        this.#stored.set(entry.key, keys + slot * words)
        continue
      }
      this.keys.rehash(entry.key, 0)
      this.#toLight(this.keys.h1[blockKeys]!, this.keys.h2[blockKeys]!, entry.votes)
    }
    this.#votes[votes + slots] = Math.min(mostVotes, this.#votes[votes + slots]! + other.#votes[votes + slots]!)
  }

  #entries(bucket: number): { key: Int32Array; votes: number; flag: number }[] {
    const { words } = this.keys
    const entries: { key: Int32Array; votes: number; flag: number }[] = []
    for (let slot = 0; slot < slots; slot++) {
      const vote = this.#votes[bucket * votesOf + slot]!
      const key = (bucket * slots + slot) * words
      if (vote === 0) continue
      entries.push({ key: this.#stored.slice(key, key + words), votes: vote & mostVotes, flag: vote & flagged })
    }
    return entries
  }

  protected override restored(): string | undefined {
    const light = this.scalars[lightTotal]!
    let sum = light
    let wrong: string | undefined
    this.#eachKept((vote, key) => {
      sum += vote & mostVotes
      const bucket = Math.floor(key / (slots * this.keys.words))
      if ((vote & mostVotes) === 0) wrong = 'a key without votes has the flag'
      if (!this.keys.isPadded(this.#stored, key)) wrong = 'a key is too long'
      if (this.#bucketOf(this.keys.h1[blockKeys]!, this.keys.h2[blockKeys]!) !== bucket)
        wrong = 'a key is in a bucket that is not its own'
    })
    if (wrong !== undefined) return wrong
    for (let vote = 0; vote < this.#votes.length; vote += votesOf) {
      if (this.#votes[vote + slots]! < 0) return 'a negative vote is below zero'
      for (let slot = vote + 1; slot < vote + slots; slot++)
        if ((this.#votes[slot - 1]! & mostVotes) < (this.#votes[slot]! & mostVotes)) return 'votes are out of order'
    }
    if (!Number.isInteger(light) || light < 0 || sum > this.total) return 'the counts are more than the total'
    // A counter has no more than the total of the counters, unless all of it was added beyond 255.
    if (this.#light.reduce((most, value) => Math.max(most, value), 0) > light) return 'a counter is above their total'
    return undefined
  }
}
