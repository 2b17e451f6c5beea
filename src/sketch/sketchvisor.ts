/**
 * Protection from overload in the way of SketchVisor (Huang, Jin, Lee, Li, Tang, Chen and Zhang, SIGCOMM 2017): any sketch that answers by key as the
 * normal path, and beside it a small table (fast-path.ts) for what comes while the normal path cannot keep up.
 *
 * Each update goes to exactly one of both, so the truth is the sum of two truths, and bounds add. What the fast path adds to them is certain: at
 * most what a key can have lost there. `fast.total` says how much went that way, `fast.unattributed` how much of it no key has.
 *
 * It pays where the normal path is slower than the fast one: here UnivMon (a tenth), SketchLearn (half), FlowRadar; Elastic Sketch is as fast. For less work yet there is
 * NitroSketch.
 *
 * Where we differ: the caller says when there is overload (the paper has a buffer before the normal path). The paper restores the normal path's counters by
 * compressive sensing, so that its other tasks are answered, too, without a bound; here only what has bounds is answered: sizes and largest keys.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { encode } from './bytes.ts'
import { SketchError } from './error.ts'
import type { FastPath } from './fast-path.ts'
import { AmountSketch, type KeyConfig, type SketchOptions, scalarCount } from './sketch.ts'

export interface SketchVisorConfig extends KeyConfig {
  /** The length of the normal path in bytes; that of the fast path follows it. */
  normalLength: number
}

export interface SketchVisorOptions extends SketchOptions {
  /** The kind of the normal path (default 'elastic'); its own options may be given, too. */
  normal?: string
  /** The share of the memory for the fast path (default 0.125). */
  fastShare?: number
}

export class SketchVisor extends AmountSketch<SketchVisorConfig> {
  /** What counts unless there is overload. */
  readonly normal: AmountSketch
  /** What counts while there is. */
  readonly fast: FastPath
  /** Set it while updates come faster than the normal path takes them: they go the fast path. */
  overloaded = false

  /** @internal */
  constructor(normal: AmountSketch, fast: FastPath) {
    const config = { keyBytes: normal.keyBytes, normalLength: normal.toBytes().length }
    super('sketchvisor', config, normal.seed, [[Float64Array, scalarCount]])
    this.normal = normal
    this.fast = fast
  }

  override get bytes(): number {
    return this.normal.bytes + this.fast.bytes
  }

  override get total(): number {
    return this.normal.total + this.fast.total
  }

  /** Both paths, one after the other, each with what `toBytes` of a sketch has. */
  override toBytes(): Uint8Array {
    const [normal, fast] = [this.normal.toBytes(), this.fast.toBytes()]
    const both = new Uint8Array(normal.length + fast.length)
    both.set(normal)
    both.set(fast, normal.length)
    return encode(this.kind, { ...this.config }, this.seed, both.buffer)
  }

  override update(key: Uint8Array, amount: number = 1): void {
    const path = this.overloaded ? this.fast : this.normal
    path.update(key, amount)
  }

  override updateMany(keys: Uint8Array, amounts: Uint32Array | number = 1): void {
    const path = this.overloaded ? this.fast : this.normal
    path.updateMany(keys, amounts)
  }

  protected override add(): void {
    throw new SketchError('ERR_SKETCH_UNSUPPORTED', 'sketchvisor: its paths count')
  }

  /** The sum of both paths; the confidence is that of the normal one. */
  override estimate(key: Uint8Array): Estimate {
    const [a, b] = [this.normal.estimate(key), this.fast.estimate(key)]
    return {
      value: a.value + b.value,
      lower: a.lower + b.lower,
      upper: a.upper + b.upper,
      confidence: a.confidence,
    }
  }

  protected override kept(): KeyEstimate[] {
    const keys = new Map<string, Uint8Array>()
    for (const path of [this.normal, this.fast])
      for (const { key } of path.topK(2 ** 31)) keys.set(String.fromCharCode(...key), key)
    return [...keys.values()].map((key) => ({ key, ...this.estimate(key) }))
  }

  /** Merges path by path. Throws ERR_SKETCH_UNSUPPORTED if the kind of the normal path does not merge. */
  merge(other: SketchVisor): void {
    this.assertFits(other)
    const normal = this.normal as AmountSketch & { merge?(other: AmountSketch): void }
    if (!normal.merge) throw new SketchError('ERR_SKETCH_UNSUPPORTED', `sketchvisor: ${normal.kind} does not merge`)
    // What does not fit is found before anything changes.
    if (this.fast.config.capacity !== other.fast.config.capacity)
      throw new SketchError('ERR_SKETCH_MISMATCH', 'sketchvisor: the fast paths differ in size')
    normal.merge(other.normal)
    this.fast.merge(other.fast)
  }

  protected override restored(): string | undefined {
    return undefined
  }
}
