/**
 * A region of shared memory through which samples pass from one process to another: a named segment with a header and a ring of records.
 * One thread writes, one reads. A sample is copied into the ring and out of it.
 *
 *     word 0    shape: 0 until a writer has made the ring; capacity, values
 *          4    writer: the number of its attachment, and the use that it makes of it; 0, 0: there is none
 *          6    reader: the same
 *          8    writers, and readers, that have ended without detaching
 *          16   head: records that were written
 *          32   tail: records that were read
 *          48   sleeping: 1 while the reader sleeps on this word
 */
import { Segment, segmentBytes } from '../../../memory/index.ts'
import { GatewayError, Samples } from '../../index.ts'

const Word = {
  made: 0,
  capacity: 1,
  values: 2,
  writer: 4,
  reader: 6,
  lostWriters: 8,
  lostReaders: 9,
  head: 16,
  tail: 32,
  sleeping: 48,
} as const
const headerBytes = 4096
/** Room for rings; it takes memory as far as a ring needs it. */
const ringBytes = 64 << 20
const staticBytes: number = headerBytes + ringBytes
/** Bytes of the heap of the segment, in which nothing is allocated, but which a segment must have. */
const heapBytes = 1 << 20

export class Region {
  readonly name: string
  /** Ring; null until the writer has made it. */
  ring: Samples | null = null
  readonly #segment: Segment
  readonly #i32: Int32Array
  /** First word of the header. */
  readonly #at: number
  readonly #own: number
  readonly #ownLost: number
  readonly #other: number
  readonly #otherLost: number
  #peersLost: number
  #mask = 0

