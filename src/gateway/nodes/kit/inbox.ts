/**
 * A source whose samples come in the event loop: input is decoded at once into samples of the pool that the inbox keeps, and `read`
 * exchanges them for those of the path. It is bounded: a message that finds it full is lost and counted, a stream waits.
 */
import { type Format, type NodeContext, Samples, type Source } from '../../index.ts'
import type { Counters } from './counters.ts'
import { FrameDecoder } from './frames-in.ts'

/** Samples that an inbox keeps: `ParsedNode.keeps`. */
export const inboxSamples = 512
const batch = 64
const tooFast = 'samples came faster than they were read, and were lost'

export class Inbox implements Source {
  released = 0
  /** Takes a message in the format of the node. */
  readonly message: (bytes: Uint8Array) => void
  readonly #context: NodeContext
  readonly #format: Format
  readonly #counters: Counters
  /** Samples that are empty: a stack. */
  readonly #spare = new Int32Array(inboxSamples)
  #spares: number
  /** Samples that are filled: a ring. */
  readonly #filled = new Int32Array(inboxSamples)
  #head = 0
  #count = 0
  #waiting: (() => void)[] = []

  constructor(context: NodeContext, format: Format, counters: Counters) {
    this.#context = context
    this.#format = format
    this.#counters = counters
    this.message = this.channel(format)
    this.#spares = context.pool.take(this.#spare, 0, inboxSamples)
  }

  /** Samples that it has room for. */
  get room(): number {
    return this.#spares
  }

  /** Returns a decoder for a stream of its own. */
  streamDecoder(): FrameDecoder {
    return new FrameDecoder(this.#context, this.#format, this.#counters, false)
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Returns a function that takes messages in a format; they may be overwritten afterwards. */
  channel(format: Format): (bytes: Uint8Array) => void {
    const decoder = new FrameDecoder(this.#context, format, this.#counters, true)
    let overflow: Overflow | undefined
    return (bytes) => {
      const at = this.fill(decoder, bytes, 0, true)
      if (at === bytes.length) return
      overflow ??= new Overflow(format, this.#context)
      const lost = overflow.count(bytes, at)
      if (lost > 0) this.#counters.warn('dropped', tooFast, lost)
    }
  }

  /** Decodes from `bytes[from…]` as long as there is room; returns how far it has read. */
  fill(decoder: FrameDecoder, bytes: Uint8Array, from: number, whole: boolean): number {
    let at = from
    let any = false
    while (at < bytes.length && this.#spares > 0) {
      const count = Math.min(batch, this.#spares)
      const first = this.#spares - count
      at = decoder.decode(bytes, at, this.#spare, first, count, whole)
      const decoded = decoder.count
      for (let i = 0; i < decoded; i++)
        this.#filled[(this.#head + this.#count++) % inboxSamples] = this.#spare[first + i]!
      this.#spare.copyWithin(first, first + decoded, this.#spares)
      this.#spares -= decoded
      any ||= decoded > 0
      if (decoded < count) break
    }
    if (any) this.#context.readable()
    return at
  }

  /** Calls `go` once when there is room again. */
  whenRoom(go: () => void): void {
    this.#waiting.push(go)
  }

  /**
   * Adds a sample that the node itself fills (`fill` does so for what is decoded); returns false if there was no room, which is counted.
   */
  put(make: (samples: Samples, word: number) => void): boolean {
    if (this.#spares === 0) {
      this.#counters.warn('dropped', tooFast)
      return false
    }
    const index = this.#spare[--this.#spares]!
    const { samples } = this.#context.pool
    make(samples, samples.word(index))
    this.#filled[(this.#head + this.#count++) % inboxSamples] = index
    this.#context.readable()
    return true
  }

  /** Notifies the path that there is something to read. */
  protected arrived(): void {
    this.#context.readable()
  }

  read(samples: Int32Array, count: number): number {
    this.released = count
    const n = Math.min(count, this.#count)
    for (let i = 0; i < n; i++) {
      this.#spare[this.#spares++] = samples[i]!
      samples[i] = this.#filled[this.#head]!
      this.#head = (this.#head + 1) % inboxSamples
    }
    this.#count -= n
    if (n > 0 && this.#waiting.length > 0) this.#resume()
    return n
  }

  #resume(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const go of waiting) go()
  }

  /** Gives back all samples. */
  stop(): void {
    const { pool } = this.#context
    pool.release(this.#spare, 0, this.#spares)
    for (; this.#count > 0; this.#count--) {
      pool.drop(this.#filled[this.#head]!)
      this.#head = (this.#head + 1) % inboxSamples
    }
    this.#spares = 0
    this.#waiting = []
  }
}

/** Decodes messages that are lost, to count their samples. */
class Overflow {
  readonly #decoder
  readonly #samples: Samples

  constructor(format: Format, { signals }: NodeContext) {
    this.#decoder = format.decoder(signals.in, true)
    this.#samples = new Samples(batch, signals.in.length)
  }

  count(bytes: Uint8Array, from: number): number {
    let lost = 0
    let at = from
    do {
      this.#samples.count = 0
      at = this.#decoder.decode(bytes, at, this.#samples, true)
      lost += this.#samples.count
    } while (this.#samples.count === batch)
    this.#decoder.problems.fatal = false
    return lost
  }
}
