/** What a capture is read from, where its packets are looked at again in any order. */
import { bytesSource, type CaptureParser, type PacketHandler } from '../../capture/index.ts'

export interface ReadingOptions {
  signal: AbortSignal
  /** Called between chunks, with bytes of the file as it lies there; reading waits for the promise that it returns. */
  onProgress(doneBytes: number, totalBytes: number): Promise<void> | void
}

export interface CaptureBytes {
  /** Reads the packets from first to last. Damage, of compression too, is in the parser's `damage`. */
  read(onPacket: PacketHandler, options: ReadingOptions): Promise<CaptureParser>
  /** The bytes [from, to) of the uncompressed file. */
  slice(from: number, to: number): Promise<Uint8Array>
}

/** An uncompressed capture in memory. */
export function captureBytes(bytes: Uint8Array): CaptureBytes {
  return {
    read: (onPacket, { signal }) => bytesSource(bytes).read(onPacket, { signal }),
    slice: async (from, to) => bytes.subarray(from, to),
  }
}
