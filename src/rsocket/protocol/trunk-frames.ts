/**
 * Frames of a trunk. Each has a header of 8 bytes, big endian; in data frames the data follow:
 *
 *      0  kind      1 open    value: the port that the client's end reports
 *                   2 accept
 *                   3 data    value: bytes that follow
 *                   4 credit  value: further bytes that may be sent
 *                   5 shut    nothing more is sent
 *                   6 close   and nothing more is taken
 *                   7 reset
 *      1  stream    24 bits, chosen by the end that connected
 *      4  value
 */
import type { StreamLink } from './stream-link.ts'

export const Frame = { Open: 1, Accept: 2, Data: 3, Credit: 4, Shut: 5, Close: 6, Reset: 7 } as const

export const headBytes = 8
/** Maximum number of bytes of one direction of one stream that may be in flight. */
export const windowBytes: number = 1 << 16

/** Members of the connection that a trunk uses to carry its frames. */
export type Carried = Pick<
  StreamLink,
  | 'open'
  | 'error'
  | 'reason'
  | 'readableBytes'
  | 'writableBytes'
  | 'send'
  | 'recv'
  | 'process'
  | 'reap'
  | 'arm'
  | 'sendKeepalive'
  | 'end'
>

/** A carrier that has ended: it delivers nothing and takes nothing. */
export class ClosedCarrier implements Carried {
  readonly open = false
  readonly readableBytes = 0
  readonly writableBytes = 0
  readonly error: number
  readonly reason: string

  constructor(error: number, reason: string) {
    this.error = error
    this.reason = reason
  }

  send(): number {
    return 0
  }

  recv(): number {
    return 0
  }

  process(): number {
    return 0
  }

  reap(): void {}

  arm(): void {}

  sendKeepalive(): boolean {
    return true
  }

  end(): void {}
}
