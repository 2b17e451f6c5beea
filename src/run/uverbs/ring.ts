/**
 * A queue as the rxe provider maps it (rdma_user_rxe.h, `rxe_queue_buf`):
 *
 *     0      log2 of the size of an entry      4   mask of indexes
 *     128    producer's index                256   consumer's index
 *     384    entries
 *
 * One entry always stays free: a full queue has `mask` entries. Each side writes its own index after the entries that it covers, and never
 * relies on its own index still having the value that it wrote: the program can write both.
 */
import type { QueueFile, QueueSpace } from './queue-file.ts'

const producerWord = 32
const consumerWord = 64
const dataWord = 96
const smallestEntryLog2 = 6

export class Ring {
  readonly i32: Int32Array
  readonly u32: Uint32Array
  readonly mask: number
  readonly space: QueueSpace
  readonly #file: QueueFile
  /** log2 of the words of an entry. */
  readonly #shift: number

  /** Makes a ring for `entries` of `entryBytes` each; `verb` and `what` are for errors. */
  constructor(file: QueueFile, entries: number, entryBytes: number, verb: string, what: string) {
    const log2 = Math.max(smallestEntryLog2, 32 - Math.clz32(entryBytes - 1))
    const slots = 2 ** Math.max(1, 32 - Math.clz32(entries))
    this.#file = file
    this.#shift = log2 - 2
    this.mask = slots - 1
    this.space = file.allocate(dataWord * 4 + slots * 2 ** log2, verb, what)
    this.i32 = new Int32Array(this.space.buffer)
    this.u32 = new Uint32Array(this.space.buffer)
    this.i32[0] = log2
    this.i32[1] = this.mask
  }

  /** Maximum number of entries. */
  get room(): number {
    return this.mask
  }

  get producer(): number {
    return Atomics.load(this.i32, producerWord) & this.mask
  }

  /** Stores the index, after all entries that it covers. */
  set producer(index: number) {
    Atomics.store(this.i32, producerWord, index)
  }

  get consumer(): number {
    return Atomics.load(this.i32, consumerWord) & this.mask
  }

  set consumer(index: number) {
    Atomics.store(this.i32, consumerWord, index)
  }

  /** First word of an entry. */
  entry(index: number): number {
    return dataWord + (index << this.#shift)
  }

  /** Copies an entry of a ring whose entries have the same size. */
  copyEntry(index: number, from: Ring, fromIndex: number): void {
    const start = from.entry(fromIndex)
    this.i32.set(from.i32.subarray(start, start + 2 ** this.#shift), this.entry(index))
  }

  /** Frees the ring; the program may still have it mapped. */
  close(): void {
    this.#file.free(this.space)
  }
}
