/**
 * A window on a byte stream of any length: bytes that were read and not yet consumed. Memory depends on the window, not on the file.
 *
 *   bytes:  |  used, to be dropped  |  unread: start .. limit  |  free  |
 */

/** Results of a parser: there is a packet, it needs more bytes, or the end is reached. */
export const Step = { Packet: 0, More: 1, End: 2 } as const
export type StepValue = (typeof Step)[keyof typeof Step]

export class ByteWindow {
  bytes: Uint8Array
  view: DataView
  start = 0
  limit = 0
  /** File offset of bytes[0]. */
  base = 0
  /** True if no more bytes will be added. */
  ended = false
  /** Number of unread bytes that the parser requires after it returned `More`. */
  wanted = 1

  constructor(size: number = 1 << 20) {
    this.bytes = new Uint8Array(size)
    this.view = new DataView(this.bytes.buffer)
  }

  get fileOffset(): number {
    return this.base + this.start
  }

  /** True if `count` unread bytes are present; otherwise it records the request for them. */
  has(count: number): boolean {
    if (this.limit - this.start >= count) return true
    this.wanted = count
    return false
  }

  /** Returns free space after the unread bytes: at least `minimum`, and enough for `wanted`. Write there, then call `filled`. */
  room(minimum: number): Uint8Array {
    const unread = this.limit - this.start
    const need = Math.max(minimum, this.wanted - unread)
    if (this.bytes.length - this.limit < need) {
      let { bytes } = this
      if (bytes.length - unread < need) bytes = new Uint8Array(Math.max(bytes.length * 2, unread + need))
      if (bytes === this.bytes) bytes.copyWithin(0, this.start, this.limit)
      else bytes.set(this.bytes.subarray(this.start, this.limit))
      if (bytes !== this.bytes) {
        this.bytes = bytes
        this.view = new DataView(bytes.buffer)
      }
      this.base += this.start
      this.start = 0
      this.limit = unread
    }
    return this.bytes.subarray(this.limit)
  }

  filled(count: number): void {
    this.limit += count
  }
}
