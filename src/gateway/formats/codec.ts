/**
 * What a format is: a decoder that takes bytes in chunks of any size, and an encoder that appends samples to bytes. Both work
 * on batches of `Samples` and allocate nothing for a sample.
 */
import type { Problems } from '../problems.ts'
import type { Samples } from '../samples.ts'

export interface Decoder {
  readonly problems: Problems
  /**
   * Appends samples from `bytes[from…]` until they are full or no whole one is left; returns how far it has read. The caller
   * passes the rest again, followed by more. `last`: there is no more, so that what is incomplete is a problem.
   * A rest is never longer than `longestRest`.
   */
  decode(bytes: Uint8Array, from: number, samples: Samples, last: boolean): number
}

/** Bytes that a decoder may leave; a line or an object that is longer is skipped and counted. */
export const longestRest: number = 1 << 20

/** What a message has around its samples. */
export interface Framing {
  readonly open: Uint8Array
  readonly between: Uint8Array
  readonly close: Uint8Array
}

export interface Encoder {
  /** Who puts samples together to a message writes this around them; undefined: nothing. */
  readonly framing?: Framing
  /** A message carries one sample only: nothing marks where it ends. */
  readonly alone?: boolean
  /** No more bytes than this for a sample, the header included. */
  readonly bound: number
  /** Writes one sample; returns the position behind it. Throws a `GatewayError` for one that the format cannot carry. */
  encode(samples: Samples, index: number, out: Uint8Array, at: number): number
}

/** Of a value as text: the 309 digits of the largest double and 31 behind the point, twice for a complex number. */
export const valueBound: number = 2 * 345
