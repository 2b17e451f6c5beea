/**
 * Memory of one stream: a chunk of the arena with two parts, so that the peer can write only where it must.
 *
 *     local    send buffer, outgoing entries of SGLs            this end sends from here, with the key of the arena
 *     remote   target SGL, target iomap, receive buffer         the peer writes here, with a key that is this stream's
 *
 * The entries, which little traffic needs as well, are adjacent in the middle: one page of memory.
 */
import type { Context, MemoryRegion, QueuePair } from '../../verbs/index.ts'
import { Access, type QpType } from '../../verbs/provider/index.ts'
import { iomapEntryBytes, sgeBytes } from './messages.ts'
import { controlReserve, type StreamOptions, targetEntries } from './options.ts'
import type { Chunk, StreamArena } from './stream-arena.ts'

const line = 64
const align = (n: number): number => Math.ceil(n / line) * line

/** Number of slots for outgoing entries: one for each outstanding control message, each in a cache line of its own. */
export const outgoingSlots: number = 2 * controlReserve

export type StreamQueuePair = QueuePair<typeof QpType.RC>

export class StreamMemory {
  readonly context: Context
  readonly remote: MemoryRegion
  readonly local: MemoryRegion
  /** Device addresses. */
  readonly targetSgl: number
  readonly targetIomap: number
  readonly receiveBuffer: number
  /** Bytes of the whole receive buffer, and of one half of the part that a peer of version 1 gets. */
  readonly receiveBytes: number
  readonly halfBytes: number
  readonly outgoing: number
  readonly iomapSize: number
  /** First address, and the memory from there as bytes and words. */
  readonly base: number
  readonly u8: Uint8Array
  readonly i32: Int32Array
  /** Copies between device addresses, four times as fast as between views of shared memory. */
  readonly copy: (to: number, from: number, length: number) => void
  readonly sendBuffer: number
  readonly sendBytes: number
  /** Offsets from `base`. */
  readonly receiveOffset: number
  readonly sendOffset: number

  readonly arena: StreamArena
  readonly #chunk: Chunk

  /** Throws a VerbsError if memory or a key cannot be allocated. */
  constructor(arena: StreamArena, options: StreamOptions) {
    this.arena = arena
    const { context } = arena.pd
    this.context = context
    const sglBytes = targetEntries * sgeBytes
    const entryBytes = align(sglBytes + options.iomapSize * iomapEntryBytes)
    this.halfBytes = align(options.receiveBufferBytes / 2)
    this.receiveBytes = 2 * this.halfBytes * options.receiveBufferTimes
    this.sendBytes = align(options.sendBufferBytes)
    const localBytes = this.sendBytes + outgoingSlots * line
    const remoteBytes = entryBytes + this.receiveBytes
    this.iomapSize = options.iomapSize
    const chunk = arena.take(localBytes + remoteBytes)
    const { u8 } = chunk
    this.#chunk = chunk
    this.local = chunk.local
    this.u8 = u8
    this.i32 = new Int32Array(u8.buffer, u8.byteOffset, u8.byteLength / 4)
    this.copy = context.device.host.segment.copy
    const base = u8.byteOffset
    this.base = base
    this.sendBuffer = base
    this.outgoing = base + this.sendBytes
    this.targetSgl = base + localBytes
    this.targetIomap = this.targetSgl + sglBytes
    this.receiveBuffer = this.targetSgl + entryBytes
    this.receiveOffset = this.receiveBuffer - base
    this.sendOffset = 0
    // An entry with a non-zero length is one that the peer has written, and a peer that announces data which it has not written must not
    // expose the data of another peer. Zero memory stays untouched: an idle connection needs no page of it.
    if (chunk.leftBytes > localBytes) u8.fill(0, localBytes, chunk.leftBytes)
    try {
      this.remote = arena.pd.regMr(
        u8.subarray(localBytes, localBytes + remoteBytes),
        Access.LocalWrite | Access.RemoteWrite,
      )
    } catch (error) {
      arena.giveUnused(chunk)
      throw error
    }
  }

  /**
   * Returns the memory after the queue pair is gone. It is reused when no end sends from it, or writes to it, any more. `filledBytes`:
   * maximum number of bytes of the receive buffer that the peer may have written.
   */
  close(filledBytes: number = this.receiveBytes): void {
    this.arena.give(this.#chunk, this.remote, this.receiveOffset + filledBytes)
  }
}
