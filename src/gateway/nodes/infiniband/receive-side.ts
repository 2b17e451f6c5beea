/**
 * The receive queue of a connection, and the samples that it holds.
 *
 * Below the threshold, `max_wrs` minus `buffer_subtraction`, a read posts all samples that it is given and returns none: so many
 * are always posted. From then on it polls, posts as many of the samples that it is given as have arrived, and exchanges them in
 * the caller's list for those.
 */
import {
  type CompletionQueue,
  type QueuePair,
  RecvWorkRequest,
  ScatterGather,
  WcStatus,
  type WorkCompletion,
  wcStatusText,
  workCompletions,
} from '../../../index.ts'
import { type Clock, type Pool, SampleField, SampleFlag } from '../../index.ts'
import type { InfinibandCounters } from './counters.ts'
import { elementsOf, metaBytes, pointAt, valueBytes } from './message.ts'
import { grhBytes, type RegisteredSamples } from './registered.ts'
import type { InfinibandSettings } from './settings.ts'

const filled = SampleFlag.tsOrigin | SampleFlag.tsReceived | SampleFlag.sequence | SampleFlag.data

export class ReceiveSide {
  /** Number of indices of the last `read` that the caller owns. */
  released = 0
  /** Error that made the connection unusable, empty if another error has flushed the queue; undefined while there is none. */
  failure: string | undefined
  readonly #memory: RegisteredSamples
  readonly #pool: Pool
  readonly #clock: Pick<Clock, 'stamp'>
  readonly #counters: InfinibandCounters
  readonly #qp: Pick<QueuePair, 'postRecv'>
  readonly #cq: Pick<CompletionQueue, 'poll' | 'filled'>
  readonly #threshold: number
  readonly #wc: WorkCompletion[]
  readonly #requests: RecvWorkRequest[]
  /** Bytes in front of the values. */
  readonly #metaBytes: number
  /** Samples that are posted, in their order. */
  readonly #held: Int32Array
  readonly #mask: number
  #head = 0
  #tail = 0

