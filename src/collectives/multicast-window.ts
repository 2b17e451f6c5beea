/** Chunks of a broadcast by multicast that are in flight: a window at a time. */
import type { Call } from './call.ts'
import type { Range } from './memory.ts'

/** Maximum number of chunks that are sent before all ranks have reported: the number of bits of a report. */
export const windowChunks = 32

export interface Broadcast {
  root: number
  /** Location of the data, or their destination. */
  place: Range
  offset: number
  bytes: number
  /** Call to which the broadcast belongs. */
  call: Call
}

export class Window {
  /** Number of arrived chunks and reports, which shows the progress of a call. */
  moves = 0
  /** Bytes of a chunk, the same at all ranks. */
  chunkBytes: number
  #broadcast: Broadcast | null = null
  /** Number of the next broadcast's first chunk, and of the window's first. */
  next = 0
  first = 0
  /** Number of chunks in the window. */
  count = 0
  /** Index of the window's first chunk in the broadcast, and number of the broadcast's chunks. */
  #from = 0
  #chunks = 0

  constructor(chunkBytes: number) {
    this.chunkBytes = chunkBytes
  }

  /** Present broadcast. */
  get broadcast(): Broadcast {
    return this.#broadcast!
  }

  /** Begins the first window of a broadcast. */
  begin(broadcast: Broadcast): void {
    this.#broadcast = broadcast
    this.#chunks = Math.max(1, Math.ceil(broadcast.bytes / this.chunkBytes))
    this.first = this.next
    this.next = (this.next + this.#chunks) >>> 0
    this.#from = 0
    this.count = Math.min(windowChunks, this.#chunks)
  }

  /** Advances to the next window; returns false if there is none. */
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

  /** Bits of all chunks of the window. */
  get all(): number {
    return 0xffffffff >>> (windowChunks - this.count)
  }

  /** Returns the bytes of chunk `i`. */
  lengthOf(i: number): number {
    return Math.min(this.chunkBytes, this.broadcast.bytes - (this.#from + i) * this.chunkBytes)
  }

  /** Returns the offset of chunk `i` from the beginning of its place. */
  offsetOf(i: number): number {
    return this.broadcast.offset + (this.#from + i) * this.chunkBytes
  }
}

/** Returns the number of the lowest bit that is set. */
export function lowest(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
