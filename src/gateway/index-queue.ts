/**
 * A bounded queue of numbers that any number of threads add to and take from, without locks. Each cell has a turn, which determines its
 * next user: the thread that adds the number `n` of the queue when the turn is n, the one that takes it when it is n + 1. Dmitry Vyukov's
 * bounded queue, with turns that wrap around.
 *
 *     word 0    count of numbers added
 *          16   count of numbers taken
 *          32   cells: turn, number
 */
const Field = { added: 0, taken: 16, cells: 32 } as const

export class IndexQueue {
  readonly buffer: SharedArrayBuffer
  readonly capacity: number
  readonly #i32: Int32Array
  readonly #mask: number

  /**
   * Makes a queue. `capacity`: a power of 2, at least 2: turns of one cell alone would not distinguish a full queue from an empty one. A
   * `buffer` that another thread has made for the same capacity is shared.
   */
  constructor(capacity: number, buffer?: SharedArrayBuffer) {
    if (capacity < 2 || (capacity & (capacity - 1)) !== 0)
      throw new RangeError(`${capacity} is not a power of 2 of at least 2`)
    this.capacity = capacity
    this.buffer = buffer ?? new SharedArrayBuffer((Field.cells + 2 * capacity) * 4)
    this.#i32 = new Int32Array(this.buffer)
    this.#mask = capacity - 1
    if (!buffer) for (let i = 0; i < capacity; i++) this.#i32[Field.cells + 2 * i] = i
  }

  /** Adds a number; returns false if the queue is full. */
  push(value: number): boolean {
    const i32 = this.#i32
    let at = Atomics.load(i32, Field.added)
    for (;;) {
      const cell = Field.cells + 2 * (at & this.#mask)
      const ahead = (Atomics.load(i32, cell) - at) | 0
      if (ahead < 0) return false
      if (ahead === 0) {
        const seen = Atomics.compareExchange(i32, Field.added, at, (at + 1) | 0)
        if (seen === at) {
          i32[cell + 1] = value
          Atomics.store(i32, cell, (at + 1) | 0)
          return true
        }
        at = seen
      } else at = Atomics.load(i32, Field.added)
    }
  }

  /** Takes the oldest number; returns −1 if there is none. */
  shift(): number {
    const i32 = this.#i32
    let at = Atomics.load(i32, Field.taken)
    for (;;) {
      const cell = Field.cells + 2 * (at & this.#mask)
      const ahead = (Atomics.load(i32, cell) - at - 1) | 0
      if (ahead < 0) return -1
      if (ahead === 0) {
        const seen = Atomics.compareExchange(i32, Field.taken, at, (at + 1) | 0)
        if (seen === at) {
          const value = i32[cell + 1]!
          Atomics.store(i32, cell, (at + this.capacity) | 0)
          return value
        }
        at = seen
      } else at = Atomics.load(i32, Field.taken)
    }
  }

  /** Number of entries, now or a moment ago. */
  get length(): number {
    const i32 = this.#i32
    return Math.max(0, (Atomics.load(i32, Field.added) - Atomics.load(i32, Field.taken)) | 0)
  }
}
