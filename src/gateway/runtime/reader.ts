/** A node that paths of this thread read from: its hooks of `in`, batches, and the paths. */
import { type HookChain, type Pool, type Source, Verdict } from '../index.ts'
import { type Counts, NodeCount } from './counts.ts'
import type { Path } from './path.ts'
import type { Watch } from './watch.ts'

export class Reader {
  readonly name: string
  /** True if it has no `wait`: it notifies the loop when there is something to read. */
  readonly evented: boolean
  /** True if what is written to the node is read from it, so that it ends when its writers have ended. */
  readonly mirrors: boolean
  /** True if an evented source has something to read, or may have. */
  ready = true
  readonly source: Source
  /** Watch that sees the samples that pass. */
  watch: Watch | null = null
  readonly #hooks: HookChain
  readonly #hasHooks: boolean
  readonly #pool: Pool
  readonly #values: Float64Array
  readonly #at: number
  readonly #brings: boolean
  readonly #batch: Int32Array
  /** Number of the first indices of the batch that this reader owns. */
  #owned = 0
  /** Paths, and the index of this source in each. */
  readonly #paths: Path[] = []
  readonly #places: number[] = []

  constructor(
    name: string,
    source: Source,
    {
      mirrors,
      hooks,
      pool,
      counts,
      set,
      vectorize,
    }: { mirrors: boolean; hooks: HookChain; pool: Pool; counts: Counts; set: number; vectorize: number },
  ) {
    this.name = name
    this.source = source
    this.evented = source.wait === undefined
    this.mirrors = mirrors
    this.#brings = source.ownSamples === true
    this.#hooks = hooks
    this.#hasHooks = hooks.length > 0
    this.#pool = pool
    this.#values = counts.values
    this.#at = counts.at(set)
    this.#batch = new Int32Array(vectorize)
  }

  /** Connects a path, which gets the samples from now on, as those of its source `place`. */
  connect(path: Path, place: number): void {
    this.#paths.push(path)
    this.#places.push(place)
  }

  /** True if no path wants samples of it any more. */
  get idle(): boolean {
    return this.#paths.every((path) => path.stopped)
  }

  get ended(): boolean {
    return this.source.ended === true
  }

  /** Reads once, and passes what was read to the paths; returns the number of samples. Never waits. */
  poll(): number {
    const batch = this.#batch
    const wanted = batch.length
    if (!this.#brings && this.#owned < wanted) {
      this.#owned += this.#pool.take(batch, this.#owned, wanted - this.#owned)
      if (this.#owned === 0) {
        this.#values[this.#at + NodeCount.no_samples]!++
        return 0
      }
    }
    const { source } = this
    const count = source.read(batch, this.#brings ? wanted : this.#owned)
    const owned = source.released
    for (let i = 0; i < count; i++) this.#pass(batch[i]!)
    for (let i = count; i < owned; i++) batch[i - count] = batch[i]!
    this.#owned = owned - count
    return count
  }

  wait(ms: number): void {
    this.source.wait?.(ms)
  }

  /** Passes on the samples that hooks hold back, when there will be no more. */
  drain(): void {
    const pool = this.#pool
    const one = new Int32Array(1)
    while (pool.take(one, 0, 1) === 1) {
      const index = one[0]!
      if (!this.#hooks.drain(pool.samples, pool.samples.word(index))) {
        pool.drop(index)
        return
      }
      this.#send(index)
    }
  }

  /** Gives back the samples that it has for the next read. */
  close(): void {
    this.#pool.release(this.#batch, 0, this.#owned)
    this.#owned = 0
  }

  #pass(index: number): void {
    if (this.#hasHooks) {
      const { samples } = this.#pool
      const verdict = this.#hooks.process(samples, samples.word(index))
      if (verdict !== Verdict.ok) {
        this.#values[this.#at + (verdict === Verdict.skip ? NodeCount.skipped : NodeCount.failed)]!++
        this.#pool.drop(index)
        return
      }
    }
    this.#send(index)
  }

  #send(index: number): void {
    const paths = this.#paths
    this.#values[this.#at + NodeCount.read]!++
    if (this.watch !== null) this.watch.take(this.#pool.samples, this.#pool.samples.word(index))
    for (let i = 1; i < paths.length; i++) this.#pool.hold(index)
    for (let i = 0; i < paths.length; i++) paths[i]!.take(this.#places[i]!, index)
  }
}
