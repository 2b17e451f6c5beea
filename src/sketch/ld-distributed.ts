/**
 * Distributed detection (Huang and Lee, INFOCOM 2014, section 4): each key has d of q workers, and each of its updates goes to one of these, so that workers share the load,
 * and false reports of one worker are not confirmed by the other workers. Every worker has a sketch of its own; seeds may differ.
 *
 * An update is in exactly one sketch, so the amount of a key is within the sums of the bounds of its d workers: more workers for a key, wider sums. A key is reported if that sum reaches the
 * threshold, and if each of its workers finds at least γ / d of it. Updates are spread evenly at random: by Chernoff a key of the amount f that comes in updates of at most a
 * fails at one of its workers with a probability of at most d e^(−(1 − γ)² f / (2 d a)).
 */
import type { KeyEstimate } from './answers.ts'
import { between, oneKey, SketchError, wholeNumber } from './error.ts'
import { KeyReader, mostKeyBytes, placeOf } from './keys.ts'
import { Random, type SeedLike, seedFrom } from './seed.ts'
import type { AmountSketch } from './sketch.ts'

export interface WorkersOptions {
  /** Number q of workers, 1 to 1024. */
  workers: number
  /** Number d of workers of a key, 1 to 8, at most q (default 2). */
  copies?: number
  keyBytes: number
  /** Seed of the assignment of keys to workers, which must be the same at all senders. */
  seed: SeedLike
  /** Seed of the choice among the workers of a key; random by default. */
  coins?: SeedLike
}

export class Workers {
  readonly workers: number
  readonly copies: number
  readonly #keys: KeyReader
  readonly #random: Random

  constructor(options: WorkersOptions) {
    this.workers = wholeNumber('workers', options.workers, 1, 1024)
    this.copies = wholeNumber('copies', options.copies ?? Math.min(2, this.workers), 1, Math.min(8, this.workers))
    wholeNumber('keyBytes', options.keyBytes, 1, mostKeyBytes)
    this.#keys = new KeyReader(options.keyBytes, seedFrom(options.seed))
    this.#random = new Random(seedFrom(options.coins))
  }

  /** Returns the d different workers of a key. */
  of(key: Uint8Array): number[] {
    oneKey('key', key, this.#keys.keyBytes)
    this.#keys.load(key, 0, 1)
    const { h1, h2, multipliers } = this.#keys
    const chosen: number[] = []
    // One after the other from the workers that are left.
    for (let i = 0; i < this.copies; i++) {
      let at = placeOf(h1[0]!, h2[0]!, multipliers[i]!, (this.workers - i) / 2 ** 32)
      for (const taken of chosen.toSorted((a, b) => a - b)) if (at >= taken) at++
      chosen.push(at)
    }
    return chosen
  }

  /** Returns the worker for an update of a key: one of its d, at random. */
  next(key: Uint8Array): number {
    return this.of(key)[Math.floor(this.#random.unit() * this.copies)]!
  }

  /** Returns the amount of a key: the sums of its workers' estimates, with the confidence that all hold (Bonferroni). */
  estimate(sketches: readonly AmountSketch[], key: Uint8Array): KeyEstimate {
    this.#assertAll(sketches)
    const sum: KeyEstimate = { key, value: 0, lower: 0, upper: 0, confidence: 1 }
    for (const worker of this.of(key)) {
      const { value, lower, upper, confidence } = sketches[worker]!.estimate(key)
      sum.value += value
      sum.lower += lower
      sum.upper += upper
      sum.confidence = Math.max(0, sum.confidence + confidence - 1)
    }
    return sum
  }

  /** Returns the keys that all their workers confirm, largest first; `sketches` are those of all workers in order. */
  heavyHitters(sketches: readonly AmountSketch[], threshold: number, gamma: number = 0.5): KeyEstimate[] {
    this.#assertAll(sketches)
    between('gamma', gamma, 0, 1)
    const share = (gamma * threshold) / this.copies
    const keys = new Map<string, Uint8Array>()
    for (const sketch of sketches)
      for (const { key } of sketch.heavyHitters(share)) keys.set(String.fromCharCode(...key), key)
    return [...keys.values()]
      .filter((key) => this.of(key).every((worker) => sketches[worker]!.estimate(key).upper >= share))
      .map((key) => this.estimate(sketches, key))
      .filter(({ upper }) => upper >= threshold)
      .sort((a, b) => b.value - a.value)
  }

  #assertAll(sketches: readonly AmountSketch[]): void {
    if (sketches.length !== this.workers)
      throw new SketchError('ERR_SKETCH_MISMATCH', `sketches: ${sketches.length} of ${this.workers} workers`)
  }
}
