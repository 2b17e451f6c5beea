/** What the readers of captures read from. Files and streams are made into sources by `src/files`; bytes in memory here. */
import type { CapturedBlock } from './copy-blocks.ts'
import { type CapturedPacket, CaptureParser, Step } from './parser.ts'

/** Handles one packet; `false` ends the reading. The packet is valid only until it returns. */
export type PacketHandler = (packet: CapturedPacket, parser: CaptureParser) => boolean | undefined

/** How a source is read. */
export interface ReadOptions {
  /** Called between chunks with the bytes of the file that are used up. Reading waits for the promise that it returns. */
  onProgress?: (fileOffset: number) => Promise<void> | void
  /** Called many times a second while a source that is not at its end has nothing to give, after all that it gave was handled. */
  onIdle?: () => void
  /** Takes each block of a pcapng file that is no packet, before the packets behind it. */
  onBlock?: (block: CapturedBlock) => void
  /** Ends the reading early, as if the file ended there. */
  signal?: AbortSignal
  /** Bytes to read at once, from a source that reads in chunks. */
  chunkSize?: number
}

/** Packets that can be read: of a file, a stream, or bytes. */
export interface CaptureSource {
  /** Whether it can be read again, from the start. */
  readonly repeatable: boolean
  /**
   * Reads to the end, or until the handler says false. What was wrong is in the parser's `damage`. Throws the error of
   * the system if there is nothing to read.
   */
  read(onPacket: PacketHandler, options?: ReadOptions): Promise<CaptureParser>
}

/** An uncompressed capture in memory. It is read in one go: of the options, only `signal` and `onBlock` count. */
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

/** Hands the packets that the parser has to the handler. False if the reading is over. */
export function drain(parser: CaptureParser, onPacket: PacketHandler): boolean {
  for (;;) {
    const step = parser.next()
    if (step === Step.More) return true
    if (step === Step.End) return false
    if (onPacket(parser.packet, parser) === false) return false
  }
}
