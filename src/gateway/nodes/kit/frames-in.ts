/** Frames (datagrams, messages of a broker) and parts of streams, decoded into samples of the pool. */
import { type Decoder, type Format, type NodeContext, PickedSamples, SampleField, SampleFlag } from '../../index.ts'
import type { Counters } from './counters.ts'

/** Decodes one stream, or frames of one peer. */
export class FrameDecoder {
  /** Number of samples that the last call of `decode` has filled. */
  count = 0
  readonly #decoder: Decoder
  readonly #context: NodeContext
  readonly #counters: Counters
  readonly #picked: PickedSamples
  #malformed = 0
  #surplus = 0

  /** Makes a decoder. `inMessages`: the input consists of frames, always whole. */
  constructor(context: NodeContext, format: Format, counters: Counters, inMessages: boolean) {
    this.#context = context
    this.#counters = counters
    this.#decoder = format.decoder(context.signals.in, inMessages)
    this.#picked = new PickedSamples(context.pool.samples)
  }

  /**
   * Fills at most `count` of the samples `indices[at…]` from `bytes[from…]`; returns how far it has read. With `whole` the bytes are the
   * rest of a frame, and an incomplete sample is malformed; without, they are a part of a stream. A sample without a time of receipt gets
   * the present time.
   */
  decode(bytes: Uint8Array, from: number, indices: Int32Array, at: number, count: number, whole: boolean): number {
    const picked = this.#picked
    picked.pick(indices, at, count)
    const end = this.#decoder.decode(bytes, from, picked, whole)
    this.count = picked.count
    if (picked.count > 0) this.#stamp(picked)
    const { problems } = this.#decoder
    if (problems.count !== this.#malformed) {
      const { what } = problems.first.at(-1)!
      this.#counters.warn(
        'malformed',
        `something that was received is malformed: ${what}`,
        problems.count - this.#malformed,
      )
      this.#malformed = problems.count
    }
    if (problems.surplus !== this.#surplus) {
      const most = this.#context.signals.in.length
      const what = `a sample has more than ${most} values, and its other values were dropped`
      this.#counters.warn('surplus', what, problems.surplus - this.#surplus)
      this.#surplus = problems.surplus
    }
    // The next frame begins anew.
    if (whole) problems.fatal = false
    return end
  }

  /** True if nothing after the last problem of a stream can be read. */
  get broken(): boolean {
    return this.#decoder.problems.fatal
  }

  #stamp(picked: PickedSamples): void {
    const { u32, i32 } = picked
    const { clock } = this.#context
    let stamped = -1
    for (let i = 0; i < picked.count; i++) {
      const word = picked.word(i)
      const flags = u32[word + SampleField.flags]!
      if (flags & SampleFlag.tsReceived) continue
      const received = word + SampleField.received
      if (stamped < 0) {
        clock.stamp(received)
        stamped = received
      } else for (let j = 0; j < 4; j++) i32[received + j] = i32[stamped + j]!
      u32[word + SampleField.flags] = flags | SampleFlag.tsReceived
    }
  }
}
