/** Which chunks of a broadcast by multicast are on their way: a window at a time. */
import type { Call } from './call.ts'
import type { Range } from './memory.ts'

/** Chunks that are sent before all ranks have reported: as many as a report has bits. */
export const windowChunks = 32

/** A broadcast. */
export interface Broadcast {
  root: number
  /** Where the data are, or shall be. */
  place: Range
  offset: number
  bytes: number
  /** Of which it is a part. */
  call: Call
}

export class Window {
  /** Chunks that came, and reports: what tells that a call gets further. */
  moves = 0
  /** Bytes of a chunk, the same at all ranks. */
  chunkBytes: number
  #broadcast: Broadcast | null = null
  /** Number of the next broadcast's first chunk, and of the window's first. */
  next = 0
  first = 0
  /** How many chunks the window has. */
  count = 0
  /** The window's first chunk in the broadcast, and how many that has. */
  #from = 0
  #chunks = 0

  constructor(chunkBytes: number) {
    this.chunkBytes = chunkBytes
  }

  /** The present one. */
  get broadcast(): Broadcast {
    return this.#broadcast!
  }

  /** The first window of a broadcast. */
  begin(broadcast: Broadcast): void {
    this.#broadcast = broadcast
    this.#chunks = Math.max(1, Math.ceil(broadcast.bytes / this.chunkBytes))
    this.first = this.next
    this.next = (this.next + this.#chunks) >>> 0
    this.#from = 0
    this.count = Math.min(windowChunks, this.#chunks)
  }

  /** Goes on to the next window; false if there is none. */
  advance(): boolean {
    this.moves++
    this.#from += this.count
    this.first = (this.first + this.count) >>> 0
    if (this.#from === this.#chunks) {
      this.#broadcast = null
      return false
    }
    this.count = Math.min(windowChunks, this.#chunks - this.#from)
    return true
  }

  /** A bit for each chunk. */
  get all(): number {
    return 0xffffffff >>> (windowChunks - this.count)
  }

  /** Bytes of chunk `i`. */
  lengthOf(i: number): number {
    return Math.min(this.chunkBytes, this.broadcast.bytes - (this.#from + i) * this.chunkBytes)
  }

  /** Where chunk `i` is, from the beginning of its place. */
  offsetOf(i: number): number {
    return this.broadcast.offset + (this.#from + i) * this.chunkBytes
  }
}

/** The number of the lowest bit that is set. */
export function lowest(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
