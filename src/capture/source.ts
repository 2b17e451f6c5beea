/** Sources for the readers of captures. `src/files` makes sources of files and streams; bytes in memory are made into one here. */
import type { CapturedBlock } from './copy-blocks.ts'
import { type CapturedPacket, CaptureParser, Step } from './parser.ts'

/** Handles one packet; `false` ends the reading. The packet is valid only until it returns. */
export type PacketHandler = (packet: CapturedPacket, parser: CaptureParser) => boolean | undefined

/** Options for reading a source. */
export interface ReadOptions {
  /** Called between chunks with the number of bytes of the file consumed. Reading waits for the promise that it returns. */
  onProgress?: (fileOffset: number) => Promise<void> | void
  /** Called many times a second while a source that is not at its end has no data, after all its packets have been handled. */
  onIdle?: () => void
  /** Function that receives each block of a pcapng file that is not a packet, before the packets after it. */
  onBlock?: (block: CapturedBlock) => void
  /** Signal that ends the reading early, as if the file ended there. */
  signal?: AbortSignal
  /** Number of bytes to read at once, from a source that reads in chunks. */
  chunkSize?: number
}

/** Readable packets: of a file, a stream, or bytes. */
export interface CaptureSource {
  /** True if it can be read again, from the start. */
  readonly repeatable: boolean
  /**
   * Reads to the end, or until the handler returns false. Damage is in the parser's `damage`. Throws the error of
   * the system if there is nothing to read.
   */
  read(onPacket: PacketHandler, options?: ReadOptions): Promise<CaptureParser>
}

/** Returns a source of an uncompressed capture in memory. It is read in one go: of the options, only `signal` and `onBlock` apply. */
export function bytesSource(bytes: Uint8Array): CaptureSource {
  return {
    repeatable: true,
    async read(onPacket, { signal, onBlock } = {}) {
      const parser = new CaptureParser()
      parser.onBlock = onBlock
      if (signal?.aborted) return parser
      parser.push(bytes)
      if (drain(parser, onPacket)) {
        parser.end()
        drain(parser, onPacket)
      }
      return parser
    },
  }
}

/** Passes the packets in the parser to the handler. Returns false if the reading is over. */
export function drain(parser: CaptureParser, onPacket: PacketHandler): boolean {
  for (;;) {
    const step = parser.next()
    if (step === Step.More) return true
    if (step === Step.End) return false
    if (onPacket(parser.packet, parser) === false) return false
  }
}
