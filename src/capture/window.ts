/**
 * A window on a byte stream of any length: what was read and not yet used. Memory is the window's, not the file's.
 *
 *   bytes:  |  used, to be dropped  |  unread: start .. limit  |  free  |
 */

/** What a parser returns: there is a packet, it needs more bytes, or there is nothing more. */
export const Step = { Packet: 0, More: 1, End: 2 } as const
export type StepValue = (typeof Step)[keyof typeof Step]

export class ByteWindow {
  bytes: Uint8Array
  view: DataView
  start = 0
  limit = 0
  /** File offset of bytes[0]. */
  base = 0
  /** Nothing will be added any more. */
  ended = false
  /** How many unread bytes the parser asked for when it answered `More`. */
  wanted = 1

  constructor(size: number = 1 << 20) {
    this.bytes = new Uint8Array(size)
    this.view = new DataView(this.bytes.buffer)
  }

  get fileOffset(): number {
    return this.base + this.start
  }

  /** True if `count` unread bytes are here; else notes that they are wanted. */
  has(count: number): boolean {
    if (this.limit - this.start >= count) return true
    this.wanted = count
    return false
  }

  /** Free space behind the unread bytes: at least `minimum`, and enough for what is wanted. Write there, then `filled`. */
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