  /** Attaches to one side. Throws a `GatewayError` if another process that lives has this side of it. */
  constructor(name: string, side: 'writer' | 'reader') {
    this.name = name
    this.#segment = Segment.named(name, {
      staticBytes,
      sizeBytes: segmentBytes(staticBytes, heapBytes),
      committed: [[0, headerBytes]],
    })
    this.#i32 = this.#segment.i32
    this.#at = this.#segment.staticStart / 4
    this.#own = this.#at + Word[side]
    this.#ownLost = this.#at + Word[side === 'writer' ? 'lostWriters' : 'lostReaders']
    this.#other = this.#at + Word[side === 'writer' ? 'reader' : 'writer']
    this.#otherLost = this.#at + Word[side === 'writer' ? 'lostReaders' : 'lostWriters']
    this.#peersLost = this.#i32[this.#otherLost]!
    const segment = this.#segment
    segment.lock(segment.controlLock)
    const taken = this.#lives(this.#own)
    if (!taken) {
      if (side === 'reader') this.#skip()
      this.#enter()
    }
    segment.unlock(segment.controlLock)
    if (taken) {
      segment.release(segment.me)
      throw new GatewayError('ERR_GATEWAY_NODE', `another process is the ${side} of the shared memory '${name}'`)
    }
  }

  #enter(): void {
    const { me, lockValue } = this.#segment
    if (this.#i32[this.#own + 1] !== 0) Atomics.add(this.#i32, this.#ownLost, 1)
    this.#i32[this.#own] = me
    Atomics.store(this.#i32, this.#own + 1, lockValue)
  }

  /** True if a thread is at that side, and lives. */
  #lives(side: number): boolean {
    const use = Atomics.load(this.#i32, side + 1)
    return use !== 0 && this.#segment.usesAttachment(use) && this.#segment.attachmentAlive(this.#i32[side]!)
  }

  /**
   * Makes the ring, if it is not there; for the writer. Throws a `GatewayError` if it is there with another shape, and in use. `counted`:
   * records that count as written and read.
   */
  make(capacity: number, values: number, counted = 0): void {
    const i32 = this.#i32
    const at = this.#at
    const isSame = i32[at + Word.capacity] === capacity && i32[at + Word.values] === values
    const isMade = Atomics.load(i32, at + Word.made) === 1
    if (!isMade || !isSame) {
      if (isMade && this.#lives(this.#other))
        throw new GatewayError(
          'ERR_GATEWAY_NODE',
          `the reader of the shared memory '${this.name}' knows it with a queue of ${i32[at + Word.capacity]} samples of ${i32[at + Word.values]} values, not of ${capacity} of ${values}: end it first`,
        )
      const bytes = Samples.bytesOf(capacity, values)
      if (bytes > ringBytes)
        throw new GatewayError(
          'ERR_GATEWAY_NODE',
          `a queue of ${capacity} samples of ${values} values takes ${bytes} bytes, more than ${ringBytes}: make queuelen smaller`,
        )
      this.#segment.commit(this.#segment.staticStart + headerBytes, bytes)
      i32[at + Word.capacity] = capacity
      i32[at + Word.values] = values
      i32[at + Word.head] = counted
      Atomics.store(i32, at + Word.tail, counted)
      Atomics.store(i32, at + Word.made, 1)
    }
    this.#open()
  }

  /** True if there is a ring; for the reader, which does not get what was written before it came. */
  find(): boolean {
    if (this.ring === null && Atomics.load(this.#i32, this.#at + Word.made) === 1) this.#open()
    return this.ring !== null
  }

  /** Skips the contents of the ring, which were for an earlier reader; called before this reader announces itself. */
  #skip(): void {
    if (this.find()) Atomics.store(this.#i32, this.#at + Word.tail, Atomics.load(this.#i32, this.#at + Word.head))
  }

  #open(): void {
    const i32 = this.#i32
    const [capacity, values] = [i32[this.#at + Word.capacity]!, i32[this.#at + Word.values]!]
    const { buffer, staticStart } = this.#segment
    this.ring = new Samples(
      capacity,
      values,
      new Uint8Array(buffer, staticStart + headerBytes, Samples.bytesOf(capacity, values)),
    )
    this.#mask = capacity - 1
  }

  // --- the other side ----------------------------------------------------------------------------------------------

  /** True if there is a peer on the other side, or was at the last look. */
  get hasPeer(): boolean {
    return Atomics.load(this.#i32, this.#other + 1) !== 0
  }

  /** Checks whether the other side lives; returns how many have ended there without detaching since the last look. Reads /proc. */
  losesPeers(): number {
    const i32 = this.#i32
    const use = Atomics.load(i32, this.#other + 1)
    if (use !== 0 && !this.#lives(this.#other) && Atomics.compareExchange(i32, this.#other + 1, use, 0) === use)
      Atomics.add(i32, this.#otherLost, 1)
    const before = this.#peersLost
    this.#peersLost = Atomics.load(i32, this.#otherLost)
    return this.#peersLost - before
  }

  // --- samples -----------------------------------------------------------------------------------------------------

  /** Records that can be read. */
  get length(): number {
    return (Atomics.load(this.#i32, this.#at + Word.head) - Atomics.load(this.#i32, this.#at + Word.tail)) | 0
  }

  /** First word of the record that is written next. */
  get writeWord(): number {
    return this.ring!.word(this.#i32[this.#at + Word.head]! & this.#mask)
  }

  /** First word of the record that is read next. */
  get readWord(): number {
    return this.ring!.word(this.#i32[this.#at + Word.tail]! & this.#mask)
  }

  get isFull(): boolean {
    return this.length > this.#mask
  }

  written(): void {
    Atomics.add(this.#i32, this.#at + Word.head, 1)
  }

  haveRead(): void {
    Atomics.add(this.#i32, this.#at + Word.tail, 1)
  }

  // --- waiting -----------------------------------------------------------------------------------------------------

  /** Sleeps until something is written, at most `ms`. */
  sleep(ms: number): void {
    const word = this.#at + Word.sleeping
    Atomics.store(this.#i32, word, 1)
    if (this.length === 0) this.#segment.wait(word, 1, ms)
    Atomics.store(this.#i32, word, 0)
  }

  /** Wakes the reader if it sleeps. */
  wake(): void {
    const word = this.#at + Word.sleeping
    if (Atomics.load(this.#i32, word) === 0 || Atomics.exchange(this.#i32, word, 0) === 0) return
    this.#segment.notify(word)
  }

  /** Detaches; the last one to do so removes the name. */
  close(): void {
    const { me, lockValue } = this.#segment
    Atomics.compareExchange(this.#i32, this.#own + 1, lockValue, 0)
    this.#segment.release(me)
  }
}
