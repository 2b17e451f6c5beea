/** Samples as frames: as many of a batch as fit go into one, as in VILLASnode. */
import {
  type Destination,
  type Encoder,
  type Format,
  type Framing,
  GatewayError,
  type NodeContext,
} from '../../index.ts'
import type { Counters } from './counters.ts'

export interface FrameOptions {
  /** Maximum number of bytes of a frame. */
  readonly limit: number
  /** Maximum number of samples of a frame; undefined: as many as fit. */
  readonly samples?: number
  /** Sends a frame of `count` samples, whose bytes may be overwritten afterwards. It counts what it cannot send, and returns false. */
  send(frame: Uint8Array, count: number): boolean
  /** Called after the last write for now. */
  flush?(): void
}

const none = new Uint8Array(0)
const nothing: Framing = { open: none, between: none, close: none }

export class FramesOut implements Destination {
  released = 0
  readonly #context: NodeContext
  readonly #counters: Counters
  readonly #format: Format
  #encoder: Encoder
  readonly #framing: Framing
  readonly #options: FrameOptions
  readonly #bytes: Uint8Array
  readonly #most: number
  /** View of `#bytes` up to the length of the last frame: frames are mostly of one length. */
  #frame: Uint8Array
  /** Index of the sample after the last frame, and number of samples in that frame. */
  #next = 0
  #inFrame = 0

  constructor(context: NodeContext, format: Format, counters: Counters, options: FrameOptions) {
    this.#context = context
    this.#counters = counters
    this.#format = format
    this.#encoder = format.encoder(context.signals.out)
    this.#options = options
    this.#most = this.#encoder.alone ? 1 : (options.samples ?? Number.POSITIVE_INFINITY)
    this.#framing = this.#encoder.framing ?? nothing
    const { open, between } = this.#framing
    this.#bytes = new Uint8Array(open.length + options.limit + between.length + this.#encoder.bound)
    this.#frame = this.#bytes.subarray(0, 0)
  }

  /** Begins the output to a new peer: it starts with the line of names, if the format has one. */
  begin(): void {
    this.#encoder = this.#format.encoder(this.#context.signals.out)
  }

  write(samples: Int32Array, count: number): number {
    this.released = count
    let taken = 0
    this.#next = 0
    while (this.#next < count) {
      const length = this.#fill(samples, count)
      if (this.#inFrame === 0) continue
      if (length !== this.#frame.length) this.#frame = this.#bytes.subarray(0, length)
      if (this.#options.send(this.#frame, this.#inFrame)) {
        this.#counters.add('sent', this.#inFrame)
        taken += this.#inFrame
      }
    }
    return taken
  }

  flush(): void {
    this.#options.flush?.()
  }

  /** Encodes a frame; returns its length. */
  #fill(samples: Int32Array, count: number): number {
    const { limit } = this.#options
    const { open, between, close } = this.#framing
    let at = this.#put(open, 0)
    this.#inFrame = 0
    for (; this.#next < count && this.#inFrame < this.#most; this.#next++) {
      const from = this.#inFrame > 0 ? this.#put(between, at) : at
      const end = this.#encode(samples[this.#next]!, from)
      if (end + close.length > limit) {
        if (this.#inFrame > 0) break
        this.#counters.warn(
          'too_long',
          `a sample of ${end} bytes is longer than ${limit}, which is the most that can be sent, and was lost`,
        )
      } else if (end > from) {
        at = end
        this.#inFrame++
      }
    }
    return this.#put(close, at)
  }

  #put(bytes: Uint8Array, at: number): number {
    if (bytes.length > 0) this.#bytes.set(bytes, at)
    return at + bytes.length
  }

  #encode(index: number, at: number): number {
    try {
      return this.#encoder.encode(this.#context.pool.samples, index, this.#bytes, at)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#counters.warn('not_encoded', `a sample cannot be sent: ${error.message}`)
      return at
    }
  }
}
