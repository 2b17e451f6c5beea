/**
 * A path: samples of its sources, put together, through its hooks, to its destinations.
 *
 * A path of one source that takes all of its values passes the samples on as they are. Any other has a sample of its own with the
 * last values of all sources, and sends a copy of it when a source that counts has something new, or all of them have (`mode`). As in
 * VILLASnode each sample of a source makes such a copy, which is numbered and goes through the hooks, whether it is sent or not; and the
 * sample has as many values as sources have brought so far, from the beginning or since the simulation has started again.
 */
import { copySample, type HookChain, type Pool, SampleField, SampleFlag, type Signal, Verdict } from '../index.ts'
import { type Counts, PathCount } from './counts.ts'
import { type Remap, setInitial } from './remap.ts'
import { exclusive, type Writer } from './writer.ts'

/** Flags of a sample of a source that the path's own sample has, too. */
const flagsOfSource =
  SampleFlag.tsOrigin |
  SampleFlag.tsReceived |
  SampleFlag.offset |
  SampleFlag.sequence |
  SampleFlag.newFrame |
  SampleFlag.newSimulation

export interface PathOptions {
  pool: Pool
  /** Signals of what goes into its hooks. */
  signals: readonly Signal[]
  hooks: HookChain
  writers: readonly Writer[]
  counts: Counts
  set: number
  /** Mappings of each source; null: samples pass as they are. */
  remaps: readonly Remap[] | null
  /** True if all sources that count have to have something new. */
  all: boolean
  /** Flags, for each source: it counts for the mode. */
  counting: readonly boolean[]
  /** Flag: keep the sequence numbers of the sources. */
  originalSequence: boolean
}

export class Path {
  /** True if it takes no more samples. */
  stopped = false
  readonly #pool: Pool
  readonly #hooks: HookChain
  readonly #hasHooks: boolean
  readonly #writers: readonly Writer[]
  readonly #values: Float64Array
  readonly #at: number
  readonly #remaps: readonly Remap[] | null
  readonly #all: boolean
  readonly #counting: readonly boolean[]
  readonly #originalSequence: boolean
  /** Sources that had something new since the last sample that was sent; and the number of those that count. */
  readonly #fresh: Uint8Array
  readonly #counted: number
  #freshCount = 0
  #sequence = 0
  /** Index of the sample with the last values; −1 if samples pass as they are. */
  #last = -1
  readonly #one: Int32Array = new Int32Array(1)

  /** Makes a path. Throws if it needs a sample of its own and the pool has none. */
  constructor(options: PathOptions) {
    const { pool, signals, hooks, writers, counts, set, remaps, all, counting, originalSequence } = options
    this.#pool = pool
    this.#hooks = hooks
    this.#hasHooks = hooks.length > 0
    this.#writers = writers
    this.#values = counts.values
    this.#at = counts.at(set)
    this.#remaps = remaps
    this.#all = all
    this.#counting = counting
    this.#originalSequence = originalSequence
    this.#fresh = new Uint8Array(counting.length)
    this.#counted = counting.filter(Boolean).length
    if (remaps === null) return
    if (pool.take(this.#one, 0, 1) !== 1) throw new Error('the pool has no sample left for a path')
    this.#last = this.#one[0]!
    setInitial(pool.samples, pool.samples.word(this.#last), signals)
  }

  /** Takes ownership of a sample of a source. */
  take(source: number, index: number): void {
    if (this.stopped) {
      this.#pool.drop(index)
      return
    }
    this.#values[this.#at + PathCount.received]!++
    if (this.#remaps === null) this.#pass(index)
    else this.#mix(source, index)
  }

  /** Sends the last values once more, at the rate of the path. `missed`: moments at which that was not done. */
  repeat(missed: number): void {
    this.#values[this.#at + PathCount.repeated]!++
    this.#values[this.#at + PathCount.missed]! += missed
    this.#sendLast(true)
  }

  /** Sends the samples that hooks hold back, when there will be no more. */
  drain(): void {
    const pool = this.#pool
    while (pool.take(this.#one, 0, 1) === 1) {
      const index = this.#one[0]!
      if (!this.#hooks.drain(pool.samples, pool.samples.word(index))) {
        pool.drop(index)
        return
      }
      this.#send(index)
    }
  }

  close(): void {
    if (this.#last >= 0) this.#pool.drop(this.#last)
    this.#last = -1
  }

  #pass(index: number): void {
    const changes = this.#hasHooks || !this.#originalSequence
    const own = changes ? exclusive(this.#pool, index) : index
    if (own < 0) this.#values[this.#at + PathCount.no_samples]!++
    else this.#finish(own, true)
  }

  #mix(source: number, index: number): void {
    const { samples } = this.#pool
    const from = samples.word(index)
    const to = samples.word(this.#last)
    const { u32, i32 } = samples
    const flags = u32[from + SampleField.flags]! & flagsOfSource
    for (let i = SampleField.received; i < SampleField.data; i++) i32[to + i] = i32[from + i]!
    if (flags & SampleFlag.newSimulation) u32[to + SampleField.length] = 0
    this.#remaps![source]!.apply(samples, from, to)
    u32[to + SampleField.flags] = u32[to + SampleField.length] === 0 ? flags : flags | SampleFlag.data
    this.#pool.drop(index)
    const due = this.#isDue(source)
    // Only hooks see a sample that does not go.
    if (due || this.#hasHooks) this.#sendLast(due)
    else if (!this.#originalSequence) this.#sequence++
    // A sample that is repeated does not mark another beginning.
    u32[to + SampleField.flags] = u32[to + SampleField.flags]! & ~(SampleFlag.newSimulation | SampleFlag.newFrame)
  }

  /** True if the mode lets a sample go, now that a source has something new. */
  #isDue(source: number): boolean {
    if (!this.#counting[source]) return false
    if (!this.#all) return true
    if (this.#fresh[source] === 0) {
      this.#fresh[source] = 1
      this.#freshCount++
    }
    if (this.#freshCount < this.#counted) return false
    this.#fresh.fill(0)
    this.#freshCount = 0
    return true
  }

  /** Passes a copy of the sample through the hooks, and sends it if it is due. */
  #sendLast(due: boolean): void {
    const pool = this.#pool
    if (pool.take(this.#one, 0, 1) !== 1) {
      this.#values[this.#at + PathCount.no_samples]!++
      return
    }
    const copy = this.#one[0]!
    copySample(pool.samples, pool.samples.word(this.#last), pool.samples, pool.samples.word(copy))
    this.#finish(copy, due)
  }

  /** Numbers a sample that is the path's alone, or does not change, passes it through the hooks, and sends it if it is due. */
  #finish(index: number, due: boolean): void {
    const { samples } = this.#pool
    const word = samples.word(index)
    if (!this.#originalSequence) {
      samples.setInt64(word + SampleField.sequence, this.#sequence++)
      samples.u32[word + SampleField.flags]! |= SampleFlag.sequence
    }
    if (this.#hasHooks) {
      const verdict = this.#hooks.process(samples, word)
      if (verdict !== Verdict.ok) {
        this.#values[this.#at + (verdict === Verdict.skip ? PathCount.skipped : PathCount.failed)]!++
        this.#pool.drop(index)
        return
      }
    }
    if (due) this.#send(index)
    else this.#pool.drop(index)
  }

  #send(index: number): void {
    const writers = this.#writers
    this.#values[this.#at + PathCount.sent]!++
    if (writers.length === 0) this.#pool.drop(index)
    for (let i = 1; i < writers.length; i++) this.#pool.hold(index)
    for (let i = 0; i < writers.length; i++) writers[i]!.put(index)
  }
}
