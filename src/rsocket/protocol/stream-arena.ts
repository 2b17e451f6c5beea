/**
 * Memory of streams: slabs of segments ("pieces") of one size, each slab one allocation with one region to send from. Making a stream thus
 * allocates and zeroes nothing, and registers only the memory that its peer may write to.
 *
 *     slab     ┌ piece: local part │ remote part ┬ piece ┬ … ┐      one local region over all of it, which gives no peer access
 *     peers    a region for each stream over the remote part of its piece, with a key of its own
 *
 * Each peer has a region, not a memory window: a window also takes a key, and a request on the send queue in addition.
 *
 * A piece that is returned cools: threads of other processes may still write to it with the key of its last peer until a grace period has
 * passed, at whose end that key is reclaimed. No piece begins with its remote part, since memory that begins where a region does is
 * reclaimed with that region.
 */
import type { Context, MemoryRegion, ProtectionDomain } from '../../verbs/index.ts'

const pageBytes = 4096
/** Maximum pieces and bytes of a slab, if it has more than one piece; each new slab has as many pieces as there are already. */
const maxPieces = 16
const maxSlabBytes = 1 << 22
/** Unused bytes in other slabs from which on a slab without users is freed. */
const keepBytes = 1 << 22

interface Slab {
  readonly bytes: Uint8Array
  readonly local: MemoryRegion
  readonly pieceBytes: number
  readonly pieces: number
  unused: number
}

export interface Piece {
  readonly u8: Uint8Array
  /** Bytes at its beginning that the last stream may have written; the rest is zero. */
  leftBytes: number
  readonly slab: Slab
  readonly local: MemoryRegion
}

/** A piece, and the region with which its last peer could write to it. */
interface Cooling {
  piece: Piece
  region: MemoryRegion
}

export class StreamArena {
  readonly pd: ProtectionDomain
  readonly #context: Context
  readonly #slabs = new Set<Slab>()
  /** Unused pieces by size. */
  readonly #unused = new Map<number, Piece[]>()
  #unusedBytes = 0
  #cooling: Cooling[] = []

  constructor(pd: ProtectionDomain) {
    this.pd = pd
    this.#context = pd.context
  }

  /** Takes a piece of at least `bytes`, which begins with a page and is zero after its `leftBytes`. Throws a VerbsError. */
  take(bytes: number): Piece {
    const size = Math.ceil(bytes / pageBytes) * pageBytes
    this.#cool()
    let unused = this.#unused.get(size)
    if (unused === undefined) {
      unused = []
      this.#unused.set(size, unused)
    }
    if (unused.length === 0) this.#grow(size, unused)
    const piece = unused.pop()!
    piece.slab.unused--
    this.#unusedBytes -= size
    return piece
  }

  /**
   * Returns a piece, after the queue pair is gone, and the region with which its peer wrote to it, up to `leftBytes` from its beginning.
   */
  give(piece: Piece, region: MemoryRegion, leftBytes: number): void {
    piece.leftBytes = leftBytes
    region.discard()
    this.#cooling.push({ piece, region })
    this.#cool()
  }

  /** Returns a piece to which no peer has had access. */
  giveUnused(piece: Piece): void {
    const { slab } = piece
    this.#unused.get(slab.pieceBytes)!.push(piece)
    slab.unused++
    this.#unusedBytes += slab.pieceBytes
    if (slab.unused === slab.pieces && this.#unusedBytes - slab.bytes.length >= keepBytes) this.#drop(slab)
  }

  /** Frees the slabs when no stream uses them any more; cooling pieces are reclaimed with the rest. */
  close(): void {
    for (const { bytes, local } of this.#slabs) local.discard(bytes)
    this.#slabs.clear()
    this.#unused.clear()
    this.#cooling = []
  }

  /** Makes the pieces that have cooled available again. */
  #cool(): void {
    const cooling = this.#cooling
    let cooled = 0
    while (cooled < cooling.length && cooling[cooled]!.region.reclaimed) cooled++
    if (cooled > 0) for (const { piece } of cooling.splice(0, cooled)) this.giveUnused(piece)
  }

  #grow(size: number, unused: Piece[]): void {
    let pieces = 0
    for (const slab of this.#slabs) if (slab.pieceBytes === size) pieces += slab.pieces
    const most = Math.min(maxPieces, Math.floor(maxSlabBytes / size))
    const slab = this.#slab(size, Math.max(1, Math.min(most, pieces)))
    this.#slabs.add(slab)
    for (let at = slab.pieces - 1; at >= 0; at--)
      unused.push({ u8: slab.bytes.subarray(at * size, (at + 1) * size), leftBytes: 0, slab, local: slab.local })
    this.#unusedBytes += slab.bytes.length
  }

  #slab(pieceBytes: number, pieces: number): Slab {
    let bytes: Uint8Array
    try {
      bytes = this.#context.alloc(pieces * pieceBytes)
    } catch (error) {
      // There may be memory for fewer.
      if (pieces === 1) throw error
      return this.#slab(pieceBytes, pieces >> 1)
    }
    try {
      return { bytes, local: this.pd.regMr(bytes, 0), pieceBytes, pieces, unused: pieces }
    } catch (error) {
      this.#context.free(bytes)
      throw error
    }
  }

  #drop(slab: Slab): void {
    const { pieceBytes, local, bytes } = slab
    this.#slabs.delete(slab)
    const unused = this.#unused.get(pieceBytes)!
    // The list stays: pieces of this size may still be in use, in other slabs.
    this.#unused.set(
      pieceBytes,
      unused.filter((piece) => piece.slab !== slab),
    )
    this.#unusedBytes -= bytes.length
    local.discard(bytes)
  }
}
