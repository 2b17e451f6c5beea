/** The wire format of Protocol Buffers: varints, tags, fields of fixed length, as far as samples need it. */

/** Wire types. */
export const Wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const

export function tagOf(field: number, wire: number): number {
  return field * 8 + wire
}

/** Writes an unsigned 64-bit integer of two words as a varint; returns the position after it. */
export function writeVarint(out: Uint8Array, at: number, low: number, high = 0): number {
  low >>>= 0
  high >>>= 0
  while (high !== 0 || low > 0x7f) {
    out[at++] = (low & 0x7f) | 0x80
    low = ((low >>> 7) | (high << 25)) >>> 0
    high >>>= 7
  }
  out[at] = low
  return at + 1
}

/** Reads varints and skips fields. `end` is where the enclosing message ends. */
export class WireReader {
  /** Position after what was read; −1: it is malformed, or extends beyond the end. */
  at = 0
  /** Last varint, as the words of a 64-bit integer. */
  low = 0
  high = 0

  /** Reads a varint; returns false if there is no whole one of at most 64 bits before `end`. */
  varint(bytes: Uint8Array, at: number, end: number): boolean {
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70 && at < end; shift += 7) {
      const byte = bytes[at++]!
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >> 4
      } else high |= bits << (shift - 32)
      if (byte < 0x80) {
        this.at = at
        this.low = low >>> 0
        this.high = high >>> 0
        return true
      }
    }
    this.at = -1
    return false
  }

  /** Reads the length of a field of bytes, which must end before `end`; its contents begin at `at`. Returns false if it does not. */
  length(bytes: Uint8Array, at: number, end: number): boolean {
    if (this.varint(bytes, at, end) && this.high === 0 && this.low <= end - this.at) return true
    this.at = -1
    return false
  }

  /** Skips the field whose tag was read. Returns false if there is no such wire type, or the field extends beyond the end. */
  skip(bytes: Uint8Array, at: number, end: number, wire: number): boolean {
    if (wire === Wire.varint) return this.varint(bytes, at, end)
    if (wire === Wire.bytes) {
      if (!this.length(bytes, at, end)) return false
      this.at += this.low
      return true
    }
    const size = wire === Wire.fixed64 ? 8 : wire === Wire.fixed32 ? 4 : Number.POSITIVE_INFINITY
    this.at = at + size <= end ? at + size : -1
    return this.at >= 0
  }
}
