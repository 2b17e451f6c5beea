/**
 * Samples that threads pass to each other: a block of records, the number of holders of each, and a queue of those that are free. A holder
 * of a sample may read it; its only holder may write it.
 */
import { IndexQueue } from './index-queue.ts'
import { Samples } from './samples.ts'

/** Data with which another thread attaches to the same pool; may be posted to it. */
export interface PoolShare {
  readonly capacity: number
  readonly values: number
  /** Memory of the records; null: each thread gets it in another way, and passes it to `attach`. */
  readonly records: SharedArrayBuffer | null
  readonly holders: SharedArrayBuffer
  readonly free: SharedArrayBuffer
}

export class Pool {
  readonly samples: Samples
  readonly capacity: number
  readonly #holders: Int32Array
  readonly #free: IndexQueue
  readonly #share: PoolShare

  private constructor(share: PoolShare, samples: Samples) {
    this.#share = share
    this.capacity = share.capacity
    this.samples = samples
    this.#holders = new Int32Array(share.holders)
    this.#free = new IndexQueue(share.capacity, share.free)
  }

  /**
   * Makes a pool. `capacity`: samples, a power of 2; `values`: room in each; `records`: their memory, `Samples.bytesOf(capacity, values)`
   * bytes that begin on a cache line, such as memory of a verbs device. Without it they get memory of their own.
   */
  static create(capacity: number, values: number, records?: Uint8Array): Pool {
    const free = new IndexQueue(capacity)
    for (let i = 0; i < capacity; i++) free.push(i)
    const samples = new Samples(capacity, values, records)
    const holders = new SharedArrayBuffer(capacity * 4)
    const shared = records === undefined ? (samples.memory.buffer as SharedArrayBuffer) : null
    return new Pool({ capacity, values, records: shared, holders, free: free.buffer }, samples)
  }

  /** Attaches to the pool that another thread has made; `records` is the memory that was passed to `create`, as this thread has it. */
  static attach(share: PoolShare, records?: Uint8Array): Pool {
    const { capacity, values } = share
    const memory = records ?? (share.records === null ? undefined : new Uint8Array(share.records))
    if (memory === undefined) throw new Error('the records of this pool lie in other memory: give it to Pool.attach')
    return new Pool(share, new Samples(capacity, values, memory))
  }

  get share(): PoolShare {
    return this.#share
  }

  /** Number of samples without a holder, now or a moment ago. */
  get available(): number {
    return this.#free.length
  }

  /** Takes at most `count` samples, which the caller holds alone, into `out[from…]`; returns how many there were. */
  take(out: Int32Array, from: number, count: number): number {
    for (let i = 0; i < count; i++) {
      const index = this.#free.shift()
      if (index < 0) return i
      this.#holders[index] = 1
      out[from + i] = index
    }
    return count
  }

  /** Adds a holder to the sample. */
  hold(index: number): void {
    Atomics.add(this.#holders, index, 1)
  }

  /** Removes a holder; a sample without holders is free. Throws if it had none. */
  drop(index: number): void {
    const before = Atomics.sub(this.#holders, index, 1)
    // The queue has room for all samples, but it looks full while a thread is between the two stores of `shift`.
    if (before === 1) while (!this.#free.push(index));
    else if (before < 1) throw new Error(`sample ${index} was given back twice`)
  }

  /** Drops `samples[from … from + count)`. */
  release(samples: Int32Array, from: number, count: number): void {
    for (let i = from; i < from + count; i++) this.drop(samples[i]!)
  }

  /** True if the caller is the only holder. */
  isAlone(index: number): boolean {
    return Atomics.load(this.#holders, index) === 1
  }
}
