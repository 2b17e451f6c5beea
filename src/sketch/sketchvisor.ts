/**
 * Protection from overload as in SketchVisor (Huang, Jin, Lee, Li, Tang, Chen and Zhang, SIGCOMM 2017): any sketch that answers by key as
 * the normal path, and beside it a small table (fast-path.ts) for the updates that arrive while the normal path cannot keep up.
 *
 * Each update goes to exactly one of both, so the truth is the sum of two truths, and bounds add. The contribution of the fast path to them
 * is certain: at most the loss of a key there. `fast.total` is the amount that was added there, `fast.unattributed` the part of it that no
 * key has.
 *
 * It pays where the normal path is slower than the fast one: here UnivMon (a tenth), SketchLearn (half), FlowRadar; Elastic Sketch is as
 * fast. NitroSketch takes even less work.
 *
 * Where we differ: the caller signals the overload (the paper has a buffer before the normal path). The paper restores the normal path's
 * counters by compressive sensing, so that its other tasks are answered, too, without a bound; here only answers with bounds are available:
 * sizes and largest keys.
 */
import type { Estimate, KeyEstimate } from './answers.ts'
import { encode } from './bytes.ts'
import { SketchError } from './error.ts'
import type { FastPath } from './fast-path.ts'
import { AmountSketch, type KeyConfig, type SketchOptions, scalarCount } from './sketch.ts'

export interface SketchVisorConfig extends KeyConfig {
  /** Length of the normal path in bytes; that of the fast path follows it. */
  normalLength: number
}

export interface SketchVisorOptions extends SketchOptions {
  /** Kind of the normal path (default 'elastic'); its own options may be given, too. */
  normal?: string
  /** Share of the memory for the fast path (default 0.125). */
  fastShare?: number
}

export class SketchVisor extends AmountSketch<SketchVisorConfig> {
  /** Path for updates unless there is overload. */
  readonly normal: AmountSketch
  /** Path for updates during overload. */
  readonly fast: FastPath
  /** Flag to set while updates arrive faster than the normal path takes them: they take the fast path. */
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

  /** Returns both paths, one after the other, each as the `toBytes` of a sketch. */
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

  /** Returns the sum of both paths; the confidence is that of the normal one. */
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
    // A mismatch is found before anything changes.
    if (this.fast.config.capacity !== other.fast.config.capacity)
      throw new SketchError('ERR_SKETCH_MISMATCH', 'sketchvisor: the fast paths differ in size')
    normal.merge(other.normal)
    this.fast.merge(other.fast)
  }

  protected override restored(): string | undefined {
    return undefined
  }
}
