/**
 * Interfaces of a format: a decoder that takes bytes in chunks of any size, and an encoder that appends samples to bytes. Both work on
 * batches of `Samples` and allocate nothing for a sample.
 */
import type { Problems } from '../problems.ts'
import type { Samples } from '../samples.ts'

export interface Decoder {
  readonly problems: Problems
  /**
   * Appends samples from `bytes[from…]` until they are full or no whole one is left; returns how far it has read. The caller passes the
   * rest again, followed by more. `last`: there is no more, so that an incomplete sample is a problem. A rest is never longer than
   * `longestRest`.
   */
  decode(bytes: Uint8Array, from: number, samples: Samples, last: boolean): number
}

/** Bytes that a decoder may leave; a line or an object that is longer is skipped and counted. */
export const longestRest: number = 1 << 20

/** Bytes of a message around and between its samples. */
export interface Framing {
  readonly open: Uint8Array
  readonly between: Uint8Array
  readonly close: Uint8Array
}

export interface Encoder {
  /** Bytes to be written around and between the samples of a message; undefined: none. */
  readonly framing?: Framing
  /** True if a message carries one sample only, because nothing marks where it ends. */
  readonly alone?: boolean
  /** Maximum number of bytes for a sample, the header included. */
  readonly bound: number
  /** Writes one sample; returns the position after it. Throws a `GatewayError` for one that the format cannot carry. */
  encode(samples: Samples, index: number, out: Uint8Array, at: number): number
}

/** Maximum length of a value as text: the 309 digits of the largest double and 31 after the point, twice for a complex number. */
export const valueBound: number = 2 * 345