  constructor(
    memory: RegisteredSamples,
    settings: Pick<InfinibandSettings, 'in'>,
    qp: Pick<QueuePair, 'postRecv'>,
    cq: Pick<CompletionQueue, 'poll' | 'filled'>,
    clock: Pick<Clock, 'stamp'>,
    counters: InfinibandCounters,
  ) {
    const { maxWrs, bufferSubtraction, vectorize } = settings.in
    this.#memory = memory
    this.#pool = memory.pool
    this.#clock = clock
    this.#counters = counters
    this.#qp = qp
    this.#cq = cq
    this.#threshold = maxWrs - bufferSubtraction
    this.#mask = maxWrs - 1
    this.#held = new Int32Array(maxWrs)
    this.#wc = workCompletions(vectorize)
    const { grh } = memory
    this.#metaBytes = metaBytes + (grh === null ? 0 : grhBytes)
    const dataBytes = this.#pool.samples.values * valueBytes
    this.#requests = Array.from({ length: vectorize }, () => {
      const first = grh === null ? [] : [new ScatterGather(grh.addr, grhBytes, grh.lkey)]
      return new RecvWorkRequest(0, [...first, ...elementsOf(memory, dataBytes)])
    })
  }

  /** Receives that are posted. */
  get posted(): number {
    return this.#head - this.#tail
  }

  get isFull(): boolean {
    return this.posted >= this.#threshold
  }

  /** True if something has arrived; gives the device time to detect it. */
  get filled(): boolean {
    if (this.#cq.filled) return true
    this.#cq.poll(this.#wc, 0)
    return this.#cq.filled
  }

  /** Reads at most `in.vectorize` samples. `polls`: the connection is established. */
  read(samples: Int32Array, count: number, polls: boolean): number {
    if (!this.isFull) {
      this.released = 0
      this.#post(samples, count)
      return 0
    }
    this.released = count
    if (!polls) return 0
    const polled = this.#cq.poll(this.#wc, count)
    if (polled <= 0) {
      if (polled < 0) this.failure ??= 'the completion queue of receives overran'
      return 0
    }
    const arrived = this.#arrived(polled)
    if (arrived < polled) {
      // The queue pair is in error: nothing is posted any more, and the samples of requests that failed have no other owner.
      for (let i = arrived; i < polled; i++) this.#pool.drop(this.#wc[i]!.wrId)
    }
    if (arrived > 0) this.#post(samples, arrived)
    return this.#exchange(samples, arrived)
  }

  /** Posts the first samples of a list. */
  #post(samples: Int32Array, count: number): void {
    const records = this.#pool.samples
    const requests = this.#requests
    for (let i = 0; i < count; i++) {
      const request = requests[i]!
      const sample = samples[i]!
      request.wrId = sample
      pointAt(request.sgList, this.#memory, records.word(sample))
      request.next = i + 1 < count ? requests[i + 1]! : null
      this.#held[(this.#head + i) & this.#mask] = sample
    }
    this.#head += count
    // There is room: the queue is larger than the threshold by at least twice `vectorize`.
    this.#qp.postRecv(requests[0]!)
  }

  /** Returns how many of the polled completions, from the first on, are messages. */
  #arrived(polled: number): number {
    this.#tail += polled
    let arrived = 0
    while (arrived < polled && this.#wc[arrived]!.status === WcStatus.Success) arrived++
    for (let i = arrived; i < polled; i++) {
      const { status } = this.#wc[i]!
      const flushed = status === WcStatus.WrFlushErr
      this.failure ??= flushed ? '' : `a receive ended with ${wcStatusText(status)}`
      if (!flushed) this.#counters.receive_failed++
    }
    return arrived
  }

  /** Moves the samples that have arrived to the beginning of a list, malformed ones last; returns the number of well-formed ones. */
  #exchange(samples: Int32Array, arrived: number): number {
    let stamped = -1
    let good = 0
    let bad = arrived
    for (let i = 0; i < arrived; i++) {
      const { wrId, byteLen } = this.#wc[i]!
      const word = this.#pool.samples.word(wrId)
      if (!this.#fill(word, byteLen)) {
        samples[--bad] = wrId
        continue
      }
      if (stamped < 0) this.#clock.stamp(word + SampleField.received)
      else this.#copyStamp(stamped, word)
      stamped = word
      samples[good++] = wrId
    }
    this.#counters.received += good
    return good
  }

  /** Sets the fields that a message does not carry; returns false if it is not a sample. */
  #fill(word: number, byteLen: number): boolean {
    const { u32 } = this.#pool.samples
    const values = (byteLen - this.#metaBytes) / valueBytes
    if (!(values >= 0) || !Number.isInteger(values)) {
      this.#counters.malformed++
      return false
    }
    u32[word + SampleField.length] = values
    u32[word + SampleField.flags] = filled
    return true
  }

  #copyStamp(from: number, to: number): void {
    const { i32 } = this.#pool.samples
    for (let i = 0; i < 4; i++) i32[to + SampleField.received + i] = i32[from + SampleField.received + i]!
  }

  /**
   * Collects all samples that have arrived, in `into`, at the end of the connection, and gives back what was flushed. Samples that the
   * queue pair still holds are given back by `releaseAll`.
   */
  collect(into: number[]): void {
    const list = new Int32Array(this.#wc.length)
    for (;;) {
      const polled = this.#cq.poll(this.#wc)
      if (polled <= 0) return
      const arrived = this.#arrived(polled)
      for (let i = arrived; i < polled; i++) this.#pool.drop(this.#wc[i]!.wrId)
      const good = this.#exchange(list, arrived)
      for (let i = 0; i < arrived; i++) {
        if (i < good) into.push(list[i]!)
        else this.#pool.drop(list[i]!)
      }
    }
  }

  /** Gives back the samples that are still posted, when the queue pair is closed. */
  releaseAll(): void {
    for (; this.#tail < this.#head; this.#tail++) this.#pool.drop(this.#held[this.#tail & this.#mask]!)
  }
}
