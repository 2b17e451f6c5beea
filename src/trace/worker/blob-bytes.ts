/**
 * Capture in a file that the user chose, read in slices. A compressed file is decompressed once; the result is kept as a Blob, which
 * browsers put on the disk when it is large, so that packets can be looked at again.
 */
import { Gunzip } from 'fflate'
import { Decompress } from 'fzstd'
import {
  CaptureParser,
  type Compression,
  compressionMagicLength,
  compressionOf,
  drain,
  type PacketHandler,
} from '../../capture/index.ts'
import type { CaptureBytes, ReadingOptions } from '../view/index.ts'

const sliceSize = 4 << 20
/**
 * Compressed bytes at once: few, since an error discards the output of its chunk, and since that output arrives in one turn of the event
 * loop. A byte of gzip gives at most 1,032; four bytes of zstd give 128 KiB.
 */
const compressedChunk = { gzip: 1 << 16, zstd: 1 << 11 } as const
/** Maximum length of a block, RFC 8878, 3.1.1.2.4; fzstd makes longer ones. */
const longestZstdBlock = 1 << 17
/** Number of decompressed bytes that become one part of the Blob. */
const partSize = 8 << 20

/** @param mostBytes maximum number of decompressed bytes: more are damage */
export function blobBytes(blob: Blob, mostBytes: number = mostOf(blob.size)): CaptureBytes {
  return new BlobBytes(blob, mostBytes)
}

/** Returns the maximum size of the decompressed capture: no capture of packets compresses better, unless it is made to fill the disk. */
function mostOf(compressedBytes: number): number {
  return Math.min(2 ** 36, Math.max(2 ** 31, 1000 * compressedBytes))
}

class BlobBytes implements CaptureBytes {
  readonly #blob: Blob
  /** Uncompressed capture, once it was read. */
  #whole: Blob
  readonly #mostBytes: number

  constructor(blob: Blob, mostBytes: number) {
    this.#blob = blob
    this.#whole = blob
    this.#mostBytes = mostBytes
  }

  async slice(from: number, to: number): Promise<Uint8Array> {
    return await bytesOf(this.#whole, from, to)
  }

  async read(onPacket: PacketHandler, options: ReadingOptions): Promise<CaptureParser> {
    const parser = new CaptureParser(2 * sliceSize)
    const compression = compressionOf(await bytesOf(this.#blob, 0, compressionMagicLength))
    // In a second reading, the decompressed capture is there.
    if (compression === undefined || this.#whole !== this.#blob) await this.#readPlain(parser, onPacket, options)
    else await this.#decompress(compression, parser, onPacket, options)
    return parser
  }

  async #readPlain(
    parser: CaptureParser,
    onPacket: PacketHandler,
    { signal, onProgress }: ReadingOptions,
  ): Promise<void> {
    const whole = this.#whole
    const { size } = whole
    // The next slice is fetched while this one is analysed.
    let next = bytesOf(whole, 0, sliceSize)
    for (let at = 0; at < size; at += sliceSize) {
      const bytes = await next
      if (signal.aborted) return
      next = at + sliceSize < size ? bytesOf(whole, at + sliceSize, at + 2 * sliceSize) : next
      // Its error is thrown where it is awaited.
      next.catch(() => {})
      parser.push(bytes)
      if (!drain(parser, onPacket)) return
      await onProgress(Math.min(size, at + sliceSize), size)
    }
    if (signal.aborted) return
    parser.end()
    drain(parser, onPacket)
  }

  async #decompress(
    compression: Compression,
    parser: CaptureParser,
    onPacket: PacketHandler,
    { signal, onProgress }: ReadingOptions,
  ): Promise<void> {
    const { size } = this.#blob
    const parts = new BlobParts()
    const most = this.#mostBytes
    let goesOn = true
    const taken = (bytes: Uint8Array): void => {
      if (!goesOn || bytes.length === 0) return
      if (compression === 'zstd' && bytes.length > longestZstdBlock)
        throw new Error(`a block of ${bytes.length} bytes; ${longestZstdBlock} are the most`)
      if (parts.length + bytes.length > most)
        throw new Error(`it gives more than ${most} bytes of only ${size} compressed ones`)
      parts.add(bytes)
      parser.push(bytes)
      goesOn = drain(parser, onPacket)
    }
    const chunk = compressedChunk[compression]
    const decompressor = compression === 'gzip' ? new Gunzip(taken) : new Decompress(taken)
    try {
      for (let at = 0; at < size && goesOn; at += sliceSize) {
        const slice = await bytesOf(this.#blob, at, Math.min(size, at + sliceSize))
        for (let from = 0; from < slice.length && goesOn; from += chunk) {
          if (signal.aborted) return
          const end = Math.min(slice.length, from + chunk)
          decompressor.push(slice.slice(from, end), at + end === size)
          await onProgress(at + end, size)
        }
      }
    } catch (error) {
      // Damage of the file, or of the compression; the former is the system's error.
      if (error instanceof DOMException) throw error
      const isPadding = (error as Error).message === noMember && (await endsWithZeros(this.#blob))
      const what = `the ${compression} stream is damaged here: ${(error as Error).message}`
      if (!isPadding) parser.damage.add(parser.fileOffset, parser.packet.number + 1, what)
      parser.end()
      if (goesOn) drain(parser, onPacket)
      return
    } finally {
      this.#whole = parts.blob()
    }
    parser.end()
    if (goesOn) drain(parser, onPacket)
  }
}

/** Error text of fflate for bytes after a member that are not another member. */
const noMember = 'invalid gzip data'

/**
 * True if the file ends with zeros: they fill up the last block of a tape or a transfer. A member ends with eight bytes that may have some,
 * too.
 */
async function endsWithZeros(blob: Blob): Promise<boolean> {
  const end = await bytesOf(blob, Math.max(0, blob.size - 12), blob.size)
  return end.every((byte) => byte === 0)
}

/** Collector of bytes into a Blob, part by part. */
class BlobParts {
  /** Number of bytes so far. */
  length = 0
  readonly #parts: Blob[] = []
  #bytes = new Uint8Array(partSize)
  #filled = 0

  add(bytes: Uint8Array): void {
    this.length += bytes.length
    for (let at = 0; at < bytes.length; ) {
      const count = Math.min(bytes.length - at, partSize - this.#filled)
      this.#bytes.set(bytes.subarray(at, at + count), this.#filled)
      this.#filled += count
      at += count
      if (this.#filled === partSize) this.#close()
    }
  }

  blob(): Blob {
    this.#close()
    this.#bytes = new Uint8Array(0)
    return new Blob(this.#parts)
  }

  #close(): void {
    if (this.#filled > 0) this.#parts.push(new Blob([this.#bytes.subarray(0, this.#filled)]))
    this.#filled = 0
  }
}

async function bytesOf(blob: Blob, from: number, to: number): Promise<Uint8Array> {
  return new Uint8Array(await blob.slice(from, to).arrayBuffer())
}
