/**
 * gzip, member after member (RFC 1952). zlib's own reader of whole gzip files discards the output of a chunk if bytes follow that are not
 * gzip: padding, a signature. Here the end of a member is known, so that all of its data is kept, whatever follows.
 *
 *     member   1f 8b, method, flags, 6 bytes; extra field, name, comment, CRC of the header as the flags indicate; deflate; CRC-32, size
 */
import { crc32, createInflateRaw, type InflateRaw } from 'node:zlib'

const headLength = 10
const trailerLength = 8
/** Maximum length of a header with its extra field, name and comment. */
const longestHeader = 1 << 18
const deflate = 8
const flag = { headerCrc: 2, extra: 4, name: 8, comment: 16 } as const
const nothing = new Uint8Array(0)

/** Returns the offset of the deflate stream; 0 if bytes are missing. Throws if the bytes are not gzip. */
export function gzipHeaderLength(b: Uint8Array): number {
  if (b.length > 1 && (b[0] !== 0x1f || b[1] !== 0x8b)) throw new Error('incorrect header check')
  if (b.length < headLength) return 0
  const flags = b[3]!
  if (b[2] !== deflate || flags >= 32) throw new Error('unknown compression method or header flags set')
  let at = headLength
  if ((flags & flag.extra) !== 0) {
    if (b.length < at + 2) return 0
    at += 2 + (b[at]! | (b[at + 1]! << 8))
  }
  for (const text of [flag.name, flag.comment]) {
    if ((flags & text) === 0) continue
    const end = b.indexOf(0, at)
    if (end < 0) return 0
    at = end + 1
  }
  if ((flags & flag.headerCrc) !== 0) at += 2
  return at <= b.length ? at : 0
}

export class GzipReader {
  readonly #onData: (bytes: Uint8Array) => void
  /** Bytes of an incomplete header or trailer. */
  #part = nothing
  #isTrailer = false
  /** Decompressor of the current member, while its data arrives. */
  #inflate: InflateRaw | undefined
  #error: Error | undefined
  #wake: (() => void) | undefined
  #given = 0
  #crc = 0
  #size = 0
  #members = 0

  constructor(onData: (bytes: Uint8Array) => void) {
    this.#onData = onData
  }

  /** Resolves when all decompressed data of the bytes was passed on. Rejects with the error in the bytes. */
  async write(bytes: Uint8Array): Promise<void> {
    let rest = bytes
    while (rest.length > 0) {
      if (this.#inflate !== undefined) rest = await this.#body(rest)
      else if (this.#isTrailer) rest = this.#trailer(rest)
      else rest = this.#header(rest)
    }
  }

  /** Rejects if the data is incomplete. */
  async end(): Promise<void> {
    if (this.#inflate !== undefined) {
      // The last bytes may have been the member's end, which shows only on another write.
      await this.#body(new Uint8Array(trailerLength))
      throw new Error('unexpected end of file')
    }
    if (this.#isTrailer || this.#part.length > 0 || this.#members === 0) throw new Error('unexpected end of file')
  }

  destroy(): void {
    this.#inflate?.destroy()
  }

  #header(bytes: Uint8Array): Uint8Array {
    // Zeros pad the last block of a tape or a transfer.
    const from = this.#part.length === 0 && this.#members > 0 ? bytes.findIndex((byte) => byte !== 0) : 0
    if (from < 0) return nothing
    const b = joined(this.#part, bytes.subarray(from))
    const length = this.#headerOf(b)
    this.#part = length === 0 ? b.slice() : nothing
    if (length === 0) {
      if (b.length > longestHeader) throw new Error(`a header of more than ${longestHeader} bytes`)
      return nothing
    }
    this.#crc = this.#size = this.#given = 0
    const inflate = createInflateRaw({ chunkSize: 1 << 16 })
    inflate.on('data', (chunk: Uint8Array) => {
      this.#crc = crc32(chunk, this.#crc)
      this.#size += chunk.length
      this.#onData(chunk)
    })
    inflate.on('error', (error) => {
      this.#error = error
      // The callback of the write may never be called.
      this.#wake?.()
    })
    this.#inflate = inflate
    return b.subarray(length)
  }

  #headerOf(b: Uint8Array): number {
    try {
      return gzipHeaderLength(b)
    } catch (error) {
      if (this.#members === 0) throw error
      throw new Error(`bytes behind its end that are no gzip: ${(error as Error).message}`)
    }
  }

  /** Returns the bytes after the end of the deflate stream. */
  async #body(bytes: Uint8Array): Promise<Uint8Array> {
    const inflate = this.#inflate!
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      inflate.write(bytes, () => resolve())
    })
    if (this.#error) throw this.#error
    this.#given += bytes.length
    const behind = this.#given - inflate.bytesWritten
    if (behind === 0) return nothing
    // It consumed fewer bytes than were written: that was the end. Its last data may still be in the stream.
    if (!inflate.readableEnded) await new Promise((resolve) => inflate.once('end', resolve))
    inflate.destroy()
    this.#inflate = undefined
    this.#isTrailer = true
    return bytes.subarray(bytes.length - behind)
  }

  #trailer(bytes: Uint8Array): Uint8Array {
    const b = joined(this.#part, bytes)
    if (b.length < trailerLength) {
      this.#part = b.slice()
      return nothing
    }
    this.#part = nothing
    this.#isTrailer = false
    this.#members++
    const view = new DataView(b.buffer, b.byteOffset)
    if (view.getUint32(0, true) !== this.#crc) throw new Error('incorrect data check')
    if (view.getUint32(4, true) !== this.#size % 2 ** 32) throw new Error('incorrect length check')
    return b.subarray(trailerLength)
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
