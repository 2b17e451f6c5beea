/**
 * HeavyKeeper (Gong, Yang, Zhang, Li, Uhlig, Chen, Uden, Li, USENIX ATC 2018), the parallel version of section 3.4: d arrays of w buckets
 * with a fingerprint and a count. A key adds where its fingerprint is; elsewhere the count C decays by one with a probability of b^−C,
 * and the key takes a bucket whose count reaches zero. Keys of the k largest counts are in a table, with the paper's optimizations:
 * a bucket above the smallest count of the table adds only for keys of the table, and a key enters only with a count that it can just have
 * reached.
 *
 * Theorem 1: a count is not above the truth, unless two keys of a bucket share their fingerprint (16 bits; 1 in 65,536 each). For a key
 * that keeps its bucket, theorem 2 bounds the loss by Markov's inequality: P(f − f̂ ≥ ε N) ≤ 1 / (ε w f (b − 1)), N the total, keys in
 * random order; the paper has half of that, for which it assumes more. Solved for f at 0.05: (f̂ + √(f̂² + 4 K)) / 2 with
 * K = 20 N / (w (b − 1)).
 *
 * That bound does not hold for a key that lost its bucket to another one, or entered it late, as most do if there are many more keys than
 * buckets. So no upper bound is below c t N / w, above which a key keeps a bucket with a probability of 0.95: by Markov's inequality all
 * other keys of a bucket have more than t N / w together with a probability of at most 1 / t; and a key with c times the amount of all
 * others loses to one of them, in random order, only if that one climbs to a count n at which it no longer falls, which needs n updates
 * against the odds of c b^−C: at most the product of b^C / c for C below n, 0.01 for c = b^n and n (n − 1) ln b = 2 ln 100. The d arrays
 * are independent, and one is enough: (1 / t + 0.01)^d = 0.05.
 *
 * Where we differ: b is 1.15; with the paper's 1.08, counts of large keys decay more: at 30 KB, on a Zipf trace of skew 0.8, 99.6 of the
 * top 100 were found on average over twelve seeds, and 99.9 with 1.15. An amount a counts as a updates in a row, drawn at once from
 * geometric distributions. An order that is chosen against the sketch breaks the upper bound. Two sketches cannot be merged.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { plannedBytes, views } from './block.ts'
import { atLeast, tableKeys } from './count-min.ts'
import { SketchError, wholeNumber } from './error.ts'
import { placeOf } from './keys.ts'
import { createOf, fromBytesOf } from './one-kind.ts'
import { nextRandom } from './seed.ts'
import { AmountSketch, mostBytes, mostCount, Scalar, type SketchOptions, saturatingSum, scalarCount } from './sketch.ts'
import { TopTable } from './top-table.ts'

export interface HeavyKeeperConfig {
  keyBytes: number
  arrays: number
  width: number
  k: number
  /** Base b. */
  base: number
}

export interface HeavyKeeperOptions extends SketchOptions {
  /** Keys that are kept (default 100). */
  k?: number
  /** Number d of arrays, 1 to 4 (default 2). */
  arrays?: number
  /** Base b, above 1 and up to 2 (default 1.15; the paper has 1.08). */
  base?: number
}

const planOf = (config: HeavyKeeperConfig) =>
  [
    [Float64Array, scalarCount],
    [Float64Array, config.k],
    [Int32Array, config.k * ((config.keyBytes + 3) >> 2)],
    [Int32Array, config.arrays * config.width],
    [Uint16Array, config.arrays * config.width],
  ] as const

export class HeavyKeeper extends AmountSketch<HeavyKeeperConfig> {
  readonly #counts: Int32Array
  readonly #prints: Uint16Array
  readonly #top: TopTable
  /**
   * Threshold by count C: a random number from 0 to 2^31 − 1 below it lets the count decay, so that the probability is b^−C. The last entry
   * is for all counts from there on, which do not decay; nor does 0.
   */
  readonly #decay: Int32Array
  /** Multiple of the mean of a bucket that a key must have to be sure of a bucket: c t, at the head of this file. */
  readonly #sureTimes: number

