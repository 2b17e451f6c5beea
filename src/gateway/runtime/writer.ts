/** A node that paths of this thread write to: its hooks of `out`, and batches. */
import { copySample, type Destination, type HookChain, type Pool, Verdict } from '../index.ts'
import { type Counts, NodeCount } from './counts.ts'
import type { Watch } from './watch.ts'

export class Writer {
  readonly name: string
  /** True if the node has failed: samples are given back. */
  failed = false
  /** Watch that sees the samples that are written. */
  watch: Watch | null = null
  readonly #destination: Destination
  readonly #hooks: HookChain
  readonly #hasHooks: boolean
  readonly #pool: Pool
  readonly #values: Float64Array
  readonly #at: number
  readonly #batch: Int32Array
  #count = 0
  /** True if something was written since the last `idle`. */
  #dirty = false

  /** Makes a writer. `counts` has the node's numbers in set `set`; `vectorize`: samples in a batch. */
  constructor(
    name: string,
    destination: Destination,
    {
      hooks,
      pool,
      counts,
      set,
      vectorize,
    }: { hooks: HookChain; pool: Pool; counts: Counts; set: number; vectorize: number },
  ) {
    this.name = name
    this.#destination = destination
    this.#hooks = hooks
    this.#hasHooks = hooks.length > 0
    this.#pool = pool
    this.#values = counts.values
    this.#at = counts.at(set)
    this.#batch = new Int32Array(vectorize)
  }

  /** Takes ownership of a sample. */
  put(index: number): void {
    if (this.failed) {
      this.#pool.drop(index)
      return
    }
    const own = this.#hasHooks ? this.#changed(index) : index
    if (own >= 0) this.#add(own)
  }

  /** Writes the gathered samples. */
  write(): void {
    const count = this.#count
    if (count === 0) return
    const destination = this.#destination
    const values = this.#values
    this.#count = 0
    this.#dirty = true
    const taken = destination.write(this.#batch, count)
    values[this.#at + NodeCount.written]! += taken
    values[this.#at + NodeCount.lost]! += count - taken
    this.#pool.release(this.#batch, 0, destination.released)
  }

  /** Flushes the node: there is nothing to write for now. */
  idle(): void {
    if (!this.#dirty) return
    this.#dirty = false
    this.#destination.flush?.()
  }

  /** Writes the samples that hooks hold back, when there will be no more. */
  drain(): void {
    const pool = this.#pool
    const one = new Int32Array(1)
    while (!this.failed && pool.take(one, 0, 1) === 1) {
      const index = one[0]!
      if (!this.#hooks.drain(pool.samples, pool.samples.word(index))) {
        pool.drop(index)
        break
      }
      this.#add(index)
    }
    if (!this.failed) this.write()
    else this.giveBack()
  }

  /** Drops the gathered samples, which the node cannot take any more. */
  giveBack(): void {
    this.#values[this.#at + NodeCount.lost]! += this.#count
    this.#pool.release(this.#batch, 0, this.#count)
    this.#count = 0
  }

  #add(index: number): void {
    if (this.watch !== null) this.watch.take(this.#pool.samples, this.#pool.samples.word(index))
    this.#batch[this.#count++] = index
    if (this.#count === this.#batch.length) this.write()
  }

  /** Returns the sample as the hooks change it, perhaps a copy; −1: they do not let it pass. */
  #changed(index: number): number {
    const pool = this.#pool
    const own = exclusive(pool, index)
    if (own < 0) {
      this.#values[this.#at + NodeCount.no_samples]!++
      return -1
    }
    const verdict = this.#hooks.process(pool.samples, pool.samples.word(own))
    if (verdict === Verdict.ok) return own
    this.#values[this.#at + (verdict === Verdict.skip ? NodeCount.skipped : NodeCount.failed)]!++
    pool.drop(own)
    return -1
  }
}

const taken = new Int32Array(1)

/** Returns the sample itself if the caller alone holds it, else a copy, and gives the sample back; −1: there is no room for a copy. */
export function exclusive(pool: Pool, index: number): number {
  if (pool.isAlone(index)) return index
  const copy = pool.take(taken, 0, 1) === 1 ? taken[0]! : -1
  const { samples } = pool
  if (copy >= 0) copySample(samples, samples.word(index), samples, samples.word(copy))
  pool.drop(index)
  return copy
}
