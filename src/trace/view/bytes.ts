/** Source of a capture whose packets can be read again in any order. */
import { bytesSource, type CaptureParser, type PacketHandler } from '../../capture/index.ts'

export interface ReadingOptions {
  signal: AbortSignal
  /** Reports progress between chunks, with bytes of the file as it is stored; reading waits for the promise that it returns. */
  onProgress(doneBytes: number, totalBytes: number): Promise<void> | void
}

export interface CaptureBytes {
  /** Reads the packets from first to last. Damage, of compression too, is in the parser's `damage`. */
  read(onPacket: PacketHandler, options: ReadingOptions): Promise<CaptureParser>
  /** Returns the bytes [from, to) of the uncompressed file. */
  slice(from: number, to: number): Promise<Uint8Array>
}

/** Returns an uncompressed capture in memory as `CaptureBytes`. */
export function captureBytes(bytes: Uint8Array): CaptureBytes {
  return {
    read: (onPacket, { signal }) => bytesSource(bytes).read(onPacket, { signal }),
    slice: async (from, to) => bytes.subarray(from, to),
  }
}