  /** @internal */
  constructor(config: HeavyKeeperConfig, seed: Uint8Array, block?: ArrayBuffer) {
    const plan = planOf(config)
    super('heavykeeper', config, seed, plan, block)
    const [scalars, tops, keys, counts, prints] = views(this.block, plan)
    this.#counts = counts
    this.#prints = prints
    this.#top = new TopTable(config.k, this.keys, scalars, keys, tops)
    const length = Math.min(1 << 16, Math.ceil((31 * Math.LN2) / Math.log(config.base)) + 2)
    this.#decay = Int32Array.from({ length }, (_, count) =>
      count === 0 || count === length - 1 ? 0 : Math.min(2 ** 31 - 1, 2 ** 31 * config.base ** -count),
    )
    const climb = (1 + Math.sqrt(1 + (8 * Math.log(100)) / Math.log(config.base))) / 2
    this.#sureTimes = config.base ** climb / (0.05 ** (1 / config.arrays) - 0.01)
    if (block) this.verify()
  }

  /** @internal */
  static get kinds(): readonly string[] {
    return ['heavykeeper']
  }

  /** @internal */
  static get fields(): readonly (keyof HeavyKeeperConfig & string)[] {
    return ['keyBytes', 'arrays', 'width', 'k', 'base']
  }

  /** Creates a sketch, as `createSketch` does. Throws ERR_SKETCH_VALUE with the name of the option. */
  static create(options: HeavyKeeperOptions): HeavyKeeper {
    return createOf(HeavyKeeper, options)
  }

  /** Returns the sketch of `toBytes`. Throws ERR_SKETCH_BYTES, and ERR_SKETCH_MISMATCH if the bytes are of another kind. */
  static fromBytes(bytes: Uint8Array): HeavyKeeper {
    return fromBytesOf(HeavyKeeper, bytes)
  }

  /** @internal */
  static configure(options: HeavyKeeperOptions): HeavyKeeperConfig {
    const arrays = wholeNumber('arrays', options.arrays ?? 2, 1, 4)
    const k = wholeNumber('k', options.k ?? 100, 1, 2 ** 24)
    const base = baseOf(options.base ?? 1.15)
    const left = options.bytes - 8 * scalarCount - TopTable.bytesFor(k, options.keyBytes)
    const width = atLeast('bytes', options.bytes, Math.floor(left / (6 * arrays)))
    return { keyBytes: options.keyBytes, arrays, width, k, base }
  }

  /** @internal */
  static check(config: HeavyKeeperConfig): number {
    wholeNumber('arrays', config.arrays, 1, 4)
    wholeNumber('width', config.width, 8, mostBytes)
    wholeNumber('k', config.k, 1, 2 ** 24)
    baseOf(config.base)
    return plannedBytes(planOf(config))
  }

  protected override add(count: number): void {
    const { arrays, width } = this.config
    const { h1, h2, multipliers, word, words } = this.keys
    const [counts, prints, amounts, decay, top] = [this.#counts, this.#prints, this.amounts, this.#decay, this.#top]
    const scale = width / 2 ** 32
    const small = this.isSmall
    const never = decay.length - 1
    const isFast = small && arrays === 2
    const [m0, m1] = [multipliers[0]!, multipliers[1]!]
    let random = this.scalars[Scalar.random]! | 0
    let leastSlot = top.isFull ? top.leastSlot : -1
    let least = leastSlot < 0 ? mostCount : top.counts[leastSlot]!
    for (let i = 0; i < count; i++) {
      const amount = amounts[i]!
      if (amount === 0) continue
      const a = h1[i]!
      const b = h2[i]!
      const print = a & 0xffff
      // Looked up only if it can matter: mostly the estimates of keys outside are below the smallest count of the table.
      let slot = -2
      let best = 0
      if (isFast && amount === 1) {
        // Both buckets without branches, since these are unpredictable: all masks are −1 for yes and 0 for no.
        const at0 = placeOf(a, b, m0, scale)
        const at1 = width + placeOf(a, b, m1, scale)
        const here0 = counts[at0]!
        const here1 = counts[at1]!
        const print0 = prints[at0]!
        const print1 = prints[at1]!
        const mine0 = (((print0 ^ print) - 1) & -here0) >> 31
        const mine1 = (((print1 ^ print) - 1) & -here1) >> 31
        if (((mine0 & (least - here0)) | (mine1 & (least - here1))) >= 0) {
          random = nextRandom(random)
          const over0 = never - here0
          const over1 = never - here1
          const falls0 = ((random >>> 1) - decay[here0 + (over0 & (over0 >> 31))]!) >> 31
          const falls1 = ((Math.imul(random, 0x9e3779b1) >>> 1) - decay[here1 + (over1 & (over1 >> 31))]!) >> 31
          const next0 = here0 - mine0 + (falls0 & ~mine0)
          const next1 = here1 - mine1 + (falls1 & ~mine1)
          const taken0 = (next0 - 1) >> 31
          const taken1 = (next1 - 1) >> 31
          counts[at0] = next0 - taken0
          counts[at1] = next1 - taken1
          prints[at0] = print0 ^ ((print0 ^ print) & taken0)
          prints[at1] = print1 ^ ((print1 ^ print) & taken1)
          const own0 = (next0 & mine0) - taken0
          const own1 = (next1 & mine1) - taken1
          best = own0 - ((own0 - own1) & ((own0 - own1) >> 31))
          if (best === 0 || (best <= least && least !== mostCount)) continue
        }
      }
      if (best === 0)
        for (let array = 0; array < arrays; array++) {
          const at = array * width + placeOf(a, b, multipliers[array]!, scale)
          const here = counts[at]!
          if (prints[at] === print && here > 0) {
            if (here > least) {
              if (slot === -2) slot = top.find(word, i * words, a)
              if (slot < 0) continue
            }
            const sum = saturatingSum(here, amount, small)
            counts[at] = sum
            if (sum > best) best = sum
            continue
          }
          if (here >= never) continue
          random = nextRandom(random)
          if (here === 0 || amount > 1) {
            // An empty bucket is taken; several updates may decay one to zero.
            const left = here === 0 ? amount : this.#decayed(at, amount, random)
            if (left === 0) continue
            prints[at] = print
            counts[at] = Math.min(left, mostCount)
            best = Math.max(best, counts[at]!)
          } else if (random >>> 1 < decay[here]!) {
            counts[at] = here - 1
            if (here > 1) continue
            prints[at] = print
            counts[at] = 1
            if (best === 0) best = 1
          }
        }
      if (best === 0 || (best <= least && slot === -2 && least !== mostCount)) continue
      if (slot === -2) slot = top.find(word, i * words, a)
      if (slot >= 0) {
        if (best <= top.counts[slot]!) continue
        top.set(slot, best)
        // The smallest count changes only if it was this one.
        if (slot !== leastSlot) continue
      } else if (!top.isFull) top.insert(word, i * words, a, best)
      else if (best > least && best <= least + amount) top.replaceLeast(word, i * words, a, best)
      else continue
      if (!top.isFull) continue
      leastSlot = top.leastSlot
      least = top.counts[leastSlot]!
    }
    this.scalars[Scalar.random] = random
  }

  /** Lets `amount` updates of another key decay a bucket. Returns the number of updates that are left once the count is zero. */
  #decayed(at: number, amount: number, start: number): number {
    let random = start
    let left = amount
    let here = this.#counts[at]!
    while (here > 0) {
      const chance = here < this.#decay.length - 1 ? this.config.base ** -here : 0
      if (chance === 0) break
      random = (Math.imul(random, 0x915f77f5) + 0x6c078965) | 0
      // Updates until the first that decays, of a geometric distribution.
      const drawn = ((random ^ (random >>> 15)) >>> 0) / 2 ** 32
      const until = Math.floor(Math.log1p(-drawn) / Math.log1p(-chance)) + 1
      if (until > left) {
        left = 0
        break
      }
      left -= until
      here--
      // The update that decays the last one takes the bucket.
      if (here === 0) left++
    }
    this.#counts[at] = here
    return here > 0 ? 0 : left
  }

  /** Returns an amount with the bounds at the head of this file; confidence 0.95. */
  override estimate(key: Uint8Array): Estimate {
    this.read(key)
    const { arrays, width } = this.config
    const { h1, h2, multipliers, word } = this.keys
    const slot = this.#top.find(word, 0, h1[0]!)
    let value = slot < 0 ? 0 : this.#top.counts[slot]!
    for (let array = 0; array < arrays; array++) {
      const at = array * width + placeOf(h1[0]!, h2[0]!, multipliers[array]!, width / 2 ** 32)
      if (this.#prints[at] === (h1[0]! & 0xffff)) value = Math.max(value, this.#counts[at]!)
    }
    const loss = (20 * this.total) / (width * (this.config.base - 1))
    const kept = Math.floor((value + Math.sqrt(value * value + 4 * loss)) / 2)
    const upper = Math.min(this.total, Math.max(kept, Math.floor((this.#sureTimes * this.total) / width)))
    return { value, lower: value, upper: value === mostCount ? this.total : Math.max(value, upper), confidence: 0.95 }
  }

  protected override kept(): KeyEstimate[] {
    return tableKeys(this.#top).map((key) => ({ key, ...this.estimate(key) }))
  }

  protected override restored(): string | undefined {
    for (const count of this.#counts) if (count < 0 || count > this.total) return 'a count is impossible'
    return this.#top.restored()
  }
}

function baseOf(base: number): number {
  if (base > 1 && base <= 2) return base
  throw new SketchError('ERR_SKETCH_VALUE', `base: ${base} is not a number above 1, at most 2`)
}
