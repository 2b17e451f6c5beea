/**
 * Where the memory of streams comes from: slabs of pieces of one size, each slab one allocation with one region to send from. Making a
 * stream thus allocates and zeroes nothing, and registers only what its peer may write to.
 *
 *     slab     ┌ piece: local part │ remote part ┬ piece ┬ … ┐      one local region over all of it, which gives no peer access
 *     peers    a region for each stream over the remote part of its piece, with a key of its own
 *
 * A region for each peer, not a memory window: a window costs a key as well, and a request on the send queue beside it.
 *
 * A piece that is given back cools: threads of other processes may be writing to it with the key of the peer that had it until a grace
 * period has passed, which is when that key is reclaimed. No piece begins with its remote part, since memory that begins where a region
 * does is reclaimed with that region.
 */
import type { Context, MemoryRegion, ProtectionDomain } from '../../verbs/index.ts'

const pageBytes = 4096
/** Pieces and bytes of a slab, at most, if it has more than one piece; each slab has as many as there are already. */
const maxPieces = 16
const maxSlabBytes = 1 << 22
/** A slab without users is freed while so many bytes are unused beside it. */
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
  /** So many bytes from its beginning are what the last stream left in it; the rest is zero. */
  leftBytes: number
  readonly slab: Slab
  readonly local: MemoryRegion
}

/** A piece and what its last peer could write with. */
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

  /** A piece of at least so many bytes, which begins with a page; zeros behind its `leftBytes`. Throws a VerbsError. */
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

  /** Gives a piece back, after the queue pair is gone, and the region with which its peer wrote to it, up to `leftBytes` from its beginning. */
  give(piece: Piece, region: MemoryRegion, leftBytes: number): void {
    piece.leftBytes = leftBytes
    region.discard()
    this.#cooling.push({ piece, region })
    this.#cool()
  }

  /** Gives back a piece that no peer has had access to. */
  giveUnused(piece: Piece): void {
    const { slab } = piece
    this.#unused.get(slab.pieceBytes)!.push(piece)
    slab.unused++
    this.#unusedBytes += slab.pieceBytes
    if (slab.unused === slab.pieces && this.#unusedBytes - slab.bytes.length >= keepBytes) this.#drop(slab)
  }

  /** No stream has memory of it any more; what cools is reclaimed with the rest. */
  close(): void {
    for (const { bytes, local } of this.#slabs) local.discard(bytes)
    this.#slabs.clear()
    this.#unused.clear()
    this.#cooling = []
  }

  /** What has cooled can be used again. */
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
      // There may be room for fewer.
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
