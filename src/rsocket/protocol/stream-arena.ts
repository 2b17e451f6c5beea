/**
 * Memory of streams: slabs of chunks of one size, each slab one allocation with one region to send from. Making a stream thus
 * allocates and zeroes nothing, and registers only the memory that its peer may write to.
 *
 *     slab     ┌ chunk: local part │ remote part ┬ chunk ┬ … ┐      one local region over all of it, which gives no peer access
 *     peers    a region for each stream over the remote part of its chunk, with a key of its own
 *
 * Each peer has a region, not a memory window: a window also takes a key, and a request on the send queue in addition.
 *
 * A chunk that is returned cools: threads of other processes may still write to it with the key of its last peer until a grace period has
 * passed, at whose end that key is reclaimed. No chunk begins with its remote part, since memory that begins where a region does is
 * reclaimed with that region.
 */
import type { Context, MemoryRegion, ProtectionDomain } from '../../verbs/index.ts'

const pageBytes = 4096
/** Maximum chunks and bytes of a slab, if it has more than one chunk; each new slab has as many chunks as there are already. */
const maxChunks = 16
const maxSlabBytes = 1 << 22
/** Unused bytes in other slabs from which on a slab without users is freed. */
const keepBytes = 1 << 22

interface Slab {
  readonly bytes: Uint8Array
  readonly local: MemoryRegion
  readonly chunkBytes: number
  readonly chunks: number
  unused: number
}

export interface Chunk {
  readonly u8: Uint8Array
  /** Bytes at its beginning that the last stream may have written; the rest is zero. */
  leftBytes: number
  readonly slab: Slab
  readonly local: MemoryRegion
}

/** A chunk, and the region with which its last peer could write to it. */
interface Cooling {
  chunk: Chunk
  region: MemoryRegion
}

export class StreamArena {
  readonly pd: ProtectionDomain
  readonly #context: Context
  readonly #slabs = new Set<Slab>()
  /** Unused chunks by size. */
  readonly #unused = new Map<number, Chunk[]>()
  #unusedBytes = 0
  #cooling: Cooling[] = []

  constructor(pd: ProtectionDomain) {
    this.pd = pd
    this.#context = pd.context
  }

  /** Takes a chunk of at least `bytes`, which begins with a page and is zero after its `leftBytes`. Throws a VerbsError. */
  take(bytes: number): Chunk {
    const size = Math.ceil(bytes / pageBytes) * pageBytes
    this.#cool()
    let unused = this.#unused.get(size)
    if (unused === undefined) {
      unused = []
      this.#unused.set(size, unused)
    }
    if (unused.length === 0) this.#grow(size, unused)
    const chunk = unused.pop()!
    chunk.slab.unused--
    this.#unusedBytes -= size
    return chunk
  }

  /**
   * Returns a chunk, after the queue pair is gone, and the region with which its peer wrote to it, up to `leftBytes` from its beginning.
   */
  give(chunk: Chunk, region: MemoryRegion, leftBytes: number): void {
    chunk.leftBytes = leftBytes
    region.discard()
    this.#cooling.push({ chunk, region })
    this.#cool()
  }

  /** Returns a chunk to which no peer has had access. */
  giveUnused(chunk: Chunk): void {
    const { slab } = chunk
    this.#unused.get(slab.chunkBytes)!.push(chunk)
    slab.unused++
    this.#unusedBytes += slab.chunkBytes
    if (slab.unused === slab.chunks && this.#unusedBytes - slab.bytes.length >= keepBytes) this.#drop(slab)
  }

  /** Frees the slabs when no stream uses them any more; cooling chunks are reclaimed with the rest. */
  close(): void {
    for (const { bytes, local } of this.#slabs) local.discard(bytes)
    this.#slabs.clear()
    this.#unused.clear()
    this.#cooling = []
  }

  /** Makes the chunks that have cooled available again. */
  #cool(): void {
    const cooling = this.#cooling
    let cooled = 0
    while (cooled < cooling.length && cooling[cooled]!.region.reclaimed) cooled++
    if (cooled > 0) for (const { chunk } of cooling.splice(0, cooled)) this.giveUnused(chunk)
  }

  #grow(size: number, unused: Chunk[]): void {
    let chunks = 0
    for (const slab of this.#slabs) if (slab.chunkBytes === size) chunks += slab.chunks
    const most = Math.min(maxChunks, Math.floor(maxSlabBytes / size))
    const slab = this.#slab(size, Math.max(1, Math.min(most, chunks)))
    this.#slabs.add(slab)
    for (let at = slab.chunks - 1; at >= 0; at--)
      unused.push({ u8: slab.bytes.subarray(at * size, (at + 1) * size), leftBytes: 0, slab, local: slab.local })
    this.#unusedBytes += slab.bytes.length
  }

  #slab(chunkBytes: number, chunks: number): Slab {
    let bytes: Uint8Array
    try {
      bytes = this.#context.alloc(chunks * chunkBytes)
    } catch (error) {
      // There may be memory for fewer.
      if (chunks === 1) throw error
      return this.#slab(chunkBytes, chunks >> 1)
    }
    try {
      return { bytes, local: this.pd.regMr(bytes, 0), chunkBytes, chunks, unused: chunks }
    } catch (error) {
      this.#context.free(bytes)
      throw error
    }
  }

  #drop(slab: Slab): void {
    const { chunkBytes, local, bytes } = slab
    this.#slabs.delete(slab)
    const unused = this.#unused.get(chunkBytes)!
    // The list stays: chunks of this size may still be in use, in other slabs.
    this.#unused.set(
      chunkBytes,
      unused.filter((chunk) => chunk.slab !== slab),
    )
    this.#unusedBytes -= bytes.length
    local.discard(bytes)
  }
}
